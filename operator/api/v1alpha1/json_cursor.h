// A place in a JSON document that knows its path, so that whatever is wrong there is reported by
// name.
//
// Reading never stops at the first problem: it is added to the list, the field keeps its default,
// and the rest is read. An object that was stored before a rule existed thereby still has all its
// other fields.
//
// A cursor borrows the document and the error list; both must outlive it. Not for use by several
// threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/api/v1alpha1/field_error.h"

namespace podcache::control {

class JsonCursor {
 public:
  JsonCursor(const nlohmann::json& root, FieldErrors* errors);

  // Absent members and null give an absent cursor; so does every member of what is no object
  // (reported once).
  [[nodiscard]] JsonCursor At(std::string_view key) const;

  // As At; an absent member is reported.
  [[nodiscard]] JsonCursor Require(std::string_view key) const;

  [[nodiscard]] bool present() const { return value_ != nullptr; }
  void Report(std::string message) const;

  // The value, or nothing where it is absent or (reported) of another kind or outside its limits.
  [[nodiscard]] std::optional<bool> Bool() const;
  [[nodiscard]] std::optional<std::int64_t> Integer(std::int64_t min, std::int64_t max) const;
  [[nodiscard]] std::optional<std::string> String(std::size_t max_length) const;
  [[nodiscard]] std::optional<std::uint64_t> Bytes() const;
  [[nodiscard]] std::optional<std::uint64_t> Milli() const;
  [[nodiscard]] std::optional<std::chrono::milliseconds> Duration() const;

  // Number of elements; 0 where absent or (reported) no list or too long.
  [[nodiscard]] std::size_t ListSize(std::size_t max_items) const;
  [[nodiscard]] JsonCursor Element(std::size_t index) const;

  // Calls visit(key, cursor) for each member in the order of the keys.
  template <typename Visit>
  void ForEachMember(std::size_t max_members, Visit visit) const {
    const auto keys = MemberKeys(max_members);
    for (const std::string& key : keys) visit(key, At(key));
  }

 private:
  JsonCursor(const nlohmann::json* value, std::string path, FieldErrors* errors);
  [[nodiscard]] std::vector<std::string> MemberKeys(std::size_t max_members) const;

  const nlohmann::json* value_;  // nullptr: absent
  std::string path_;
  FieldErrors* errors_;
};

}  // namespace podcache::control
