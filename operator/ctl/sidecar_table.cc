// RenderSidecars of kubectl.h.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operator/ctl/kubectl.h"

namespace podcache::control {

namespace {

using Json = nlohmann::json;
using Row = std::vector<std::string>;

std::string Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string Count(const Json& status, const char* key) {
  const auto found = status.find(key);
  return found != status.end() && found->is_number_integer()
             ? std::to_string(found->get<std::int64_t>())
             : "-";
}

Json Member(const Json& object, const char* key, Json otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->type() == otherwise.type() ? *found : otherwise;
}

// "True", or "False/Reason".
std::string Condition(const Json& status, const std::string& type) {
  for (const Json& condition : Member(status, "conditions", Json::array())) {
    if (!condition.is_object() || Text(condition, "type") != type) continue;
    const std::string reason = Text(condition, "reason");
    const std::string value = Text(condition, "status");
    return value == "True" && type == "Ready" ? value
                                              : value + (reason.empty() ? "" : "/" + reason);
  }
  return "-";
}

std::string Aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - row[i].size() + 3, ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> RenderSidecars(const std::string& json, bool with_namespace) {
  const Json list = Json::parse(json, nullptr, false);
  if (!list.is_object()) return Internal("kubectl's answer is no JSON object");
  const Json items = Member(list, "items", Json::array());
  if (items.empty()) return std::string("No CacheSidecars found.\n");
  std::vector<Row> rows = {
      {"NAME", "MEMORY", "MATCHED", "INJECTED", "RESIZED", "PENDING", "READY", "RESIZING"}};
  std::string unsettled;
  for (const Json& item : items) {
    const Json metadata = Member(item, "metadata", Json::object());
    const Json spec = Member(item, "spec", Json::object());
    const Json status = Member(item, "status", Json::object());
    const std::string name = (with_namespace ? Text(metadata, "namespace") + "/" : std::string()) +
                             Text(metadata, "name");
    const std::string size = Text(Member(spec, "memory", Json::object()), "size");
    rows.push_back({name, size.empty() ? "-" : size, Count(status, "matchedPods"),
                    Count(status, "injectedPods"), Count(status, "resizedPods"),
                    Count(status, "pendingPods"), Condition(status, "Ready"),
                    Condition(status, "Resizing")});
    for (const Json& pod : Member(status, "pods", Json::array())) {
      if (!pod.is_object()) continue;
      const std::string message = Text(pod, "message");
      unsettled += "  " + name + "  " + Text(pod, "name") + "  " + Text(pod, "state") +
                   (message.empty() ? "" : ": " + message) + "\n";
    }
  }
  std::string text = Aligned(rows);
  if (!unsettled.empty()) text += "\nPods not at their size:\n" + unsettled;
  return text;
}

}  // namespace podcache::control
