#include "server/protocol/binary_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/big_endian.h"

namespace podcache::protocol {
namespace {

struct Header {
  unsigned opcode = 0;
  unsigned key = 0;
  unsigned extras = 0;
  std::uint32_t body = 0;
  std::uint64_t cas = 0;
};

std::string Encode(const Header& header) {
  char bytes[kBinaryHeaderBytes] = {};
  bytes[0] = '\x80';
  bytes[1] = static_cast<char>(header.opcode);
  StoreBigEndian(bytes + 2, static_cast<std::uint16_t>(header.key));
  bytes[4] = static_cast<char>(header.extras);
  bytes[5] = 1;                                      // Data type and
  StoreBigEndian(bytes + 6, std::uint16_t{0xffff});  // vbucket are not looked at.
  StoreBigEndian(bytes + 8, header.body);
  bytes[12] = 'o', bytes[13] = 'p', bytes[14] = 'a', bytes[15] = 'q';
  StoreBigEndian(bytes + 16, header.cas);
  return std::string(bytes, sizeof bytes);
}

std::string Packet(unsigned opcode, const std::string& extras, const std::string& key,
                   const std::string& value = "") {
  return Encode({opcode, static_cast<unsigned>(key.size()), static_cast<unsigned>(extras.size()),
                 static_cast<std::uint32_t>(extras.size() + key.size() + value.size())}) +
         extras + key + value;
}

BinaryParseResult Parse(const std::string& input, BinaryRequest& request) {
  // A copy of exactly this size: sanitizers see a read beyond it.
  const std::vector<char> copy(input.begin(), input.end());
  const BinaryParseResult result = BinaryParser::Parse({copy.data(), copy.size()}, request);
  request.key = {};  // The copy is gone.
  return result;
}

BinaryParseResult Parse(const std::string& input) {
  BinaryRequest request;
  return Parse(input, request);
}

TEST(BinaryParser, ReadsEveryFieldOfAStorageRequest) {
  const std::string input = Encode({0x01, 3, 8, 16, 0x0123456789abcdef}) +
                            std::string("\x00\x00\x00\x07", 4) +
                            std::string("\xff\xff\xff\xfe", 4) + "keyvalue!" + "rest";
  BinaryRequest request;
  const BinaryParseResult result = BinaryParser::Parse(input, request);
  EXPECT_EQ(result.status, BinaryParseStatus::kRequest);
  EXPECT_EQ(result.consumed, 24u + 8 + 3);
  EXPECT_EQ(request.key, "key");
  EXPECT_EQ(request.value_bytes, 5u);
  EXPECT_EQ(request.client_flags, 7u);
  EXPECT_EQ(request.exptime, 0xfffffffeu);
  EXPECT_EQ(request.compare_cas, 0x0123456789abcdefu);
  EXPECT_EQ(request.head.opcode, 0x01);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(&request.head.opaque), 4), "opaq");
  EXPECT_EQ(request.head.verb, BinaryVerb::kSet);
}

TEST(BinaryParser, ReadsTheNumbersOfArithmetic) {
  BinaryRequest request;
  const std::string extras = std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8) +
                             std::string("\x80\x00\x00\x00\x00\x00\x00\x01", 8) +
                             std::string("\xff\xff\xff\xff", 4);
  EXPECT_EQ(Parse(Packet(0x16, extras, "n"), request).status, BinaryParseStatus::kRequest);
  EXPECT_EQ(request.delta, 0xffffffffffffffffu);
  EXPECT_EQ(request.initial, 0x8000000000000001u);
  EXPECT_EQ(request.exptime, kDoNotCreate);
  EXPECT_EQ(request.head.verb, BinaryVerb::kDecrement);
  EXPECT_TRUE(request.head.quiet);
}

struct Known {
  unsigned opcode;
  BinaryVerb verb;
  bool quiet;
  bool with_key;
  unsigned extras;
  bool key;
};

