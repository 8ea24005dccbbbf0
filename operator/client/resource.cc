#include "operator/client/resource.h"

namespace podcache::kube {
namespace {

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string ResourceType::ApiVersion() const {
  std::string result;
  if (!group.empty()) result.append(group).append("/");
  return result.append(version);
}

NamespacedName NamespacedName::Parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {"", std::string(text)};
  return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

std::string PercentEncode(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (IsUnreserved(c)) {
      result.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    result.push_back('%');
    result.push_back(kHex[byte >> 4]);
    result.push_back(kHex[byte & 15]);
  }
  return result;
}

std::string CollectionPath(const ResourceType& type, std::string_view ns) {
  std::string path;
  if (type.group.empty()) {
    path.append("/api/");
  } else {
    path.append("/apis/").append(PercentEncode(type.group)).append("/");
  }
  path.append(PercentEncode(type.version));
  if (type.namespaced && !ns.empty()) path.append("/namespaces/").append(PercentEncode(ns));
  return path.append("/").append(PercentEncode(type.plural));
}

std::string ObjectPath(const ObjectRef& ref) {
  std::string path = CollectionPath(ref.type, ref.ns).append("/").append(PercentEncode(ref.name));
  if (!ref.subresource.empty()) path.append("/").append(PercentEncode(ref.subresource));
  return path;
}

bool IsPathSegment(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of("/%") == std::string_view::npos;
}

std::string QueryString(const std::vector<std::pair<std::string_view, std::string>>& parameters) {
  std::string result;
  for (const auto& [name, value] : parameters) {
    if (value.empty()) continue;
    result.append(result.empty() ? "?" : "&").append(PercentEncode(name)).append("=");
    result.append(PercentEncode(value));
  }
  return result;
}

}  // namespace podcache::kube
