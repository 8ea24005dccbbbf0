"""The one node: its network namespace, containerd, kubelet and kube-proxy. Everything but the kernel's shared names
(network namespace, cgroup folder) lies in the cluster's state folder or inside its network, so clusters can stand side
by side with the same addresses."""
import json
import subprocess
from pathlib import Path

from . import cgroups, images, processes as procs

ADDRESS = "10.90.0.1"
POD_RANGE = "10.244.0.0/16"
NODE_PODS = "10.244.0.0/24"
NODE = "node1"


def make_network(name, run):
    """A namespace with a bridge that carries the node's address. (dummy links are missing from some kernels.)"""
    if not Path(f"/run/netns/{name}").exists():
        subprocess.run(["ip", "netns", "add", name], check=True)
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "node0", "type", "bridge")
    run("ip", "addr", "add", f"{ADDRESS}/24", "dev", "node0")
    run("ip", "link", "set", "node0", "up")
    run("ip", "route", "add", "default", "via", ADDRESS, "dev", "node0")
    run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.route_localnet=1")


def _write_json(path, content):
    """JSON is YAML, and for containerd's TOML there is a template below."""
    Path(path).write_text(json.dumps(content, indent=1) + "\n")
    return path


def _filesystem(path):
    return subprocess.run(["stat", "-f", "-c", "%T", path], check=True, text=True, capture_output=True).stdout.strip()


def start_containerd(state, processes):
    cni = state / "cni"
    cni.mkdir(exist_ok=True)
    _write_json(cni / "10-pods.conflist", {
        "cniVersion": "0.4.0", "name": "pods",
        "plugins": [{
            "type": "bridge", "bridge": "cni0", "isGateway": True, "hairpinMode": True, "ipMasq": False,
            "ipam": {"type": "host-local", "dataDir": str(state / "cni-addresses"),
                     "ranges": [[{"subnet": NODE_PODS}]], "routes": [{"dst": "0.0.0.0/0"}]}}]})
    # overlay cannot be stacked on overlay (a container's own root).
    snapshotter = "native" if _filesystem(state) == "overlayfs" else "overlayfs"
    (state / "containerd.toml").write_text(f'''version = 2
root = "{state}/containerd"
state = "{state}/run"
[grpc]
  address = "{state}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{state}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{images.PAUSE_IMAGE}"
  disable_apparmor = true
  # Root may lack CAP_SYS_RESOURCE, without which no score can be lowered.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{cni}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{snapshotter}"
''')
    processes.start("containerd", "containerd", "-c", state / "containerd.toml")
    procs.wait_for("containerd", lambda: ctr(state, "version").returncode == 0, 30, 0.2,
                   lambda: processes.log_tail("containerd"))
    load_image(state, images.write_pause_archive(state / "images"))


def ctr(state, *arguments):
    return subprocess.run(["ctr", "-a", state / "containerd.sock", "-n", "k8s.io", *map(str, arguments)], text=True,
                          capture_output=True)


def load_image(state, archive):
    done = ctr(state, "images", "import", archive)
    if done.returncode != 0:
        raise RuntimeError(f"importing {archive}: {done.stderr.strip()}")


def start_kubelet(state, processes, bin_dir, kubeconfig, cgroup):
    cgroups.make(cgroup)
    config = _write_json(state / "kubelet.json", {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": ADDRESS,
        "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{cgroup}", "failCgroupV1": False, "failSwapOn": False,
        "enforceNodeAllocatable": [],
        # A developer's full disk must not evict the pods of a test.
        "evictionHard": {signal: "0%" for signal in
                         ("memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available")},
        "imageGCHighThresholdPercent": 100, "localStorageCapacityIsolation": False, "makeIPTablesUtilChains": False,
        "containerRuntimeEndpoint": f"unix://{state}/containerd.sock",
        "podLogsDir": f"{state}/pod-logs", "volumePluginDir": f"{state}/volume-plugins",
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "clusterDomain": "cluster.local", "resolvConf": "",
        # Tests watch what the kubelet does; look more often than every minute.
        "syncFrequency": "10s", "shutdownGracePeriod": "0s"})
    processes.start("kubelet", bin_dir / "kubelet", "--config", config, "--kubeconfig", kubeconfig, "--root-dir",
                    state / "kubelet", "--cert-dir", state / "kubelet-certs", "--hostname-override", NODE,
                    "--node-ip", ADDRESS)


def start_proxy(state, processes, bin_dir, kubeconfig):
    config = _write_json(state / "proxy.json", {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
        "mode": "nftables", "clusterCIDR": POD_RANGE, "hostnameOverride": NODE,
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        # Connection-tracking limits are the host's, not ours.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"}})
    processes.start("proxy", bin_dir / "kube-proxy", "--config", config)


def pod_networks(state):
    """Network namespaces that containerd made for this node's pods, from the containers' own specifications."""
    found = set()
    for spec in state.glob("run/io.containerd.runtime.v2.task/k8s.io/*/config.json"):
        for namespace in json.loads(spec.read_text()).get("linux", {}).get("namespaces", []):
            path = namespace.get("path", "")
            if namespace["type"] == "network" and path.startswith(("/run/netns/cni-", "/var/run/netns/cni-")):
                found.add(Path(path).name)
    return found


def stop_containers(state):
    """Kills what runs in pods; containerd must still be up. Returns the pods' network namespaces."""
    networks = pod_networks(state)
    for task in ctr(state, "tasks", "ls", "-q").stdout.split():
        ctr(state, "tasks", "kill", "-s", "9", task)
    return networks


def stop_shims(state):
    """containerd's shims outlive it; ours name our socket on their command line."""
    address = str(state / "containerd.sock").encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"containerd-shim-runc-v2") and address in words:
            pid = int(entry.name)
            procs.stop_pid(pid, procs.start_ticks(pid), 2)


def unmount(state):
    mounts = [line.split()[1].encode().decode("unicode_escape") for line in
              Path("/proc/self/mounts").read_text().splitlines()]
    for path in sorted((each for each in mounts if each.startswith(f"{state}/")), reverse=True):
        subprocess.run(["umount", "-l", path], capture_output=True)


def remove_networks(names):
    for name in names:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
