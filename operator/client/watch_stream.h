// Cuts the body of a watch into lines, whatever pieces it arrives in, and decodes one line at a
// time.
//
// Invariant: the sequence of events depends on the bytes alone, never on how they were cut. Memory:
// one line, at most kMaxLineBytes, beyond which the watch fails. Threads: one. Views passed to a
// handler end with the call.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "common/status/status.h"
#include "operator/client/watch_event.h"

namespace podcache::kube {

class LineSplitter {
 public:
  // Far above etcd's limit of 1.5 MiB an object, escapes included.
  static constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;

  explicit LineSplitter(std::size_t max_line_bytes = kMaxLineBytes) : max_(max_line_bytes) {}

  // Calls `handle` for each complete line without its "\n" or "\r\n"; stops and returns its error
  // if it fails. ResourceExhausted when a line is too long.
  absl::Status Feed(std::string_view bytes,
                    const std::function<absl::Status(std::string_view line)>& handle);
  // Bytes of the line not ended yet.
  std::size_t pending() const { return partial_.size(); }

 private:
  absl::Status Keep(std::string_view bytes);

  const std::size_t max_;
  std::string partial_;
};

// One line of a watch. An ERROR event becomes the error that its Status object describes; DataLoss
// when the line is no event.
absl::StatusOr<WatchEvent> DecodeWatchEvent(std::string_view line);

}  // namespace podcache::kube
