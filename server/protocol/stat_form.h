// How a listing of statistics is written: as lines of text, or as packets that answer one request.
//
// Threads: any. Ownership: a value. Source: protocol.md 4 and 6.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/output_buffer.h"
#include "server/protocol/binary_request.h"

namespace podcache::protocol {

class StatForm {
 public:
  // Lines.
  StatForm() noexcept = default;
  // Packets.
  explicit StatForm(const BinaryHead& request) noexcept : request_(request) {}

  // Null for lines.
  const BinaryHead* request() const noexcept { return request_ ? &*request_ : nullptr; }

  void Append(std::string_view name, std::uint64_t value, OutputBuffer& output) const;
  // Of `stats cachedump`. In a packet any key is told from what follows it.
  void AppendItem(std::string_view key, std::uint64_t value_bytes, std::int64_t exptime,
                  OutputBuffer& output) const;
  void AppendEnd(OutputBuffer& output) const;

 private:
  std::optional<BinaryHead> request_;
};

}  // namespace podcache::protocol
