"""A real one-node Kubernetes cluster in a state folder and a network namespace of its own."""
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from . import binaries, cgroups, control_plane, node
from .processes import Processes, wait_for

PROCESSES = ("etcd", "apiserver", "controller-manager", "scheduler", "proxy", "containerd", "kubelet")
KEPT = ("log", "audit.log")  # what down() leaves for a look afterwards
LONGEST_STATE_PATH = 80      # sockets below it must stay under the kernel's 107 bytes


class Cluster:
    """State on disk is the truth: any process may make a Cluster for the folder and use or stop what runs there."""

    def __init__(self, state):
        self.state = Path(state).resolve()
        if len(str(self.state)) > LONGEST_STATE_PATH:
            raise RuntimeError(f"the state folder's path is longer than {LONGEST_STATE_PATH} characters: {self.state}")
        # The same folder always gives the same names, another folder others.
        self.name = "podcache-" + hashlib.sha256(str(self.state).encode()).hexdigest()[:8]
        self.kubeconfig = self.state / "kubeconfig"

    @property
    def processes(self):
        return Processes(self.state, self.name)

    def running(self):
        if not (self.state / "pid").is_dir():
            return False
        return all(self.processes.pid(name) for name in PROCESSES)

    def up(self, progress=lambda line: None):
        """Returns once the node is Ready. What runs already is left alone; the remains of a dead cluster are removed."""
        if os.geteuid() != 0:
            raise RuntimeError("a node needs root (network namespaces, cgroups, containerd)")
        bin_dir = binaries.ensure()
        if self.running():
            return
        self.down()
        self.state.mkdir(parents=True, exist_ok=True)
        control_plane.clear_logs(self.state)
        processes = self.processes
        progress("control plane: etcd, API server, controller manager, scheduler")
        node.make_network(self.name, self.run)
        control_plane.start(self.state, processes, bin_dir, node.ADDRESS, (2379, 2380, 6443),
                            [f"--advertise-address={node.ADDRESS}"])
        self._write_tools(bin_dir)
        node.start_containerd(self.state, processes)
        control_plane.wait_ready(processes, lambda: self.kubectl("get", "--raw", "/readyz", check=False).returncode == 0)
        processes.start("controller-manager", bin_dir / "kube-controller-manager", f"--kubeconfig={self.kubeconfig}",
                        f"--service-account-private-key-file={self.state}/certs/sa.key",
                        f"--root-ca-file={self.state}/certs/ca.crt", "--leader-elect=false",
                        "--use-service-account-credentials=true")
        processes.start("scheduler", bin_dir / "kube-scheduler", f"--kubeconfig={self.kubeconfig}",
                        "--leader-elect=false")
        progress("node: containerd, kubelet, kube-proxy")
        node.start_proxy(self.state, processes, bin_dir, self.kubeconfig)
        node.start_kubelet(self.state, processes, bin_dir, self.kubeconfig, self.name)
        wait_for("node Ready", self._node_ready, 90, 0.3, lambda: processes.log_tail("kubelet"))
        wait_for("default service account", lambda: self.kubectl("get", "serviceaccount", "default", check=False)
                 .returncode == 0, 30, 0.2, lambda: processes.log_tail("controller-manager"))

    def _node_ready(self):
        if self.processes.pid("kubelet") is None:
            raise RuntimeError(f"kubelet ended:\n{self.processes.log_tail('kubelet')}")
        ready = self.kubectl("get", "node", node.NODE, "-o",
                             'jsonpath={.status.conditions[?(@.type=="Ready")].status}', check=False)
        return ready.stdout == "True"

    def down(self):
        """Stops and removes everything of this cluster and nothing else; logs stay. Fine to call at any time."""
        if not self.state.is_dir():
            return
        processes = self.processes
        others = [name for name in processes.names() if name not in PROCESSES]  # started by tests, a Prometheus say
        for name in (*others, "kubelet", "proxy", "scheduler", "controller-manager"):
            processes.stop(name)
        networks = node.stop_containers(self.state) if processes.pid("containerd") else node.pod_networks(self.state)
        for name in ("apiserver", "etcd", "containerd"):
            processes.stop(name)
        node.stop_shims(self.state)
        node.unmount(self.state)
        node.remove_networks([*networks, self.name])
        cgroups.remove(self.name)
        for entry in self.state.iterdir():
            if entry.name in KEPT:
                continue
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        for link in Path("/var/log/containers").glob("*"):  # the kubelet's own; only those into our folder
            if link.is_symlink() and str(self.state) in os.readlink(link):
                link.unlink()

    def run(self, *command, check=True, **options):
        """Runs a command inside the cluster's network, with KUBECONFIG set."""
        options = {"text": True, "capture_output": True, **options}
        words = [*self.processes.prefix(), *map(str, command)]
        done = subprocess.run(words, env={**os.environ, "KUBECONFIG": str(self.kubeconfig)}, **options)
        if check and done.returncode != 0:
            detail = f"{done.stdout or ''}{done.stderr or ''}".strip()
            raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{detail}")
        return done

    def kubectl(self, *arguments, check=True, **options):
        return self.run(binaries.folder() / "kubectl", *arguments, check=check, **options)

    def helm(self, *arguments, check=True, **options):
        return self.run(binaries.folder() / "helm", *arguments, check=check, **options)

    def load_image(self, archive):
        node.load_image(self.state, archive)

    def _write_tools(self, bin_dir):
        """kubectl, helm, ctr and in-network in STATE/bin, ready for a person's PATH."""
        folder = self.state / "bin"
        folder.mkdir(exist_ok=True)
        enter = f'export KUBECONFIG="{self.kubeconfig}"\nexec nsenter --net="/run/netns/{self.name}"'
        bodies = {
            "kubectl": f'{enter} "{bin_dir}/kubectl" "$@"', "helm": f'{enter} "{bin_dir}/helm" "$@"',
            "in-network": f'{enter} "$@"', "ctr": f'exec ctr -a "{self.state}/containerd.sock" -n k8s.io "$@"'}
        # An absolute path, since this very folder may come first in PATH.
        bodies["ctr"] = bodies["ctr"].replace("exec ctr", f"exec {shutil.which('ctr')}")
        for name, body in bodies.items():
            (folder / name).write_text(f"#!/bin/sh\n{body}\n")
            (folder / name).chmod(0o755)
