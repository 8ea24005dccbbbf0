"""Image archives made without a registry or a builder: one layer of given files, in the form that containerd imports."""
import hashlib
import io
import json
import subprocess
import tarfile
from pathlib import Path

PAUSE_IMAGE = "localhost/pause:1"
PAUSE_SOURCE = r"""
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void leave(int number) { (void)number; _exit(0); }
static void reap(int number) { (void)number; while (waitpid(-1, 0, WNOHANG) > 0) {} }
int main(void) {
  signal(SIGTERM, leave); signal(SIGINT, leave); signal(SIGCHLD, reap);
  for (;;) pause();
}
"""


def write_archive(path, name, files, entrypoint, user="65532:65532", architecture="amd64"):
    """`files` maps paths in the image to files on disk, which become mode 0755 and owned by root."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        for target, source in sorted(files.items()):
            info = tarfile.TarInfo(target.lstrip("/"))
            info.mode, info.size = 0o755, Path(source).stat().st_size
            with open(source, "rb") as content:
                tar.addfile(info, content)
    diff_id = "sha256:" + hashlib.sha256(layer.getvalue()).hexdigest()
    config = json.dumps({"architecture": architecture, "os": "linux", "config": {"Entrypoint": entrypoint, "User": user},
                         "rootfs": {"type": "layers", "diff_ids": [diff_id]}}).encode()
    config_name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(path, "w") as out:
        for member, blob in ((config_name, config), ("layer.tar", layer.getvalue()), ("manifest.json", manifest)):
            info = tarfile.TarInfo(member)
            info.size = len(blob)
            out.addfile(info, io.BytesIO(blob))


def write_pause_archive(folder):
    """The image that holds a pod's namespaces open."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / "pause.tar"
    if not archive.exists():
        subprocess.run(["gcc", "-O2", "-static", "-x", "c", "-o", folder / "pause", "-"], input=PAUSE_SOURCE, text=True,
                       check=True)
        write_archive(archive, PAUSE_IMAGE, {"/pause": folder / "pause"}, ["/pause"])
    return archive
