#include "server/protocol/binary_encoders.h"

#include <cstring>

#include "common/base/big_endian.h"
#include "common/base/check.h"

namespace podcache::protocol {

namespace {

// What stands in a reply's header beyond its request's.
struct Layout {
  BinaryStatus status = BinaryStatus::kOk;
  std::size_t key_bytes = 0;
  std::size_t extras_bytes = 0;
  std::uint64_t value_bytes = 0;
  std::uint64_t cas = 0;
};

char* WriteHeader(char* at, const BinaryHead& head, const Layout& layout) noexcept {
  at = StoreBigEndian(at, std::uint8_t{kBinaryReplyMagic});
  at = StoreBigEndian(at, head.opcode);
  at = StoreBigEndian(at, static_cast<std::uint16_t>(layout.key_bytes));
  at = StoreBigEndian(at, static_cast<std::uint8_t>(layout.extras_bytes));
  at = StoreBigEndian(at, std::uint8_t{0});  // Data type: raw bytes.
  at = StoreBigEndian(at, static_cast<std::uint16_t>(layout.status));
  at = StoreBigEndian(
      at, static_cast<std::uint32_t>(layout.key_bytes + layout.extras_bytes + layout.value_bytes));
  std::memcpy(at, &head.opaque, sizeof head.opaque);
  return StoreBigEndian(at + sizeof head.opaque, layout.cas);
}

char* Put(char* at, std::string_view bytes) noexcept {
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

// A packet with key and value, without extras.
void AppendPacket(const BinaryHead& head, BinaryStatus status, std::string_view key,
                  std::string_view value, std::uint64_t cas, OutputBuffer& output) {
  const std::size_t bytes = kBinaryHeaderBytes + key.size() + value.size();
  char* at = output.Reserve(bytes);
  at = WriteHeader(
      at, head,
      {.status = status, .key_bytes = key.size(), .value_bytes = value.size(), .cas = cas});
  Put(Put(at, key), value);
  output.Commit(bytes);
}

// Takes the next line, without its end.
std::string_view TakeLine(std::string_view& text) noexcept {
  const std::size_t end = text.find("\r\n");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
  return line;
}

std::string_view TakeWord(std::string_view& line) noexcept {
  const std::size_t space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  line.remove_prefix(space == std::string_view::npos ? line.size() : space + 1);
  return word;
}

}  // namespace

std::string_view Text(BinaryStatus status) noexcept {
  switch (status) {
    case BinaryStatus::kOk:
      break;
    case BinaryStatus::kNotFound:
      return "Not found";
    case BinaryStatus::kExists:
      return "Data exists for key.";
    case BinaryStatus::kTooLarge:
      return "Too large.";
    case BinaryStatus::kInvalidArguments:
      return "Invalid arguments";
    case BinaryStatus::kNotStored:
      return "Not stored.";
    case BinaryStatus::kNotNumeric:
      return "Non-numeric server-side value for incr or decr";
    case BinaryStatus::kAuthFailure:
      return "Auth failure.";
    case BinaryStatus::kUnknownCommand:
      return "Unknown command";
    case BinaryStatus::kOutOfMemory:
      return "Out of memory";
  }
  return {};
}

void AppendBinaryOk(const BinaryHead& head, std::uint64_t cas, OutputBuffer& output) {
  AppendPacket(head, BinaryStatus::kOk, {}, {}, cas, output);
}

void AppendBinaryError(const BinaryHead& head, BinaryStatus status, OutputBuffer& output) {
  AppendPacket(head, status, {}, Text(status), 0, output);
}

void AppendBinaryNumber(const BinaryHead& head, std::uint64_t number, std::uint64_t cas,
                        OutputBuffer& output) {
  char value[sizeof number];
  StoreBigEndian(value, number);
  AppendPacket(head, BinaryStatus::kOk, {}, {value, sizeof value}, cas, output);
}

void AppendBinaryVersion(const BinaryHead& head, std::string_view version, OutputBuffer& output) {
  AppendPacket(head, BinaryStatus::kOk, {}, version, 0, output);
}

void AppendBinaryMiss(const BinaryHead& head, std::string_view key, OutputBuffer& output) {
  if (!head.with_key) return AppendBinaryError(head, BinaryStatus::kNotFound, output);
  AppendPacket(head, BinaryStatus::kNotFound, key, {}, 0, output);
}

char* WriteBinaryItemHead(char* at, const BinaryHead& head, std::string_view key,
                          std::uint32_t client_flags, std::uint64_t value_bytes,
                          std::uint64_t cas) noexcept {
  PODCACHE_DCHECK(key.size() <= kMaxKeyBytes && value_bytes <= kMaxBinaryBodyBytes);
  if (!head.with_key) key = {};
  at = WriteHeader(at, head,
                   {.key_bytes = key.size(),
                    .extras_bytes = sizeof client_flags,
                    .value_bytes = value_bytes,
                    .cas = cas});
  return Put(StoreBigEndian(at, client_flags), key);
}

void AppendBinaryStat(const BinaryHead& head, std::string_view name, std::string_view value,
                      OutputBuffer& output) {
  AppendPacket(head, BinaryStatus::kOk, name, value, 0, output);
}

void AppendBinaryStatHead(const BinaryHead& head, std::string_view name, std::uint64_t value_bytes,
                          OutputBuffer& output) {
  const std::size_t bytes = kBinaryHeaderBytes + name.size();
  char* const at = output.Reserve(bytes);
  Put(WriteHeader(at, head, {.key_bytes = name.size(), .value_bytes = value_bytes}), name);
  output.Commit(bytes);
}

void AppendBinaryStats(const BinaryHead& head, std::string_view text, OutputBuffer& output) {
  while (!text.empty()) {
    std::string_view line = TakeLine(text);
    TakeWord(line);  // STAT
    const std::string_view name = TakeWord(line);
    AppendBinaryStat(head, name, line, output);
  }
  AppendBinaryOk(head, 0, output);
}

}  // namespace podcache::protocol
