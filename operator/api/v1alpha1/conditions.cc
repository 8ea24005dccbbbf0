#include "operator/api/v1alpha1/conditions.h"

#include <algorithm>
#include <cstddef>

namespace podcache::control {

namespace {

constexpr std::size_t kLongestMessage = 4096;

// Not within a UTF-8 character: continuation bytes are 10xxxxxx.
std::string Cut(const std::string& message) {
  if (message.size() <= kLongestMessage) return message;
  std::size_t end = kLongestMessage;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80U) --end;
  return message.substr(0, end);
}

}  // namespace

std::vector<Condition> UpdateConditions(const std::vector<Condition>& previous,
                                        const std::vector<ConditionUpdate>& wanted,
                                        std::int64_t observed_generation, std::string_view now) {
  std::vector<Condition> result;
  result.reserve(wanted.size());
  for (const ConditionUpdate& update : wanted) {
    const Condition* before = FindCondition(previous, update.type);
    const bool same_status = before != nullptr && before->status == update.status;
    result.push_back(
        {.type = std::string(update.type),
         .status = update.status,
         .observed_generation = observed_generation,
         .reason = std::string(update.reason),
         .message = Cut(update.message),
         .last_transition_time = same_status ? before->last_transition_time : std::string(now)});
  }
  return result;
}

const Condition* FindCondition(const std::vector<Condition>& conditions, std::string_view type) {
  const auto found =
      std::find_if(conditions.begin(), conditions.end(),
                   [&](const Condition& condition) { return condition.type == type; });
  return found == conditions.end() ? nullptr : &*found;
}

}  // namespace podcache::control
