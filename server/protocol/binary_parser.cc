#include "server/protocol/binary_parser.h"

#include <array>
#include <cstring>

#include "common/base/big_endian.h"
#include "server/protocol/limits.h"

namespace podcache::protocol {

namespace {

enum class Part : std::uint8_t { kNone, kMay, kMust };

// What a packet of one opcode looks like.
struct Shape {
  bool known = false;
  BinaryVerb verb = BinaryVerb::kGet;
  bool quiet = false;
  bool with_key = false;
  Part key = Part::kNone;
  Part extras = Part::kNone;
  std::uint8_t extras_bytes = 0;
  bool value = false;
};

constexpr std::size_t kOpcodes = 0x25;
using Shapes = std::array<Shape, kOpcodes>;

constexpr std::uint8_t kStorageExtras = 8;      // Flags, expiry.
constexpr std::uint8_t kArithmeticExtras = 20;  // Delta, initial value, expiry.
constexpr std::uint8_t kExptimeExtras = 4;

constexpr Shape Retrieval(BinaryVerb verb, bool quiet, bool with_key) noexcept {
  const bool touches = verb != BinaryVerb::kGet;
  return {.known = true,
          .verb = verb,
          .quiet = quiet,
          .with_key = with_key,
          .key = Part::kMust,
          .extras = touches ? Part::kMust : Part::kNone,
          .extras_bytes = touches ? kExptimeExtras : std::uint8_t{0}};
}

constexpr Shape Storage(BinaryVerb verb, bool quiet) noexcept {
  const bool whole = verb < BinaryVerb::kAppend;
  return {.known = true,
          .verb = verb,
          .quiet = quiet,
          .key = Part::kMust,
          .extras = whole ? Part::kMust : Part::kNone,
          .extras_bytes = whole ? kStorageExtras : std::uint8_t{0},
          .value = true};
}

constexpr Shape OneKey(BinaryVerb verb, std::uint8_t extras_bytes, bool quiet) noexcept {
  return {.known = true,
          .verb = verb,
          .quiet = quiet,
          .key = Part::kMust,
          .extras = extras_bytes > 0 ? Part::kMust : Part::kNone,
          .extras_bytes = extras_bytes};
}

constexpr Shape Flush(bool quiet) noexcept {
  return {.known = true,
          .verb = BinaryVerb::kFlush,
          .quiet = quiet,
          .extras = Part::kMay,
          .extras_bytes = kExptimeExtras};
}

constexpr Shape Bare(BinaryVerb verb, bool quiet = false) noexcept {
  return {.known = true, .verb = verb, .quiet = quiet};
}

constexpr Shapes MakeShapes() noexcept {
  Shapes shapes;
  shapes[0x00] = Retrieval(BinaryVerb::kGet, false, false);
  shapes[0x01] = Storage(BinaryVerb::kSet, false);
  shapes[0x02] = Storage(BinaryVerb::kAdd, false);
  shapes[0x03] = Storage(BinaryVerb::kReplace, false);
  shapes[0x04] = OneKey(BinaryVerb::kDelete, 0, false);
  shapes[0x05] = OneKey(BinaryVerb::kIncrement, kArithmeticExtras, false);
  shapes[0x06] = OneKey(BinaryVerb::kDecrement, kArithmeticExtras, false);
  shapes[0x07] = Bare(BinaryVerb::kQuit);
  shapes[0x08] = Flush(false);
  shapes[0x09] = Retrieval(BinaryVerb::kGet, true, false);
  shapes[0x0a] = Bare(BinaryVerb::kNoop);
  shapes[0x0b] = Bare(BinaryVerb::kVersion);
  shapes[0x0c] = Retrieval(BinaryVerb::kGet, false, true);
  shapes[0x0d] = Retrieval(BinaryVerb::kGet, true, true);
  shapes[0x0e] = Storage(BinaryVerb::kAppend, false);
  shapes[0x0f] = Storage(BinaryVerb::kPrepend, false);
  shapes[0x10] = {.known = true, .verb = BinaryVerb::kStat, .key = Part::kMay};
  shapes[0x11] = Storage(BinaryVerb::kSet, true);
  shapes[0x12] = Storage(BinaryVerb::kAdd, true);
  shapes[0x13] = Storage(BinaryVerb::kReplace, true);
  shapes[0x14] = OneKey(BinaryVerb::kDelete, 0, true);
  shapes[0x15] = OneKey(BinaryVerb::kIncrement, kArithmeticExtras, true);
  shapes[0x16] = OneKey(BinaryVerb::kDecrement, kArithmeticExtras, true);
  shapes[0x17] = Bare(BinaryVerb::kQuit, true);
  shapes[0x18] = Flush(true);
  shapes[0x19] = Storage(BinaryVerb::kAppend, true);
  shapes[0x1a] = Storage(BinaryVerb::kPrepend, true);
  shapes[0x1c] = OneKey(BinaryVerb::kTouch, kExptimeExtras, false);
  shapes[0x1d] = Retrieval(BinaryVerb::kGetAndTouch, false, false);
  shapes[0x1e] = Retrieval(BinaryVerb::kGetAndTouch, true, false);
  shapes[0x23] = Retrieval(BinaryVerb::kGetAndTouch, false, true);
  shapes[0x24] = Retrieval(BinaryVerb::kGetAndTouch, true, true);
  return shapes;
}

constexpr Shapes kShapes = MakeShapes();

struct Lengths {
  std::size_t key;
  std::size_t extras;
  std::uint64_t body;
};

constexpr bool Allows(Part part, std::size_t bytes) noexcept {
  return part == Part::kMay || (part == Part::kMust) == (bytes > 0);
}

bool Fits(const Shape& shape, const Lengths& lengths) noexcept {
  return Allows(shape.key, lengths.key) && Allows(shape.extras, lengths.extras) &&
         (lengths.extras == 0 || lengths.extras == shape.extras_bytes) &&
         (shape.value || lengths.body == lengths.key + lengths.extras);
}

void ReadExtras(const char* extras, BinaryRequest& request) noexcept {
  switch (request.head.verb) {
    case BinaryVerb::kSet:
    case BinaryVerb::kAdd:
    case BinaryVerb::kReplace:
      request.client_flags = LoadBigEndian<std::uint32_t>(extras);
      request.exptime = LoadBigEndian<std::uint32_t>(extras + 4);
      break;
    case BinaryVerb::kIncrement:
    case BinaryVerb::kDecrement:
      request.delta = LoadBigEndian<std::uint64_t>(extras);
      request.initial = LoadBigEndian<std::uint64_t>(extras + 8);
      request.exptime = LoadBigEndian<std::uint32_t>(extras + 16);
      break;
    default:
      request.exptime = LoadBigEndian<std::uint32_t>(extras);
      break;
  }
}

BinaryParseResult Fatal(BinaryStatus error) noexcept {
  return {BinaryParseStatus::kFatal, error, kBinaryHeaderBytes, 0};
}

}  // namespace

BinaryParseResult BinaryParser::Parse(std::string_view input, BinaryRequest& request) noexcept {
  if (input.empty()) return {};
  if (static_cast<unsigned char>(input[0]) != kBinaryRequestMagic)
    return {.status = BinaryParseStatus::kClose};
  if (input.size() < kBinaryHeaderBytes) return {};
  // magic 1 | opcode 1 | key bytes 2 | extras bytes 1 | data type 1 | vbucket 2 | body bytes 4 |
  // opaque 4 | cas 8. Data type and vbucket mean nothing here, as in memcached.
  const char* const header = input.data();
  const Lengths lengths{LoadBigEndian<std::uint16_t>(header + 2),
                        static_cast<unsigned char>(header[4]),
                        LoadBigEndian<std::uint32_t>(header + 8)};
  request = BinaryRequest();
  request.head.opcode = static_cast<std::uint8_t>(header[1]);
  std::memcpy(&request.head.opaque, header + 12, sizeof request.head.opaque);
  request.compare_cas = LoadBigEndian<std::uint64_t>(header + 16);

  if (lengths.key + lengths.extras > lengths.body) return Fatal(BinaryStatus::kUnknownCommand);
  if (lengths.key > kMaxKeyBytes || lengths.body > kMaxBinaryBodyBytes)
    return Fatal(BinaryStatus::kInvalidArguments);
  const Shape shape = request.head.opcode < kOpcodes ? kShapes[request.head.opcode] : Shape();
  if (!shape.known) {
    return {BinaryParseStatus::kError, BinaryStatus::kUnknownCommand, kBinaryHeaderBytes,
            lengths.body};
  }
  if (!Fits(shape, lengths)) return Fatal(BinaryStatus::kInvalidArguments);
  const std::size_t needed = kBinaryHeaderBytes + lengths.extras + lengths.key;
  if (input.size() < needed) return {};

  request.head.verb = shape.verb;
  request.head.quiet = shape.quiet;
  request.head.with_key = shape.with_key;
  if (lengths.extras > 0) ReadExtras(header + kBinaryHeaderBytes, request);
  request.key = input.substr(kBinaryHeaderBytes + lengths.extras, lengths.key);
  request.value_bytes = lengths.body - lengths.extras - lengths.key;
  return {BinaryParseStatus::kRequest, BinaryStatus::kOk, needed, 0};
}

}  // namespace podcache::protocol
