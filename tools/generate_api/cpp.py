"""Writes the C++ structs with their JSON reader and writer."""

import re

import model
import names

BANNER = "// Made from manifests/crd by tools/generate_api. Do not edit.\n"
INCLUDE_DIR = "operator/api/v1alpha1"


def header_name(kind):
    return model.snake_case(kind.name)


def constant(value):
    return "k" + value[0].upper() + value[1:]


def wrap_comment(text, indent=""):
    lines, line = [], indent + "//"
    for word in text.split():
        if len(line) + 1 + len(word) > 100:
            lines.append(line)
            line = indent + "//"
        line += " " + word
    return "\n".join(lines + [line]) + "\n" if text else ""


def parse_bytes(text):
    number, suffix = re.fullmatch(r"([0-9]+)([A-Za-z]*)", text).groups()
    factor = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}[suffix]
    return int(number) * factor


def parse_duration_ms(text):
    number, unit = re.fullmatch(r"([0-9]+)(ms|s|m|h)", text).groups()
    return int(number) * {"ms": 1, "s": 1000, "m": 60000, "h": 3600000}[unit]


def cpp_default(field):
    """The member initializer, with its leading blank or braces; empty where the type's own is right."""
    value = field.default
    if value is None:
        if field.form in ("integer", "bytes", "milli"):
            return " = 0"
        if field.form == "bool":
            return " = false"
        if field.form == "enum":
            return f" = {field.cpp_type}::{constant(field.schema['enum'][0])}"
        return "{}" if field.form == "duration" else ""
    if field.form == "string":
        return f' = "{value}"'
    if field.form == "bool":
        return " = true" if value else " = false"
    if field.form == "integer":
        return f" = {value}"
    if field.form == "bytes":
        return f" = {parse_bytes(value)}"
    if field.form == "duration":
        return f"{{{parse_duration_ms(value)}}}"
    if field.form == "enum":
        return f" = {field.cpp_type}::{constant(value)}"
    if field.form == "struct":
        return ""  # the members' own initializers; checked by check_struct_defaults
    raise model.SchemaError(f"{field.json_name}: no C++ form for this default")


def check_struct_defaults(entry, by_name):
    """A struct's default may say nothing else than its members' defaults: C++ has the latter only."""
    for field in entry.fields:
        if field.form != "struct" or field.default is None:
            continue
        members = {member.json_name: member.default for member in by_name[field.cpp_type].fields}
        for key, value in field.default.items():
            if members[key] != value:
                raise model.SchemaError(f"{entry.name}.{field.json_name}: default of {key} differs from its own")


def declare(entry):
    text = wrap_comment(entry.description)
    if isinstance(entry, model.Enum):
        values = ", ".join(constant(value) for value in entry.values)
        return (f"{text}enum class {entry.name} {{ {values} }};\n\n"
                f"std::string_view ToString({entry.name} value);\n"
                f"bool FromString(std::string_view text, {entry.name}& value);\n\n")
    text += f"struct {entry.name} {{\n"
    for field in entry.fields:
        text += wrap_comment(field.schema.get("description", ""), "  ")
        if field.optional:
            text += f"  std::optional<{field.cpp_type}> {field.cpp_name};\n"
        else:
            text += f"  {field.cpp_type} {field.cpp_name}{cpp_default(field)};\n"
    return text + (f"\n  bool operator==(const {entry.name}&) const = default;\n}};\n\n"
                   f"void Read(const JsonCursor& json, {entry.name}& out);\n"
                   f"nlohmann::json ToJson(const {entry.name}& value);\n\n")


def quoted(values):
    return "{" + ", ".join(f'"{value}"' for value in values) + "}"


def read_field(field):
    access = ("json.Require" if field.required else "json.At") + f'("{field.json_name}")'
    target = f"out.{field.cpp_name}"
    schema = field.schema
    if field.form == "struct":
        return f"Read{'Optional' if field.optional else ''}({access}, {target});"
    if field.form == "struct_list":
        return f"ReadList({access}, {schema['maxItems']}, {target});"
    if field.form == "integer":
        highest = schema.get("maximum", "std::numeric_limits<" + field.cpp_type + ">::max()")
        return f"ReadInteger({access}, {schema['minimum']}, {highest}, {target});"
    if field.form == "string":
        return f"ReadString({access}, {schema['maxLength']}, {target});"
    if field.form == "string_map":
        longest = schema["additionalProperties"]["maxLength"]
        return f"ReadStringMap({access}, {schema['maxProperties']}, {longest}, {target});"
    if field.form == "string_list":
        items = schema["items"]
        if "enum" in items:
            return f"ReadWordList({access}, {schema['maxItems']}, {quoted(items['enum'])}, {target});"
        return f"ReadStringList({access}, {schema['maxItems']}, {items['maxLength']}, {target});"
    function = {"bool": "ReadBool", "enum": "ReadEnum", "bytes": "ReadBytes", "milli": "ReadMilli",
                "duration": "ReadDuration"}[field.form]
    return f"{function}({access}, {target});"


def write_expression(field, value):
    if field.form in ("struct", "struct_list"):
        return f"ToJson({value})"
    if field.form == "enum":
        return f"std::string(ToString({value}))"
    function = {"bytes": "FormatBytes", "milli": "FormatMilli", "duration": "FormatDuration"}.get(field.form)
    return f"{function}({value})" if function else value


