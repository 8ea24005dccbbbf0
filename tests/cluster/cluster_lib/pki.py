"""Keys, certificates, tokens and kubeconfigs of a test API server. Everything here is worthless outside its cluster."""
import base64
import json
import subprocess
from pathlib import Path

# Token users: the administrator, and the operator's service account, so that tests without a controller manager
# can meet the API server with exactly the operator's rights.
OPERATOR_USER = "system:serviceaccount:podcache-system:podcache-operator"
TOKENS = (
    ("admin-token", "admin", "system:masters"),
    ("operator-token", OPERATOR_USER, "system:serviceaccounts,system:serviceaccounts:podcache-system"),
)


def _openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make(folder, addresses):
    """CA, serving certificate for the addresses, an administrator's client certificate, service-account keys, tokens."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "tokens.csv").exists():
        return
    _openssl(folder, "ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", "ca.key")
    _openssl(folder, "req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=podcache-test-ca", "-days", "30",
             "-out", "ca.crt", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    names = [f"IP:{address}" for address in addresses] + [
        "DNS:localhost", "DNS:kubernetes", "DNS:kubernetes.default", "DNS:kubernetes.default.svc"]
    _signed(folder, "apiserver", "/CN=kube-apiserver", f"subjectAltName={','.join(names)}\nextendedKeyUsage=serverAuth\n")
    _signed(folder, "admin", "/O=system:masters/CN=admin-certificate", "extendedKeyUsage=clientAuth\n")
    _openssl(folder, "genrsa", "-out", "sa.key", "2048")
    _openssl(folder, "rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")
    (folder / "tokens.csv").write_text("".join(f'{token},{user},{user},"{groups}"\n' for token, user, groups in TOKENS))


def _signed(folder, name, subject, extensions):
    (folder / f"{name}.ext").write_text(extensions)
    _openssl(folder, "ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", f"{name}.key")
    _openssl(folder, "req", "-new", "-key", f"{name}.key", "-subj", subject, "-out", f"{name}.csr")
    _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
             "-days", "30", "-extfile", f"{name}.ext", "-out", f"{name}.crt")


def write_kubeconfigs(state, certs, server):
    """kubeconfig (token, administrator), kubeconfig-operator (token), kubeconfig-cert (client certificate)."""
    def data(name):
        return base64.b64encode((Path(certs) / name).read_bytes()).decode()

    users = {
        "kubeconfig": {"token": TOKENS[0][0]},
        "kubeconfig-operator": {"token": TOKENS[1][0]},
        "kubeconfig-cert": {"client-certificate-data": data("admin.crt"), "client-key-data": data("admin.key")},
    }
    for name, user in users.items():
        config = {  # JSON is YAML
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority-data": data("ca.crt")}}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        }
        path = Path(state) / name
        path.touch(mode=0o600)
        path.write_text(json.dumps(config, indent=1) + "\n")
