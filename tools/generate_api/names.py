"""The C++ names of what the CRDs describe. Only names that cannot be derived stand here."""

# How a field is read and written, and the unit that its C++ name ends with.
FORMS = (
    "struct", "struct_list", "string", "string_list", "string_map", "bool", "integer", "enum", "bytes", "milli", "duration",
)
UNITS = {"bytes": "_bytes", "milli": "_milli"}

# Path in the CRD → struct. `[]` is the element of a list.
STRUCTS = {
    "spec.selector": "LabelSelector",
    "spec.selector.matchExpressions[]": "LabelSelectorRequirement",
    "spec.profileRef": "ProfileReference",
    "spec.sizing": "InlineSizing",
    "spec.memory": "CacheMemory",
    "spec.threads": "CacheThreads",
    "spec.resources": "CacheResources",
    "spec.resources.cpu": "CpuResources",
    "spec.resources.memory": "MemoryResources",
    "spec.resize": "ResizePolicy",
    "spec.listen": "SidecarListen",
    "spec.listen.unixSocket": "UnixSocketListen",
    "status.pods[]": "SidecarPodStatus",
    "status.conditions[]": "Condition",
    "rules[]": "SizingRule",
    "rules[].match": "SizingMatch",
    "rules[].threads": "SizingThreads",
    "rules[].memory": "SizingMemory",
}

ENUMS = {
    "spec.selector.matchExpressions[].operator": "SelectorOperator",
    "spec.threads.mode": "ThreadsMode",
    "spec.resize.mode": "ResizeMode",
    "spec.qos": "QosMode",
    "status.conditions[].status": "ConditionStatus",
}

# Types that stand in shared_types.h. A type used by several kinds must be here.
SHARED = {
    "LabelSelector", "LabelSelectorRequirement", "SelectorOperator", "Condition", "ConditionStatus",
    "SizingRule", "SizingMatch", "SizingThreads", "SizingMemory",
}

# C++ keywords.
FIELD_NAMES = {"operator": "op"}


def struct_name(kind, path):
    if path in ("spec", "status"):
        return kind + path.capitalize()
    if path in STRUCTS:
        return STRUCTS[path]
    if "rules[]" in path:
        return STRUCTS[path[path.index("rules[]"):]]
    raise KeyError(f"{kind}.{path} has no C++ name in names.py")


def enum_name(path):
    return ENUMS[path]