def write_field(field):
    value = f"value.{field.cpp_name}"
    put = f'json["{field.json_name}"] = '
    if field.optional:
        return f"if ({value}) {put}{write_expression(field, '*' + value)};"
    if field.always_written:
        return f"{put}{write_expression(field, value)};"
    if field.form == "struct":
        return f'PutUnlessEmpty(json, "{field.json_name}", ToJson({value}));'
    return f"if (!{value}.empty()) {put}{write_expression(field, value)};"


def define(entry):
    name = entry.name
    if isinstance(entry, model.Enum):
        table = "".join(f'    {{{name}::{constant(v)}, "{v}"}},\n' for v in entry.values)
        return (f"namespace {{\nconstexpr EnumName<{name}> k{name}Names[] = {{\n{table}}};\n}}  // namespace\n\n"
                f"std::string_view ToString({name} value) {{ return NameOf(k{name}Names, value); }}\n\n"
                f"bool FromString(std::string_view text, {name}& value) {{\n"
                f"  return ValueOf(k{name}Names, text, value);\n}}\n\n")
    reads = "".join(f"  {read_field(field)}\n" for field in entry.fields)
    writes = "".join(f"  {write_field(field)}\n" for field in entry.fields)
    return (f"void Read(const JsonCursor& json, {name}& out) {{\n{reads}}}\n\n"
            f"nlohmann::json ToJson(const {name}& value) {{\n"
            f"  nlohmann::json json = nlohmann::json::object();\n{writes}  return json;\n}}\n\n")


HEADER_TOP = BANNER + """#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

%s
namespace podcache::control {

"""
SOURCE_TOP = BANNER + """#include "%s"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "operator/api/v1alpha1/duration.h"
#include "operator/api/v1alpha1/enum_names.h"
#include "operator/api/v1alpha1/json_reader.h"
#include "operator/api/v1alpha1/quantity.h"

namespace podcache::control {

namespace {

template <typename T>
nlohmann::json ToJson(const std::vector<T>& list) {
  nlohmann::json json = nlohmann::json::array();
  for (const T& element : list) json.push_back(ToJson(element));
  return json;
}

[[maybe_unused]] void PutUnlessEmpty(nlohmann::json& object, const char* key, nlohmann::json value) {
  if (!value.empty()) object[key] = std::move(value);
}

}  // namespace

"""
BOTTOM = "}  // namespace podcache::control\n"


def root_declaration(kind):
    return f"""{wrap_comment(kind.schema['description'])}struct {kind.name} {{
  static constexpr std::string_view kKind = "{kind.name}";
  static constexpr std::string_view kPlural = "{kind.plural}";
  static constexpr bool kNamespaced = {'true' if kind.scope == 'Namespaced' else 'false'};

  ObjectMetadata metadata;
  {kind.name}Spec spec;
  {kind.name}Status status;

  bool operator==(const {kind.name}&) const = default;
}};

// What cannot be read is added to `errors`, and the field keeps its default; unknown members are ignored.
{kind.name} {kind.name}FromJson(const nlohmann::json& json, FieldErrors* errors);

// With apiVersion and kind.
nlohmann::json ToJson(const {kind.name}& value);

"""


def root_definition(kind):
    return f"""{kind.name} {kind.name}FromJson(const nlohmann::json& json, FieldErrors* errors) {{
  {kind.name} object;
  const JsonCursor root(json, errors);
  Read(root.Require("metadata"), object.metadata);
  Read(root.Require("spec"), object.spec);
  Read(root.At("status"), object.status);
  return object;
}}

nlohmann::json ToJson(const {kind.name}& value) {{
  nlohmann::json json = {{{{"apiVersion", kApiVersion}},
                         {{"kind", {kind.name}::kKind}},
                         {{"metadata", ToJson(value.metadata)}},
                         {{"spec", ToJson(value.spec)}}}};
  PutUnlessEmpty(json, "status", ToJson(value.status));
  return json;
}}

"""


def files(kinds):
    """{file name: text} of all headers and sources."""
    shared = model.shared_types(kinds)
    by_name = {entry.name: entry for kind in kinds for entry in kind.types}
    for entry in by_name.values():
        if isinstance(entry, model.Struct):
            check_struct_defaults(entry, by_name)
    include = '#include "operator/api/v1alpha1/{}.h"\n'.format
    result = {
        "shared_types.h": HEADER_TOP % include("json_cursor") + "".join(map(declare, shared)) + BOTTOM,
        "shared_types.cc": SOURCE_TOP % f"{INCLUDE_DIR}/shared_types.h" + "".join(map(define, shared)) + BOTTOM,
    }
    for kind in kinds:
        own = [entry for entry in kind.types if entry.name not in names.SHARED]
        base = header_name(kind)
        includes = "".join(map(include, ("group_version", "json_cursor", "object_metadata", "shared_types")))
        result[base + ".h"] = (
            HEADER_TOP % includes + "".join(map(declare, own)) + root_declaration(kind) + BOTTOM)
        result[base + ".cc"] = (
            SOURCE_TOP % f"{INCLUDE_DIR}/{base}.h" + "".join(map(define, own)) + root_definition(kind) + BOTTOM)
    return result
