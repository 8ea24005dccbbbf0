"""The cgroup below which one cluster's kubelet keeps its pods, so that two clusters do not clean up each other's.

cgroup v2: one folder. v1 and hybrid: one folder per controller.
"""
import errno
import time
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
NEEDED = ("cpuset", "cpu", "memory", "pids")


def is_v2():
    return (MOUNT / "cgroup.controllers").exists()


def _roots():
    if is_v2():
        return [MOUNT]
    # Named hierarchies (systemd) and the hybrid's controller-less v2 mount count too: runc joins them all.
    return [each for each in MOUNT.iterdir() if each.is_dir() and not each.is_symlink()
            and (each / "cgroup.procs").exists()]


def make(name):
    if is_v2():
        _delegate(MOUNT)
    for root in _roots():
        folder = root / name
        folder.mkdir(exist_ok=True)
        for setting in ("cpuset.cpus", "cpuset.mems"):
            if not is_v2() and (folder / setting).exists() and not (folder / setting).read_text().strip():
                (folder / setting).write_text((root / setting).read_text())
    if is_v2():
        _delegate(MOUNT / name)


def _delegate(folder):
    """Gives the folder's children the controllers that the kubelet insists on, and others where that is possible."""
    for controller in (folder / "cgroup.controllers").read_text().split():
        try:
            _enable(folder, controller)
        except OSError:
            if controller in NEEDED:
                raise


def _enable(folder, controller):
    control = folder / "cgroup.subtree_control"
    try:
        control.write_text(f"+{controller}")
    except OSError as error:
        # Inside a container the "root" is an ordinary cgroup (it has a type): it may delegate only once no process sits in
        # it directly. The machine's real root has no such rule, and its processes are not ours to move.
        if error.errno != errno.EBUSY or not (folder / "cgroup.type").exists():
            raise
        _move_processes(folder, folder / "init")
        control.write_text(f"+{controller}")


def _move_processes(source, target):
    target.mkdir(exist_ok=True)
    for pid in (source / "cgroup.procs").read_text().split():
        try:
            (target / "cgroup.procs").write_text(pid)
        except OSError:
            pass  # gone meanwhile


def remove(name, attempts=50):
    """Removes the folders, leaves first; a cgroup can be busy for a moment after its last process died."""
    for root in _roots():
        top = root / name
        if not top.is_dir():
            continue
        for _ in range(attempts):
            folders = sorted((each for each in top.rglob("*") if each.is_dir()), reverse=True)
            for folder in [*folders, top]:
                try:
                    folder.rmdir()
                except OSError:
                    pass
            if not top.exists():
                break
            time.sleep(0.1)
