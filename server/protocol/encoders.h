// The one place that knows reply texts of the text protocol.
//
// Threads: any. Ownership: none; everything is written into the caller's buffer.
// Source: protocol.md 2, 3, 8 and 10. Meta answers with return flags are in meta_encoder.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/output_buffer.h"
#include "server/protocol/limits.h"

namespace podcache::protocol {

enum class Reply : std::uint8_t {
  kOk,
  kStored,
  kNotStored,
  kExists,
  kNotFound,
  kDeleted,
  kTouched,
  kReset,
  kEnd,
  kMetaMiss,
  kMetaNoop,
  kError,
  kBadFormat,
  kBadDataChunk,
  kBadDelta,
  kBadExptime,
  kNotNumeric,
  kTooLarge,
  kOutOfMemory,
  kFlushNotAllowed,
  kShutdownNotEnabled,
  kBadShutdownMode,
  kMemlimitTooSmall,
  kMemlimitInBytes,
  kMemlimitOutOfBounds,
  kStatsDetailNotAllowed,
  kStatsDetailUsage,
  kStatsCachedumpNotAllowed,
  kUnauthenticated,
  kAuthFailure,
  kBadAuthToken,
  kBadTermination,
  kAuthTooLong,
  kWatchNotAllowed,
  kWatchPipelined,
  kTooManyWatchers,
  kTooLargeForDatagram,
  kMetaInvalidFlag,
  kMetaDuplicateFlag,
  kMetaInvalidOrDuplicateFlag,
  kMetaTooManyFlags,
  kMetaBadToken,
  kMetaBadKey,
  kMetaBadDelta,
  kMetaBadInitial,
  kMetaBadSetMode,
  kMetaBadArithmeticMode,
  kMetaOpaqueTooLong,
  kStatsBadLine,
  kBadSlabId,
  kMetadumpNotAllowed,
  kMgdumpNotAllowed,
  kMetadumpPipelined,
  kMgdumpPipelined,
  kCrawlerDisabled,
  kCrawlerNotStarted,
  kCrawlerSleepTooLong,
  kBadClass,
  kBadClassPair,
  kSameClass,
  kNoSparePage,
  kReassignDisabled,
  kBadAutomoveWindow,
  kLruPercentsTooHigh,
  kLruFactorsTooLow,
  kTlsNotEnabled,
  kCount,
};

// From here on the reply tells of an error.
constexpr bool IsError(Reply reply) noexcept { return reply >= Reply::kError; }

// The whole line, with its end.
std::string_view Text(Reply reply) noexcept;
inline void AppendReply(Reply reply, OutputBuffer& output) { output.Append(Text(reply)); }

inline constexpr std::string_view kLineEnd = "\r\n";
inline constexpr std::string_view kEndLine = "END\r\n";

// "VALUE " key " " flags " " length " " unique, and the line end.
inline constexpr std::size_t kMaxValueHeaderBytes = 6 + kMaxKeyBytes + 1 + 10 + 1 + 20 + 1 + 20 + 2;
// Writes the first line of a found item to `at`, where kMaxValueHeaderBytes must be free; returns
// its end. `cas` may be null: then the line has no unique.
char* WriteValueHeader(char* at, std::string_view key, std::uint32_t client_flags,
                       std::uint64_t value_bytes, const std::uint64_t* cas) noexcept;

// A number as replies and stored values show it.
class NumberText {
 public:
  explicit NumberText(std::uint64_t number) noexcept;
  std::string_view text() const noexcept { return {digits_, size_}; }

 private:
  char digits_[20];
  std::size_t size_;
};

// A number on a line of its own: the reply of incr and decr.
void AppendNumberLine(std::uint64_t number, OutputBuffer& output);
// "VERSION " version.
void AppendVersionLine(std::string_view version, OutputBuffer& output);
// "STAT " name " " value.
void AppendStat(std::string_view name, std::string_view value, OutputBuffer& output);
void AppendStat(std::string_view name, std::uint64_t value, OutputBuffer& output);

}  // namespace podcache::protocol
