"""For each rule of the CRDs objects that it takes and objects that it refuses.

CASES: {(plural, path of the schema, message of the rule): (accepted, refused)}, each a list of merge patches on the smallest
valid object; a patch is on the whole object where it has `metadata`, else on spec.
"""

MEMORY_LIMITS = "must be above 0 and at most 64Ti"
RULE_NAMES = "rule names must be unique"
CPU_LIMITS = "must be above 0 and at most 1024"
EXCEEDS = "request must not exceed limit"


def rules(*patches):
    return [{"name": f"rule-{number}", **patch} for number, patch in enumerate(patches)]


def resources(**parts):
    return {"resources": parts}


# Parts that CacheProfile and CacheSidecar's own rules share; `wrap` puts a list of rules into a spec.
def rule_cases(plural, path, wrap):
    def one(**parts):
        return wrap(rules(parts))

    return {
        (plural, path, RULE_NAMES): (
            [wrap([{"name": "a"}, {"name": "b"}])],
            [wrap([{"name": "a"}, {"name": "b"}, {"name": "a"}])]),
        (plural, f"{path}[].match.pageSize", "must be 4Ki, 16Ki or 64Ki"): (
            [one(match={"pageSize": size}) for size in ("4Ki", "4096", "16Ki", "64Ki", "65536")],
            [one(match={"pageSize": size}) for size in ("4k", "2Mi", "0", "8Ki")]),
        (plural, f"{path}[].threads", "min must not exceed max"): (
            [one(threads={"min": 4, "max": 4})],
            [one(threads={"min": 5, "max": 4}), one(threads={"min": 17})]),
        (plural, f"{path}[].memory.overheadFixed", MEMORY_LIMITS): (
            [one(memory={"overheadFixed": "64Mi"}), one(memory={"overheadFixed": "64Ti"})],
            [one(memory={"overheadFixed": "0"}), one(memory={"overheadFixed": "65Ti"})]),
    }


def sidecar(path, message):
    return ("cachesidecars", path, message)