constexpr Known kKnown[] = {
    {0x00, BinaryVerb::kGet, false, false, 0, true},
    {0x01, BinaryVerb::kSet, false, false, 8, true},
    {0x02, BinaryVerb::kAdd, false, false, 8, true},
    {0x03, BinaryVerb::kReplace, false, false, 8, true},
    {0x04, BinaryVerb::kDelete, false, false, 0, true},
    {0x05, BinaryVerb::kIncrement, false, false, 20, true},
    {0x06, BinaryVerb::kDecrement, false, false, 20, true},
    {0x07, BinaryVerb::kQuit, false, false, 0, false},
    {0x08, BinaryVerb::kFlush, false, false, 0, false},
    {0x08, BinaryVerb::kFlush, false, false, 4, false},
    {0x09, BinaryVerb::kGet, true, false, 0, true},
    {0x0a, BinaryVerb::kNoop, false, false, 0, false},
    {0x0b, BinaryVerb::kVersion, false, false, 0, false},
    {0x0c, BinaryVerb::kGet, false, true, 0, true},
    {0x0d, BinaryVerb::kGet, true, true, 0, true},
    {0x0e, BinaryVerb::kAppend, false, false, 0, true},
    {0x0f, BinaryVerb::kPrepend, false, false, 0, true},
    {0x10, BinaryVerb::kStat, false, false, 0, false},
    {0x10, BinaryVerb::kStat, false, false, 0, true},
    {0x11, BinaryVerb::kSet, true, false, 8, true},
    {0x12, BinaryVerb::kAdd, true, false, 8, true},
    {0x13, BinaryVerb::kReplace, true, false, 8, true},
    {0x14, BinaryVerb::kDelete, true, false, 0, true},
    {0x15, BinaryVerb::kIncrement, true, false, 20, true},
    {0x16, BinaryVerb::kDecrement, true, false, 20, true},
    {0x17, BinaryVerb::kQuit, true, false, 0, false},
    {0x18, BinaryVerb::kFlush, true, false, 0, false},
    {0x18, BinaryVerb::kFlush, true, false, 4, false},
    {0x19, BinaryVerb::kAppend, true, false, 0, true},
    {0x1a, BinaryVerb::kPrepend, true, false, 0, true},
    {0x1c, BinaryVerb::kTouch, false, false, 4, true},
    {0x1d, BinaryVerb::kGetAndTouch, false, false, 4, true},
    {0x1e, BinaryVerb::kGetAndTouch, true, false, 4, true},
    {0x23, BinaryVerb::kGetAndTouch, false, true, 4, true},
    {0x24, BinaryVerb::kGetAndTouch, true, true, 4, true},
};

TEST(BinaryParser, KnowsEveryOpcode) {
  for (const Known& one : kKnown) {
    BinaryRequest request;
    const std::string packet =
        Packet(one.opcode, std::string(one.extras, '\0'), one.key ? "key" : "");
    const BinaryParseResult result = Parse(packet, request);
    EXPECT_EQ(result.status, BinaryParseStatus::kRequest) << one.opcode;
    EXPECT_EQ(result.consumed, packet.size()) << one.opcode;
    EXPECT_EQ(request.head.verb, one.verb) << one.opcode;
    EXPECT_EQ(request.head.quiet, one.quiet) << one.opcode;
    EXPECT_EQ(request.head.with_key, one.with_key) << one.opcode;
    EXPECT_EQ(request.value_bytes, 0u);
  }
}

// Of all shapes with short extras, key and value only those of the table are taken.
TEST(BinaryParser, RefusesEveryOtherShape) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    bool known = false;
    for (const Known& one : kKnown) known = known || one.opcode == opcode;
    for (unsigned extras = 0; extras <= 24; ++extras) {
      for (const bool key : {false, true}) {
        for (const bool value : {false, true}) {
          bool legal = false;
          for (const Known& one : kKnown) {
            legal = legal || (one.opcode == opcode && one.extras == extras && one.key == key &&
                              (!value || IsStorage(one.verb)));
          }
          const BinaryParseResult result =
              Parse(Packet(opcode, std::string(extras, '\0'), key ? "k" : "", value ? "v" : ""));
          if (!known) {
            EXPECT_EQ(result.status, BinaryParseStatus::kError) << opcode;
            EXPECT_EQ(result.error, BinaryStatus::kUnknownCommand);
            EXPECT_EQ(result.consumed, kBinaryHeaderBytes);
            EXPECT_EQ(result.skip_bytes, extras + (key ? 1 : 0) + (value ? 1 : 0));
          } else {
            EXPECT_EQ(result.status,
                      legal ? BinaryParseStatus::kRequest : BinaryParseStatus::kFatal)
                << opcode << " with " << extras << " bytes of extras";
            if (!legal) {
              EXPECT_EQ(result.error, BinaryStatus::kInvalidArguments);
            }
          }
        }
      }
    }
  }
}

