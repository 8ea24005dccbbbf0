// What is wrong with an object, field by field: a path as people write it (spec.memory.size) and a
// sentence that says what to change. Pure values.
#pragma once

#include <string>
#include <vector>

namespace podcache::control {

struct FieldError {
  std::string path;
  std::string message;

  bool operator==(const FieldError&) const = default;
};

using FieldErrors = std::vector<FieldError>;

// One line for a condition's message: "spec.memory.size: must be …; spec.threads: …". At most 1,024
// bytes, the rest is counted.
std::string Describe(const FieldErrors& errors);

}  // namespace podcache::control
