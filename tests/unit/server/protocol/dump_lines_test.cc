#include "server/protocol/dump_lines.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace podcache::protocol {
namespace {

template <class Append>
std::string Written(Append&& append) {
  OutputBuffer output;
  append(output);
  std::string text;
  while (!output.empty()) {
    iovec piece{};
    output.FillIovec(&piece, 1);
    text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    output.Consume(piece.iov_len);
  }
  return text;
}

std::string Mgdump(std::string_view key) {
  return Written([&](OutputBuffer& output) { AppendMgdumpLine(key, output); });
}

// Encodings by RFC 4648, section 4.
TEST(DumpLinesTest, MgdumpEncodesWhatTheTextProtocolCannotCarry) {
  EXPECT_EQ(Mgdump("key"), "mg key\r\n");
  EXPECT_EQ(Mgdump("\xc3\xa9\"%"), "mg \xc3\xa9\"%\r\n");
  EXPECT_EQ(Mgdump("\x01"), "mg AQ== b\r\n");
  EXPECT_EQ(Mgdump("\x01\x02"), "mg AQI= b\r\n");
  EXPECT_EQ(Mgdump("\x01\x02\x03"), "mg AQID b\r\n");
  EXPECT_EQ(Mgdump("\xff\xfe\x01"), "mg //4B b\r\n");
  EXPECT_EQ(Mgdump("\x7f"), "mg fw== b\r\n");
  EXPECT_EQ(Mgdump("a b"), "mg YSBi b\r\n");
  EXPECT_EQ(Mgdump(std::string(1, '\0')), "mg AA== b\r\n");
}

TEST(DumpLinesTest, LongestLines) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::string key(250, '\x80');
  MetadumpLine line;
  line.key = key;
  line.exptime = std::numeric_limits<std::int64_t>::min();
  line.last_access = std::numeric_limits<std::int64_t>::min();
  line.cas = line.size = kMost;
  line.client_flags = std::numeric_limits<std::uint32_t>::max();
  std::string encoded;
  for (int i = 0; i < 250; ++i) encoded += "%80";
  EXPECT_EQ(Written([&](OutputBuffer& output) { AppendMetadumpLine(line, output); }),
            "key=" + encoded +
                " exp=-9223372036854775808 la=-9223372036854775808 cas=18446744073709551615 "
                "fetch=no cls=1 size=18446744073709551615 flags=4294967295 \n");
  EXPECT_EQ(Written([&](OutputBuffer& output) { AppendCachedumpLine(key, kMost, -1, output); }),
            "ITEM " + key + " [18446744073709551615 b; -1 s]\r\n");
  EXPECT_EQ(Written([&](OutputBuffer& output) {
              AppendPrefixLine(key, kMost, kMost, kMost, kMost, output);
            }),
            "PREFIX " + key +
                " get 18446744073709551615 hit 18446744073709551615 set 18446744073709551615 del "
                "18446744073709551615\r\n");
}

}  // namespace
}  // namespace podcache::protocol
