"""What the built images promise: architectures, user, entry point, contents. Needs tools/images to have run."""
import json
import tarfile
import unittest
from pathlib import Path

OUT = Path(__file__).resolve().parents[2] / "build" / "images"
PROGRAMS = {"podcached": {"podcached", "podcachectl"}, "podcache-operator": {"podcache-operator"}}
# A node pulls this much; far above today's sizes, so that only a mistake (debug data, a library too many) trips it.
MOST_COMPRESSED_BYTES = 40 * 2**20


class Images(unittest.TestCase):
    def manifests(self, image):
        """(manifest, configuration, files of the layers) of each architecture."""
        with tarfile.open(OUT / f"{image}.oci.tar") as archive:
            def read(digest):
                return archive.extractfile("blobs/" + digest.replace(":", "/"))

            pending, found = json.load(archive.extractfile("index.json"))["manifests"], []
            while pending:
                manifest = json.load(read(pending.pop()["digest"]))
                if "manifests" in manifest:
                    pending += manifest["manifests"]
                    continue
                files = {}
                for layer in manifest["layers"]:
                    with tarfile.open(fileobj=read(layer["digest"]), mode="r:*") as tar:
                        files.update({each.name.lstrip("./"): each for each in tar.getmembers()})
                found.append((manifest, json.load(read(manifest["config"]["digest"])), files))
            return found

    def test_user_and_entry_point(self):
        for image in PROGRAMS:
            for _, config, _ in self.manifests(image):
                with self.subTest(image=image, architecture=config["architecture"]):
                    self.assertEqual(config["os"], "linux")
                    self.assertEqual(config["config"]["User"], "65532:65532")
                    self.assertEqual(config["config"]["Entrypoint"], [f"/{image}"])

    def test_contents(self):
        for image, programs in PROGRAMS.items():
            for _, config, files in self.manifests(image):
                with self.subTest(image=image, architecture=config["architecture"]):
                    regular = {name: info for name, info in files.items() if info.isreg()}
                    outside = {name for name in regular if not name.startswith(("lib/", "lib64/", "etc/"))}
                    self.assertEqual(outside, programs, "programs only: no shell, no tools")
                    self.assertEqual({name for name in regular if name.startswith("etc/")}, {"etc/passwd", "etc/group"})
                    for name, info in regular.items():
                        self.assertFalse(info.mode & 0o6022, f"{name}: set-id or writable by others, {info.mode:o}")

    def test_index_has_each_architecture_once(self):
        for image in PROGRAMS:
            architectures = [config["architecture"] for _, config, _ in self.manifests(image)]
            self.assertEqual(len(architectures), len(set(architectures)))
            self.assertLessEqual(set(architectures), {"amd64", "arm64"})

    def test_size(self):
        for image in PROGRAMS:
            for manifest, config, _ in self.manifests(image):
                size = sum(layer["size"] for layer in manifest["layers"])
                print(f"{image} {config['architecture']}: {size / 2**20:.1f} MiB compressed")
                self.assertLess(size, MOST_COMPRESSED_BYTES)


if __name__ == "__main__":
    unittest.main()
