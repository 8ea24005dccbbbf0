"""Requests of the tests in Python to the test API server that PODCACHE_KUBECONFIG names (a kubeconfig in JSON, with a token)."""
import base64
import json
import os
import pathlib
import ssl
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRD_FOLDER = ROOT / "manifests/crd"
FIELD_MANAGER = "crd-test"


class ApiError(Exception):
    """An answer that is no success; `status` is the Status object."""

    def __init__(self, code, status):
        super().__init__(f"{code}: {status.get('message')}")
        self.code = code
        self.status = status

    def causes(self):
        """[(field, message)]"""
        return [(each.get("field", ""), each.get("message", ""))
                for each in self.status.get("details", {}).get("causes", [])]


class ApiServer:
    def __init__(self, suffix=""):
        """As the administrator, or with the suffix -operator with the operator's rights."""
        self.kubeconfig = os.environ["PODCACHE_KUBECONFIG"] + suffix
        config = json.loads(pathlib.Path(self.kubeconfig).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._server = cluster["server"]
        self._token = user["token"]
        with tempfile.NamedTemporaryFile(suffix=".crt") as file:
            file.write(base64.b64decode(cluster["certificate-authority-data"]))
            file.flush()
            self._context = ssl.create_default_context(cafile=file.name)

    def request(self, method, path, body=None, content_type="application/json", accept="application/json", **query):
        url = f"{self._server}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        request = urllib.request.Request(url, method=method, data=None if body is None else json.dumps(body).encode(), headers={
            "Authorization": f"Bearer {self._token}", "Content-Type": content_type, "Accept": accept})
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=30) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            raise ApiError(error.code, json.load(error)) from None

    def apply(self, path, body, **query):
        return self.request("PATCH", path, body, "application/apply-patch+yaml", fieldManager=FIELD_MANAGER,
                            force="true", **query)

    def install_crd(self, crd):
        """Applied, established and served."""
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}"
        self.apply(path, crd)

        def served():
            established = self.condition_of_crd(crd["metadata"]["name"], "Established")
            if not established or established["status"] != "True":
                return False
            try:
                self.request("GET", f"/apis/podcache.dev/v1alpha1/{crd['spec']['names']['plural']}")
            except ApiError:
                return False
            return True

        wait_for(f"{crd['metadata']['name']} is served", served)

    def condition_of_crd(self, name, kind):
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
        conditions = self.request("GET", path)["status"].get("conditions")  # null at first
        return next((each for each in conditions or [] if each["type"] == kind), None)


def wait_for(what, check, seconds=30):
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def crds():
    """{plural: CRD}"""
    loaded = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(CRD_FOLDER.glob("*.yaml"))]
    return {crd["spec"]["names"]["plural"]: crd for crd in loaded}


def collection(plural):
    return "/apis/podcache.dev/v1alpha1/" + (f"namespaces/default/{plural}" if plural == "cachesidecars" else plural)


def merged(base, patch):
    """JSON merge patch: None removes."""
    if not isinstance(patch, dict):
        return patch
    result = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


BASE = {
    "cachesidecars": {
        "apiVersion": "podcache.dev/v1alpha1", "kind": "CacheSidecar", "metadata": {"name": "web-l1"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "memory": {"size": "256Mi"}}},
    "cacheprofiles": {
        "apiVersion": "podcache.dev/v1alpha1", "kind": "CacheProfile", "metadata": {"name": "default"},
        "spec": {"rules": [{"name": "any"}]}},
}
