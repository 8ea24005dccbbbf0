"""Makes from the CRDs in manifests/crd what must agree with them.

  python3 tools/generate_api cpp --out DIR     C++ structs, JSON reader and writer (the build calls this)
  python3 tools/generate_api write             docs/reference/api.md and the chart's CRD templates
  python3 tools/generate_api check             fails if one of those two differs from the CRDs
"""

import argparse
import pathlib
import sys

import chart
import cpp
import docs
import model

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRD_FILES = ("podcache.dev_cacheprofiles.yaml", "podcache.dev_cachesidecars.yaml")


def write_if_changed(path, text):
    """An unchanged file keeps its time, so that nothing is compiled again."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def committed_files(kinds):
    """{path: text} of the made files that are committed."""
    made = {ROOT / "docs/reference/api.md": docs.reference(kinds)}
    for name in CRD_FILES:
        source = (ROOT / "manifests/crd" / name).read_text(encoding="utf-8")
        made[ROOT / "charts/podcache/templates/crds" / name] = chart.crd_template(name, source)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("cpp", "write", "check"))
    parser.add_argument("--out", type=pathlib.Path, help="folder for the C++ files")
    arguments = parser.parse_args()
    kinds = [model.load_kind(ROOT / "manifests/crd" / name) for name in CRD_FILES]
    if arguments.command == "cpp":
        if arguments.out is None:
            parser.error("cpp needs --out")
        for name, text in cpp.files(kinds).items():
            write_if_changed(arguments.out / cpp.INCLUDE_DIR / name, text)
        return 0
    stale = 0
    for path, text in committed_files(kinds).items():
        if arguments.command == "write":
            write_if_changed(path, text)
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path.relative_to(ROOT)} differs from manifests/crd: run python3 tools/generate_api write")
            stale += 1
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
