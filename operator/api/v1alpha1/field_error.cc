#include "operator/api/v1alpha1/field_error.h"

#include <cstddef>
#include <string>

namespace podcache::control {

namespace {

constexpr std::size_t kLongestDescription = 1024;
constexpr std::size_t kRoomForTheCount = 32;

}  // namespace

std::string Describe(const FieldErrors& errors) {
  std::string text;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const std::string entry = errors[i].path + ": " + errors[i].message;
    if (text.size() + entry.size() + kRoomForTheCount > kLongestDescription) {
      return text + (text.empty() ? "" : "; ") + std::to_string(errors.size() - i) + " more";
    }
    if (i > 0) text += "; ";
    text += entry;
  }
  return text;
}

}  // namespace podcache::control