CASES = {
    ("cacheprofiles", "", "name must be at most 40 characters"): (
        [{"metadata": {"name": "p" * 40}}], [{"metadata": {"name": "p" * 41}}]),
    **rule_cases("cacheprofiles", "spec.rules", lambda value: {"rules": value}),
    **rule_cases("cachesidecars", "spec.sizing.rules", lambda value: {"sizing": {"rules": value}}),
    sidecar("", "name must be at most 40 characters"): (
        [{"metadata": {"name": "s" * 40}}], [{"metadata": {"name": "s" * 41}}]),
    # K01: a limit equal to the cache size is refused. 1Gi × 1.05 + 32Mi = 1107.2Mi.
    sidecar("spec", "resources.memory.limit leaves no headroom above memory.size (need size*1.05 + 32Mi)"): (
        [{"memory": {"size": "1Gi"}, **resources(cpu={"request": "500m", "limit": "1"}, memory={"limit": "1108Mi"})},
         {"memory": {"size": "1Gi"}, **resources(cpu={"request": "500m", "limit": "1"})},
         {"memory": {"size": "1Gi"}, **resources(memory={"request": "512Mi"})}],
        [{"memory": {"size": "1Gi"}, **resources(cpu={"request": "500m", "limit": "1"}, memory={"limit": "1Gi"})},
         {"memory": {"size": "1Gi"}, **resources(memory={"limit": "1107Mi"})}]),
    sidecar("spec", "percentOfLimit needs resources.memory.limit"): (
        [{"memory": {"size": None, "percentOfLimit": 80}, **resources(memory={"limit": "1Gi"})}],
        [{"memory": {"size": None, "percentOfLimit": 80}},
         {"memory": {"size": None, "percentOfLimit": 80}, **resources(memory={"request": "1Gi"})}]),
    sidecar("spec", "profileRef and sizing are exclusive"): (
        [{"profileRef": {"name": "default"}}, {"sizing": {"rules": rules({})}}],
        [{"profileRef": {"name": "default"}, "sizing": {"rules": rules({})}}]),
    sidecar("spec.selector", "selector must not be empty"): (
        [{"selector": {"matchLabels": None, "matchExpressions": [{"key": "app", "operator": "Exists"}]}}],
        [{"selector": {"matchLabels": None}}, {"selector": {"matchLabels": None, "matchExpressions": []}}]),
    sidecar("spec.selector.matchExpressions[]",
            "values are required for In and NotIn and not allowed for Exists and DoesNotExist"): (
        [{"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}},
         {"selector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}],
        [{"selector": {"matchExpressions": [{"key": "a", "operator": "NotIn"}]}},
         {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}}]),
    sidecar("spec.memory", "set exactly one of size, percentOfLimit"): (
        [{"memory": {"size": "64Mi"}}],
        [{"memory": {"size": None}},
         {"memory": {"size": "64Mi", "percentOfLimit": 50}, **resources(memory={"limit": "1Gi"})}]),
    sidecar("spec.memory", "maxItemSize must be at most half of size"): (
        [{"memory": {"size": "8Mi", "maxItemSize": "4Mi"}}, {"memory": {"size": "2Mi"}}],
        [{"memory": {"size": "8Mi", "maxItemSize": "5Mi"}}, {"memory": {"size": "1Mi"}}]),
    sidecar("spec.memory.size", MEMORY_LIMITS): (
        [{"memory": {"size": size}} for size in ("1.5Gi", "1073741824", "1500M", "64Ti", "64000M")],
        [{"memory": {"size": size}} for size in ("0", "0Gi", "0.0", "65Ti", "65536.1Gi")]),
    sidecar("spec.memory.maxItemSize", MEMORY_LIMITS): (
        [{"memory": {"maxItemSize": "512Ki"}}], [{"memory": {"maxItemSize": "0"}}]),
    sidecar("spec.memory.maxItemSize", "must be between 1Ki and 1Gi"): (
        [{"memory": {"maxItemSize": "1Ki"}}, {"memory": {"size": "4Gi", "maxItemSize": "1Gi"}}],
        [{"memory": {"maxItemSize": "1023"}}, {"memory": {"size": "8Gi", "maxItemSize": "2Gi"}}]),
    sidecar("spec.threads", "threads.count is required when mode is Fixed"): (
        [{"threads": {"mode": "Fixed", "count": 2}}, {"threads": {"mode": "Auto"}}, {"threads": {"count": 2}}],
        [{"threads": {"mode": "Fixed"}}]),
    sidecar("spec.resources.cpu", EXCEEDS): (
        [resources(cpu={"request": "500m", "limit": "0.5"}), resources(cpu={"request": "2"})],
        [resources(cpu={"request": "501m", "limit": "0.5"})]),
    sidecar("spec.resources.cpu.request", CPU_LIMITS): (
        [resources(cpu={"request": "1m"}), resources(cpu={"request": "1024"})],
        [resources(cpu={"request": "0m"}), resources(cpu={"request": "1025"})]),
    sidecar("spec.resources.cpu.limit", CPU_LIMITS): (
        [resources(cpu={"limit": "1.5"})], [resources(cpu={"limit": "0"}), resources(cpu={"limit": "1024.5"})]),
    sidecar("spec.resources.memory", EXCEEDS): (
        [resources(memory={"request": "1Gi", "limit": "1024Mi"})],
        [resources(memory={"request": "1025Mi", "limit": "1Gi"})]),
    sidecar("spec.resources.memory.request", MEMORY_LIMITS): (
        [resources(memory={"request": "1Gi"})], [resources(memory={"request": "0"}), resources(memory={"request": "65Ti"})]),
    sidecar("spec.resources.memory.limit", MEMORY_LIMITS): (
        [resources(memory={"limit": "64Ti"})], [resources(memory={"limit": "0"}), resources(memory={"limit": "65Ti"})]),
    sidecar("spec.resize.deferredTimeout", "must be above 0 and at most 24h"): (
        [{"resize": {"deferredTimeout": duration}} for duration in ("1ms", "1h30m", "24h", "0.5s")],
        [{"resize": {"deferredTimeout": duration}} for duration in ("0s", "0h0m", "25h", "9999999h")]),
    sidecar("spec.extraArgs",
            "memory, threads, connections and listeners are set by the fields of this object, not by extraArgs"): (
        [{"extraArgs": arguments} for arguments in (["-v"], ["-vv", "--verbose"], ["-o", "x=y"], ["--threads-more"], ["64"])],
        [{"extraArgs": ["-v", argument]} for argument in (
            "-m", "-m64", "-vvm", "-t4", "-c", "-I", "-l", "-p", "-s", "-a", "-U", "--memory-limit=64", "--threads",
            "--port", "--udp-port=1", "--listen", "--unix-socket", "--unix-mask", "--conn-limit", "--max-item-size",
            "--loopback", "--extra-unix-socket=/x", "--http-listen=off", "--admin-listen=off")]),
    sidecar("spec.listen", "enable at least one listener"): (
        [{"listen": {"loopback": False, "unixSocket": {"enabled": True}}}, {"listen": {}}, {"listen": None}],
        [{"listen": {"loopback": False}}, {"listen": {"loopback": False, "unixSocket": {"enabled": False}}},
         {"listen": {"loopback": False, "unixSocket": {"mountPath": "/x"}}}]),
    sidecar("spec.listen.port", "9150 and 9151 are the ports of metrics and administration"): (
        [{"listen": {"port": 9149}}, {"listen": {"port": 65535}}], [{"listen": {"port": 9150}}, {"listen": {"port": 9151}}]),
    sidecar("spec.listen.unixSocket.mountPath", "must not contain . or .. as a part"): (
        [{"listen": {"unixSocket": {"mountPath": path}}} for path in ("/a/..b", "/.cache", "/a.b/c")],
        [{"listen": {"unixSocket": {"mountPath": path}}} for path in ("/a/..", "/../a", "/a/./b")]),
    sidecar("spec.listen.unixSocket.mountPath", "/run/podcache belongs to the cache's own volume"): (
        [{"listen": {"unixSocket": {"mountPath": path}}} for path in ("/run/podcache-app", "/run/app")],
        [{"listen": {"unixSocket": {"mountPath": path}}} for path in ("/run/podcache", "/run/podcache/x", "/run")]),
}

# What the structural schema itself refuses: (plural, patch, field of the cause, part of its message).
REFUSED_BY_SCHEMA = [
    ("cachesidecars", {"memory": {"size": "-1Gi"}}, "spec.memory.size", "should match"),
    ("cachesidecars", {"memory": {"size": "1GB"}}, "spec.memory.size", "should match"),
    ("cachesidecars", {"memory": {"size": "1e3Ei"}}, "spec.memory.size", "should match"),
    ("cachesidecars", {"memory": {"size": "1Gi "}}, "spec.memory.size", "should match"),
    ("cachesidecars", {"memory": {"size": "1" * 25}}, "spec.memory.size", "may not be more than 24"),
    ("cachesidecars", {"memory": {"size": 1073741824}}, "spec.memory.size", "must be of type string"),
    ("cachesidecars", {"memory": {"size": None, "percentOfLimit": 9}}, "spec.memory.percentOfLimit", "greater than or equal to 10"),
    ("cachesidecars", {"memory": {"size": None, "percentOfLimit": 96}}, "spec.memory.percentOfLimit", "less than or equal to 95"),
    ("cachesidecars", {"threads": {"mode": "Fixed", "count": 0}}, "spec.threads.count", "greater than or equal to 1"),
    ("cachesidecars", {"threads": {"mode": "Fixed", "count": 129}}, "spec.threads.count", "less than or equal to 128"),
    ("cachesidecars", {"threads": {"mode": "Many"}}, "spec.threads.mode", "Unsupported value"),
    ("cachesidecars", {"resize": {"mode": "Recreate"}}, "spec.resize.mode", "Unsupported value"),
    ("cachesidecars", {"resize": {"deferredTimeout": "soon"}}, "spec.resize.deferredTimeout", "should match"),
    ("cachesidecars", {"qos": "Best"}, "spec.qos", "Unsupported value"),
    ("cachesidecars", {"listen": {"port": 65536}}, "spec.listen.port", "less than or equal to 65535"),
    ("cachesidecars", {"listen": {"unixSocket": {"mountPath": "relative"}}}, "spec.listen.unixSocket.mountPath", "should match"),
    ("cachesidecars", {"listen": {"unixSocket": {"mountPath": "/a:b"}}}, "spec.listen.unixSocket.mountPath", "should match"),
    ("cachesidecars", {"listen": {"unixSocket": {"mountPath": "/" + "a" * 92}}}, "spec.listen.unixSocket.mountPath",
     "may not be more than 92"),
    ("cachesidecars", {"resources": {"cpu": {"request": "1k"}}}, "spec.resources.cpu.request", "should match"),
    ("cachesidecars", {"resources": {"cpu": {"request": 1}}}, "spec.resources.cpu.request", "must be of type string"),
    ("cachesidecars", {"maxConnections": 0}, "spec.maxConnections", "greater than or equal to 1"),
    ("cachesidecars", {"extraArgs": ["-v"] * 33}, "spec.extraArgs", "must have at most 32 items"),
    ("cachesidecars", {"selector": None}, "spec.selector", "Required value"),
    ("cachesidecars", {"memory": None}, "spec.memory", "Required value"),
    ("cachesidecars", {"sizing": {"rules": []}}, "spec.sizing.rules", "should have at least 1 items"),
    ("cacheprofiles", {"rules": [{"name": "Upper"}]}, "spec.rules[0].name", "should match"),
    ("cacheprofiles", {"rules": [{"name": "a", "match": {"arch": ["x86_64"]}}]}, "spec.rules[0].match.arch[0]", "Unsupported value"),
    ("cacheprofiles", {"rules": [{"name": "a", "threads": {"perCPUPercent": 401}}]}, "spec.rules[0].threads.perCPUPercent",
     "less than or equal to 400"),
    ("cacheprofiles", {"rules": [{"name": "a", "memory": {"overheadPercent": 201}}]}, "spec.rules[0].memory.overheadPercent",
     "less than or equal to 200"),
]
