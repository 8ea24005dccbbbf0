// The control plane's errors: absl::Status and absl::StatusOr, and the one place where Abseil's
// string_view, which in Debian is a type of its own, meets the standard one.
//
// Codes and what they mean to us: NotFound, AlreadyExists, Aborted (a write conflict), OutOfRange
// (gone, list again), Unavailable (try again), FailedPrecondition (the world must change first),
// InvalidArgument (the caller must change), ResourceExhausted (a limit of ours or a quota),
// PermissionDenied, Unauthenticated, DeadlineExceeded, Internal.
//
// Threads: values. Control plane only: never included by memory, store, protocol, command or net.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace podcache {

inline std::string_view ToStd(absl::string_view text) { return {text.data(), text.size()}; }
inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

// The message, without the code. Views the status.
inline std::string_view MessageOf(const absl::Status& status) { return ToStd(status.message()); }
// "NOT_FOUND: message".
std::string ToString(const absl::Status& status);

absl::Status MakeStatus(absl::StatusCode code, std::string_view message);

absl::Status NotFound(std::string_view message);
absl::Status AlreadyExists(std::string_view message);
absl::Status InvalidArgument(std::string_view message);
absl::Status FailedPrecondition(std::string_view message);
absl::Status Unavailable(std::string_view message);
absl::Status Internal(std::string_view message);

// The same code and payloads with "context: " before the message; OK stays OK. Each layer that
// passes an error on adds what it was doing.
absl::Status WithContext(const absl::Status& status, std::string_view context);

}  // namespace podcache

// Returns from the enclosing function if `expression`, an absl::Status, is not OK.
#define PODCACHE_RETURN_IF_ERROR(expression)                                    \
  do {                                                                          \
    if (absl::Status podcache_status_ = (expression); !podcache_status_.ok()) { \
      return podcache_status_;                                                  \
    }                                                                           \
  } while (false)

#define PODCACHE_STATUS_CONCAT_INNER_(a, b) a##b
#define PODCACHE_STATUS_CONCAT_(a, b) PODCACHE_STATUS_CONCAT_INNER_(a, b)

// PODCACHE_ASSIGN_OR_RETURN(auto value, Compute()): the value, or returns the error. The first
// argument is a declaration, which cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define PODCACHE_ASSIGN_OR_RETURN(declaration, expression)                                      \
  PODCACHE_ASSIGN_OR_RETURN_IMPL_(PODCACHE_STATUS_CONCAT_(podcache_or_, __LINE__), declaration, \
                                  expression)
#define PODCACHE_ASSIGN_OR_RETURN_IMPL_(temporary, declaration, expression) \
  auto temporary = (expression);                                            \
  if (!temporary.ok()) return temporary.status();                           \
  declaration = *std::move(temporary)
// NOLINTEND(bugprone-macro-parentheses)
