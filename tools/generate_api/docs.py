"""Writes the field reference for people."""

TOP = """# API reference: podcache.dev/v1alpha1

Made from `manifests/crd` by `tools/generate_api`; do not edit. Quantities are strings: quote a plain number (`"1073741824"`).
A field marked * is required where its parent is given.
"""


def limits(schema):
    parts = []
    if "enum" in schema:
        parts.append(" or ".join(f"`{value}`" for value in schema["enum"]))
    if "minimum" in schema and "maximum" in schema:
        parts.append(f"{schema['minimum']} to {schema['maximum']}")
    if "maxLength" in schema and "pattern" not in schema and "enum" not in schema:
        parts.append(f"at most {schema['maxLength']} characters")
    if "maxItems" in schema:
        parts.append(f"at most {schema['maxItems']} entries")
    if "maxProperties" in schema:
        parts.append(f"at most {schema['maxProperties']} entries")
    parts += [rule["message"] for rule in schema.get("x-kubernetes-validations", [])]
    return "; ".join(parts)


def kind_of(schema):
    if schema["type"] == "array":
        return f"list of {kind_of(schema['items'])}"
    if schema["type"] == "object" and "additionalProperties" in schema:
        return "map of string"
    if schema["type"] == "string":
        pattern = schema.get("pattern", "")
        if "Ki" in pattern:
            return "memory"
        if pattern.endswith("m?$"):
            return "cpu"
        if "ms" in pattern:
            return "duration"
    return schema["type"]


def default_of(schema):
    value = schema.get("default")
    if value is None or isinstance(value, dict):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def rows(path, schema, required):
    star = "*" if required else ""
    yield (f"| `{path}`{star} | {kind_of(schema)} | {default_of(schema)} | {cell(limits(schema))} "
           f"| {cell(schema.get('description', ''))} |\n")
    inner = schema
    if schema["type"] == "array":
        inner, path = schema["items"], path + "[]"
    for key, value in inner.get("properties", {}).items():
        yield from rows(f"{path}.{key}", value, key in inner.get("required", []))


def reference(kinds):
    text = TOP
    for kind in kinds:
        text += f"\n## {kind.name}\n\n{cell(kind.schema['description'])}\n"
        for rule in kind.schema.get("x-kubernetes-validations", []):
            text += f"\n- {rule['message']}\n"
        text += "\n| field | type | default | limits | meaning |\n|---|---|---|---|---|\n"
        for part in ("spec", "status"):
            text += "".join(rows(part, kind.schema["properties"][part], part == "spec"))
    return text
