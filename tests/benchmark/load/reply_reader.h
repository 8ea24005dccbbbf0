// Takes the replies off what one connection receives, however that is cut.
//
// Two kinds: the scanner counts ends of replies and jumps over values, which costs a few
// nanoseconds a reply; the checker compares every value with what its key may have and every reply
// with what was asked.
//
// Threads: the thread of the connection.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tests/benchmark/load/batch.h"

namespace podcache::bench {

struct ReplyCounts {
  std::uint64_t replies = 0;  // Lines that end one: END, STORED, errors.
  std::uint64_t values = 0;   // Keys found.
  std::uint64_t stored = 0;
  std::uint64_t errors = 0;  // Error lines, and what the checker found wrong.

  ReplyCounts& operator+=(const ReplyCounts& other) noexcept {
    replies += other.replies;
    values += other.values;
    stored += other.stored;
    errors += other.errors;
    return *this;
  }
  bool operator==(const ReplyCounts&) const = default;
};

class ReplyReader {
 public:
  virtual ~ReplyReader() = default;
  // These requests are on their way; their replies follow all those expected before.
  virtual void Expect(const Batch& batch) = 0;
  // What has come; returns what was completed by it.
  virtual ReplyCounts Feed(std::span<const char> received) = 0;
  // The first thing that was wrong; empty if nothing was.
  virtual const std::string& complaint() const noexcept = 0;
};

std::unique_ptr<ReplyReader> NewReplyScanner();
// `items` outlives it.
std::unique_ptr<ReplyReader> NewReplyChecker(const Items& items, std::size_t value_bytes);

// The number of value bytes that "VALUE key flags bytes" announces, without its line end; 0 for
// what is no such line, as no value is announced by it.
std::size_t AnnouncedBytes(std::string_view value_line) noexcept;

}  // namespace podcache::bench
