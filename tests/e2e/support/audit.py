"""Reads the API server's audit log: who changed what, in which order."""
import json
from datetime import datetime


def parse_time(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def events(cluster, since=0.0):
    """All recorded requests that were received since then, in order."""
    found = []
    with open(cluster.state / "audit.log") as log:
        for line in log:
            try:
                event = json.loads(line)
            except ValueError:
                continue  # the line being written just now
            if parse_time(event["requestReceivedTimestamp"]) >= since:
                found.append(event)
    return sorted(found, key=lambda event: event["requestReceivedTimestamp"])


def resizes(cluster, namespace, pod, since=0.0):
    """[(time received, time answered, code, patch)] of the resizes of one pod, dry runs left out."""
    result = []
    for event in events(cluster, since):
        reference = event.get("objectRef", {})
        if (reference.get("resource"), reference.get("subresource")) != ("pods", "resize") or event["verb"] != "patch":
            continue
        if "dryRun=" in event["requestURI"]:
            continue
        if (reference.get("namespace"), reference.get("name")) == (namespace, pod):
            result.append((parse_time(event["requestReceivedTimestamp"]), parse_time(event["stageTimestamp"]),
                           event["responseStatus"]["code"], event.get("requestObject")))
    return result


def memory_limit_of(patch, container="podcache"):
    """The memory limit that a resize asks for the container, as written, or None."""
    for each in patch["spec"].get("initContainers", []) + patch["spec"].get("containers", []):
        if each["name"] == container:
            return each.get("resources", {}).get("limits", {}).get("memory")
    return None
