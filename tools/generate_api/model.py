"""Turns the CRDs into what the writers need: structs, enums and fields with their C++ types.

A schema that this model does not understand (a type without limits, an object without a name in names.py) is an error:
a new field gets its C++ name and type on purpose, not by accident.
"""

import dataclasses
import re

import yaml

import names

MEMORY_PATTERN = r"^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|k|M|G|T)?$"
CPU_PATTERN = r"^[0-9]+(\.[0-9]+)?m?$"
DURATION_PATTERN = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"


class SchemaError(Exception):
    """The CRD holds something that cannot be turned into C++."""


@dataclasses.dataclass
class Field:
    """One property. `form` is one of names.FORMS and decides how it is read and written."""

    json_name: str
    cpp_name: str
    form: str
    cpp_type: str
    schema: dict
    required: bool
    optional: bool  # std::optional in C++
    default: object  # None: no default
    always_written: bool


@dataclasses.dataclass
class Struct:
    name: str
    description: str
    fields: list


@dataclasses.dataclass
class Enum:
    name: str
    description: str
    values: list


@dataclasses.dataclass
class Kind:
    name: str
    plural: str
    scope: str
    schema: dict
    types: list  # Struct and Enum, each after those it uses


def snake_case(text):
    return re.sub(r"(?<=[a-z0-9])([A-Z])|(?<=[A-Z])([A-Z])(?=[a-z])", r"_\1\2", text).lower()


def load_kind(path):
    with open(path, encoding="utf-8") as file:
        crd = yaml.safe_load(file)
    spec = crd["spec"]
    if len(spec["versions"]) != 1:
        raise SchemaError(f"{path}: exactly one version is supported")
    schema = spec["versions"][0]["schema"]["openAPIV3Schema"]
    kind = Kind(spec["names"]["kind"], spec["names"]["plural"], spec["scope"], schema, [])
    for part in ("spec", "status"):
        _Builder(kind).struct(part, schema["properties"][part])
    return kind


def shared_types(kinds):
    """The types of names.SHARED, which every kind that uses one must describe in the same way."""
    found = {}
    for kind in kinds:
        for entry in kind.types:
            if entry.name not in names.SHARED:
                continue
            if entry.name in found and found[entry.name] != entry:
                raise SchemaError(f"{entry.name} of {kind.name} differs from the same block of another kind")
            found[entry.name] = entry
    return list(found.values())


class _Builder:
    """Walks one kind's schema and appends to kind.types."""

    def __init__(self, kind):
        self._kind = kind

    def struct(self, path, schema):
        name = names.struct_name(self._kind.name, path)
        required = schema.get("required", [])
        default = schema.get("default", {})
        fields = [
            self._field(path, key, value, key in required, default.get(key))
            for key, value in schema["properties"].items()
        ]
        self._add(Struct(name, schema.get("description", ""), fields))
        return name

    def _add(self, entry):
        if all(entry.name != known.name for known in self._kind.types):
            self._kind.types.append(entry)

    def _field(self, path, key, schema, required, parent_default):
        here = f"{path}.{key}"
        form, cpp_type = self._form(here, schema)
        default = schema.get("default", parent_default)
        in_status = path.startswith("status")
        has_required_parts = form == "struct" and bool(schema.get("required"))
        may_be_absent = not required and default is None
        optional = may_be_absent and (
            form in ("bytes", "milli", "duration", "enum", "bool")
            or (form == "integer" and not in_status)
            or has_required_parts
        )
        always = required or default is not None or (form == "integer" and in_status)
        cpp_name = names.FIELD_NAMES.get(key, snake_case(key)) + names.UNITS.get(form, "")
        return Field(key, cpp_name, form, cpp_type, schema, required, optional, default, always)

    def _form(self, here, schema):
        kind = schema["type"]
        if kind == "object":
            if "properties" in schema:
                return "struct", self.struct(here, schema)
            self._need(here, schema, "maxProperties")
            return "string_map", "std::map<std::string, std::string>"
        if kind == "array":
            return self._list(here, schema)
        if kind == "boolean":
            return "bool", "bool"
        if kind == "integer":
            self._need(here, schema, "minimum", "format")
            return "integer", {"int32": "std::int32_t", "int64": "std::int64_t"}[schema["format"]]
        return self._string(here, schema)

    def _list(self, here, schema):
        self._need(here, schema, "maxItems")
        items = schema["items"]
        if items["type"] == "object":
            return "struct_list", f"std::vector<{self.struct(here + '[]', items)}>"
        if items["type"] != "string":
            raise SchemaError(f"{here}: lists hold objects or strings")
        return "string_list", "std::vector<std::string>"

    def _string(self, here, schema):
        if "enum" in schema:
            name = names.enum_name(here)
            self._add(Enum(name, schema.get("description", ""), schema["enum"]))
            return "enum", name
        self._need(here, schema, "maxLength")
        return {
            MEMORY_PATTERN: ("bytes", "std::uint64_t"),
            CPU_PATTERN: ("milli", "std::uint64_t"),
            DURATION_PATTERN: ("duration", "std::chrono::milliseconds"),
        }.get(schema.get("pattern"), ("string", "std::string"))

    @staticmethod
    def _need(here, schema, *keys):
        for key in keys:
            if key not in schema:
                raise SchemaError(f"{here}: {key} is missing")
