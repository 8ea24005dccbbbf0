"""Kubernetes and Helm, built from their Go modules and kept in a cache folder; the first build takes minutes.

The cache is ${PODCACHE_CACHE:-~/.cache/podcache}/kube/<versions>/bin. Versions: go.mod of hyperkube/, HELM below.
"""
import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HELM = "v3.22.0"
SOURCES = Path(__file__).resolve().parent.parent / "hyperkube"
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "kubectl")
MINIMUM_GO = (1, 25)


def cache_folder():
    return Path(os.environ.get("PODCACHE_CACHE") or Path.home() / ".cache" / "podcache")


def kubernetes_version():
    return re.search(r"k8s\.io/kubernetes (v[\d.]+)", (SOURCES / "go.mod").read_text()).group(1)


def folder():
    return cache_folder() / "kube" / f"{kubernetes_version()}-helm-{HELM}" / "bin"


def ensure(names=(*COMPONENTS, "helm"), log=sys.stderr):
    """Returns the folder with the binaries, building what is missing. Concurrent callers wait for each other."""
    out = folder()
    if _missing(names):
        out.mkdir(parents=True, exist_ok=True)
        with open(out.parent / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if any(name in COMPONENTS for name in _missing(names)):
                _build_kubernetes(log)
            if "helm" in _missing(names):
                print(f"Building Helm {HELM} into {out} (about a minute, once)", file=log)
                _run_with_progress([go_toolchain(), "install", f"helm.sh/helm/v3/cmd/helm@{HELM}"], out,
                                   {"GOBIN": str(out)}, log, "Helm")
    return out


def _missing(names):
    return [name for name in names if not (folder() / name).exists()]


def go_toolchain():
    """The first Go that is new enough: of the PATH, of the usual place, of tools/setup."""
    found = []
    for go in (shutil.which("go"), "/usr/local/go/bin/go", cache_folder() / "go" / "bin" / "go"):
        if go is None or not os.access(go, os.X_OK):
            continue
        version = subprocess.run([go, "env", "GOVERSION"], text=True, capture_output=True).stdout.strip()
        match = re.match(r"go(\d+)\.(\d+)", version)
        if match and tuple(map(int, match.groups())) >= MINIMUM_GO:
            return str(go)
        found.append(version or f"{go}, which does not run")
    needed = ".".join(map(str, MINIMUM_GO))
    raise RuntimeError(f"Go {needed} or newer is needed, found {', '.join(found) or 'none'}: run tools/setup")


def _build_kubernetes(log):
    out, version = folder(), kubernetes_version()
    print(f"Building Kubernetes {version} into {out} (about 8 minutes on 2 cores, once)", file=log)
    minor = version.split(".")[1]
    stamp = "k8s.io/component-base/version"  # without it the API server reports no version
    flags = f"-s -w -X {stamp}.gitVersion={version} -X {stamp}.gitMajor=1 -X {stamp}.gitMinor={minor}"
    _run_with_progress([go_toolchain(), "build", "-ldflags", flags, "-o", out / "hyperkube", "."], SOURCES, {}, log,
                       "Kubernetes")
    for name in COMPONENTS:
        (out / name).unlink(missing_ok=True)
        (out / name).symlink_to("hyperkube")


def _run_with_progress(command, cwd, env, log, what):
    """Runs a long build; a line every 30 s shows that it is alive. Its output is shown only when it fails."""
    started = time.monotonic()
    output = folder().parent / "build.log"
    with open(output, "wb") as sink:
        child = subprocess.Popen(list(map(str, command)), cwd=cwd, env={**os.environ, **env}, stdout=sink, stderr=sink)
        while True:
            try:
                code = child.wait(timeout=30)
                break
            except subprocess.TimeoutExpired:
                print(f"  … {what}: {time.monotonic() - started:.0f} s", file=log, flush=True)
    print(f"  {what}: {time.monotonic() - started:.0f} s", file=log, flush=True)
    if code != 0:
        raise RuntimeError(f"building {what} failed:\n{output.read_text(errors='replace')[-4000:]}")
