// The one place that knows the replies of the binary protocol: its statuses, their texts, the
// layout of packets.
//
// Threads: any. Ownership: none; everything is written into the caller's buffer.
// Source: protocol.md 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/output_buffer.h"
#include "server/protocol/binary_request.h"
#include "server/protocol/limits.h"

namespace podcache::protocol {

enum class BinaryStatus : std::uint16_t {
  kOk = 0,
  kNotFound = 1,
  kExists = 2,
  kTooLarge = 3,
  kInvalidArguments = 4,
  kNotStored = 5,
  kNotNumeric = 6,
  kAuthFailure = 0x20,
  kUnknownCommand = 0x81,
  kOutOfMemory = 0x82,
};

// As in the text protocol: what a client meets in ordinary use is no error.
constexpr bool IsError(BinaryStatus status) noexcept {
  return status == BinaryStatus::kTooLarge || status == BinaryStatus::kInvalidArguments ||
         status >= BinaryStatus::kNotNumeric;
}

std::string_view Text(BinaryStatus status) noexcept;

// Success without a body.
void AppendBinaryOk(const BinaryHead& head, std::uint64_t cas, OutputBuffer& output);
// Any other status, with its text.
void AppendBinaryError(const BinaryHead& head, BinaryStatus status, OutputBuffer& output);
// The reply of incr and decr: eight bytes of body, no extras.
void AppendBinaryNumber(const BinaryHead& head, std::uint64_t number, std::uint64_t cas,
                        OutputBuffer& output);
void AppendBinaryVersion(const BinaryHead& head, std::string_view version, OutputBuffer& output);

// A retrieval that found nothing: with the key, if it asked for that, instead of the text.
void AppendBinaryMiss(const BinaryHead& head, std::string_view key, OutputBuffer& output);
// Header, extras and key of a retrieval that found something.
inline constexpr std::size_t kMaxBinaryItemHeadBytes = kBinaryHeaderBytes + 4 + kMaxKeyBytes;
// Writes them to `at`, where kMaxBinaryItemHeadBytes must be free; returns the end, where
// `value_bytes` of value follow. Without its key, unless the head asks for it.
char* WriteBinaryItemHead(char* at, const BinaryHead& head, std::string_view key,
                          std::uint32_t client_flags, std::uint64_t value_bytes,
                          std::uint64_t cas) noexcept;

// One line of statistics.
void AppendBinaryStat(const BinaryHead& head, std::string_view name, std::string_view value,
                      OutputBuffer& output);
// The same but for its value, of which so many bytes follow.
void AppendBinaryStatHead(const BinaryHead& head, std::string_view name, std::uint64_t value_bytes,
                          OutputBuffer& output);
// Lines of the text protocol's statistics as packets: one for each, and an empty one at the end.
void AppendBinaryStats(const BinaryHead& head, std::string_view text, OutputBuffer& output);

}  // namespace podcache::protocol
