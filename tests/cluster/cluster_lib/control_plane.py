"""etcd and kube-apiserver: alone on free loopback ports (for tests without a node), or on a cluster's own network."""
import shutil
import socket
import ssl
import urllib.error
import urllib.request
from pathlib import Path

from . import pki
from .processes import Processes, wait_for

AUDIT_POLICY = Path(__file__).resolve().parent.parent / "audit-policy.yaml"
SERVICE_RANGE = "10.96.0.0/16"
KUBERNETES_SERVICE = "10.96.0.1"


def free_ports(count):
    """Ports that were free a moment ago; all of them are held at once, so they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def start(state, processes, bin_dir, address, ports, extra=()):
    """Starts both and writes the kubeconfigs; they serve once wait_ready() says so."""
    client_port, peer_port, secure_port = ports
    certs = state / "certs"
    pki.make(certs, ["127.0.0.1", KUBERNETES_SERVICE] + ([address] if address != "127.0.0.1" else []))
    pki.write_kubeconfigs(state, certs, f"https://{address}:{secure_port}")
    client_url, peer_url = f"http://127.0.0.1:{client_port}", f"http://127.0.0.1:{peer_port}"
    processes.start("etcd", "etcd", "--data-dir", state / "etcd", "--unsafe-no-fsync", "--log-level", "warn",
                    "--listen-client-urls", client_url, "--advertise-client-urls", client_url,
                    "--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url,
                    "--initial-cluster", f"default={peer_url}")
    processes.start(
        "apiserver", bin_dir / "kube-apiserver", f"--etcd-servers={client_url}", f"--cert-dir={certs}",
        f"--bind-address={address}", f"--secure-port={secure_port}",
        f"--tls-cert-file={certs}/apiserver.crt", f"--tls-private-key-file={certs}/apiserver.key",
        f"--client-ca-file={certs}/ca.crt", f"--token-auth-file={certs}/tokens.csv", "--authorization-mode=Node,RBAC",
        f"--service-account-key-file={certs}/sa.pub", f"--service-account-signing-key-file={certs}/sa.key",
        "--service-account-issuer=https://kubernetes.default.svc", f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--allow-privileged=true", "--enable-aggregator-routing=true", "--kubelet-preferred-address-types=InternalIP",
        f"--audit-policy-file={AUDIT_POLICY}", f"--audit-log-path={state}/audit.log",
        "--audit-log-mode=blocking-strict", *extra)


def up_alone(state, bin_dir):
    """etcd + kube-apiserver on loopback; returns the kubeconfig's path. An instance that already runs is reused."""
    state = Path(state).resolve()
    state.mkdir(parents=True, exist_ok=True)
    processes = Processes(state)
    if processes.pid("etcd") and processes.pid("apiserver") and _ready(state):
        return state / "kubeconfig"
    down_alone(state)
    clear_logs(state)
    # No controller manager makes service accounts here, so the plugin that insists on them is off.
    ports = free_ports(3)
    start(state, processes, bin_dir, "127.0.0.1", ports,
          ["--advertise-address=192.0.2.1", "--disable-admission-plugins=ServiceAccount"])
    (state / "port").write_text(str(ports[2]))
    (state / "etcd-port").write_text(str(ports[0]))
    wait_ready(processes, lambda: _ready(state))
    return state / "kubeconfig"


def down_alone(state):
    """Stops both, newest first, and removes their data; logs stay until the next start."""
    state = Path(state).resolve()
    if not state.is_dir():
        return
    processes = Processes(state)
    for name in ("apiserver", "etcd"):
        processes.stop(name)
    shutil.rmtree(state / "etcd", ignore_errors=True)


def clear_logs(state):
    (state / "audit.log").unlink(missing_ok=True)
    for log in (state / "log").glob("*.log"):
        log.unlink()


def wait_ready(processes, ready):
    def check():
        for name in ("etcd", "apiserver"):
            if processes.pid(name) is None:
                raise RuntimeError(f"{name} ended:\n{processes.log_tail(name)}")
        return ready()

    wait_for("API server", check, 60, on_timeout=lambda: processes.log_tail("apiserver"))


def _ready(state):
    try:
        port = int((state / "port").read_text())
        context = ssl.create_default_context(cafile=str(state / "certs" / "ca.crt"))
        request = urllib.request.Request(f"https://127.0.0.1:{port}/readyz",
                                         headers={"Authorization": f"Bearer {pki.TOKENS[0][0]}"})
        with urllib.request.urlopen(request, context=context, timeout=5) as reply:
            return reply.status == 200
    except (OSError, ValueError, urllib.error.URLError):
        return False