TEST(BinaryParser, LengthsAtTheirEdges) {
  EXPECT_EQ(Parse(Packet(0x00, "", std::string(250, 'k'))).status, BinaryParseStatus::kRequest);
  EXPECT_EQ(Parse(Packet(0x00, "", std::string(251, 'k'))).error, BinaryStatus::kInvalidArguments);
  // Decided by the header, without the bytes it announces.
  const auto expect_fatal = [](const Header& header, BinaryStatus error) {
    const BinaryParseResult result = Parse(Encode(header));
    EXPECT_EQ(result.status, BinaryParseStatus::kFatal);
    EXPECT_EQ(result.error, error);
  };
  expect_fatal({0x00, 65535, 0, 65535}, BinaryStatus::kInvalidArguments);
  expect_fatal({0x00, 65535, 0, 65534}, BinaryStatus::kUnknownCommand);
  expect_fatal({0x00, 1, 0, 0}, BinaryStatus::kUnknownCommand);
  expect_fatal({0x01, 1, 8, 8}, BinaryStatus::kUnknownCommand);
  expect_fatal({0x01, 65535, 255, 65789}, BinaryStatus::kUnknownCommand);
  expect_fatal({0x00, 251, 0, 250}, BinaryStatus::kUnknownCommand);
  expect_fatal({0x01, 1, 8, (1U << 30) + 1}, BinaryStatus::kInvalidArguments);
  expect_fatal({0x01, 1, 8, 1U << 31}, BinaryStatus::kInvalidArguments);
  expect_fatal({0x01, 1, 8, 0xffffffff}, BinaryStatus::kInvalidArguments);
  expect_fatal({0x30, 0, 0, (1U << 30) + 1}, BinaryStatus::kInvalidArguments);
  expect_fatal({0x12, 1, 8, 0xffffffe8}, BinaryStatus::kInvalidArguments);

  BinaryRequest request;
  EXPECT_EQ(Parse(Encode({0x01, 1, 8, 1U << 30}) + std::string(9, '\0'), request).status,
            BinaryParseStatus::kRequest);
  EXPECT_EQ(request.value_bytes, (1U << 30) - 9u);
  EXPECT_EQ(Parse(Encode({0x30, 0, 0, 1U << 30})).skip_bytes, 1U << 30);
  EXPECT_EQ(Parse(Encode({0x01, 1, 8, 9}) + std::string(9, '\0'), request).status,
            BinaryParseStatus::kRequest);
  EXPECT_EQ(request.value_bytes, 0u);
}

TEST(BinaryParser, APrefixAsksForMore) {
  for (const std::string& packet :
       {Packet(0x01, std::string(8, '\0'), "key", "value"), Packet(0x0a, "", ""),
        Packet(0x05, std::string(20, '\0'), std::string(250, 'k'))}) {
    BinaryRequest request;
    const BinaryParseResult whole = Parse(packet, request);
    for (std::size_t size = 0; size < whole.consumed; ++size) {
      const BinaryParseResult result = Parse(packet.substr(0, size));
      EXPECT_EQ(result.status, BinaryParseStatus::kNeedMore) << size;
      EXPECT_EQ(result.consumed, 0u);
    }
    for (std::size_t size = whole.consumed; size <= packet.size(); ++size) {
      EXPECT_EQ(Parse(packet.substr(0, size)).consumed, whole.consumed) << size;
    }
  }
}

TEST(BinaryParser, AnyOtherMagicCloses) {
  for (unsigned magic = 0; magic < 256; ++magic) {
    if (magic == 0x80) continue;
    EXPECT_EQ(Parse(std::string(1, static_cast<char>(magic))).status, BinaryParseStatus::kClose);
  }
}

}  // namespace
}  // namespace podcache::protocol
