#include "operator/client/watch_stream.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "operator/client/api_error.h"

namespace podcache::kube {
namespace {

// Between bursts the buffer of an unusually long line is given back.
constexpr std::size_t kKeptCapacity = std::size_t{256} << 10;

std::string_view WithoutCarriageReturn(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::optional<WatchEventType> TypeOf(std::string_view name) {
  if (name == "ADDED") return WatchEventType::kAdded;
  if (name == "MODIFIED") return WatchEventType::kModified;
  if (name == "DELETED") return WatchEventType::kDeleted;
  if (name == "BOOKMARK") return WatchEventType::kBookmark;
  return std::nullopt;
}

absl::Status ErrorOfEvent(const nlohmann::json& status) {
  const auto code = status.find("code");
  const bool known = code != status.end() && code->is_number_integer();
  return ErrorFromResponse(known ? code->get<int>() : 500, status.dump(), std::nullopt);
}

}  // namespace

absl::Status LineSplitter::Keep(std::string_view bytes) {
  if (partial_.size() + bytes.size() > max_) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "a line of the watch is longer than " + std::to_string(max_) + " bytes");
  }
  partial_.append(bytes);
  return absl::OkStatus();
}

absl::Status LineSplitter::Feed(std::string_view bytes,
                                const std::function<absl::Status(std::string_view line)>& handle) {
  for (;;) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return Keep(bytes);
    const std::string_view head = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (partial_.empty() && head.size() <= max_) {
      PODCACHE_RETURN_IF_ERROR(handle(WithoutCarriageReturn(head)));
      continue;
    }
    PODCACHE_RETURN_IF_ERROR(Keep(head));
    const absl::Status handled = handle(WithoutCarriageReturn(partial_));
    partial_.clear();
    if (partial_.capacity() > kKeptCapacity) std::string().swap(partial_);
    PODCACHE_RETURN_IF_ERROR(handled);
  }
}

absl::StatusOr<WatchEvent> DecodeWatchEvent(std::string_view line) {
  nlohmann::json value = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto lost = [](std::string_view what) {
    return MakeStatus(absl::StatusCode::kDataLoss, what);
  };
  if (!value.is_object()) return lost("watch event is no JSON object");
  const auto type = value.find("type");
  const auto object = value.find("object");
  if (type == value.end() || !type->is_string() || object == value.end() || !object->is_object()) {
    return lost("watch event without type or object");
  }
  const auto& name = type->get_ref<const std::string&>();
  if (name == "ERROR") return ErrorOfEvent(*object);
  const std::optional<WatchEventType> known = TypeOf(name);
  if (!known) return lost("watch event of an unknown type");
  WatchEvent event{*known, Object(std::move(*object))};
  event.object.StripManagedFields();
  return event;
}

}  // namespace podcache::kube
