#include "server/protocol/encoders.h"

#include <gtest/gtest.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>

namespace podcache::protocol {
namespace {

std::string Contents(const OutputBuffer& output) {
  iovec piece{};
  if (output.FillIovec(&piece, 1) == 0) return {};
  return {static_cast<const char*>(piece.iov_base), piece.iov_len};
}

TEST(EncodersTest, EveryReplyIsOneLine) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(Reply::kCount); ++i) {
    const std::string_view text = Text(static_cast<Reply>(i));
    ASSERT_GT(text.size(), 2U);
    EXPECT_EQ(text.find("\r\n"), text.size() - 2) << text;
  }
}

// The texts of protocol.md 2, 8 and 10.
TEST(EncodersTest, TextsAreTheProtocols) {
  EXPECT_EQ(Text(Reply::kStored), "STORED\r\n");
  EXPECT_EQ(Text(Reply::kTouched), "TOUCHED\r\n");
  EXPECT_EQ(Text(Reply::kReset), "RESET\r\n");
  EXPECT_EQ(Text(Reply::kError), "ERROR\r\n");
  EXPECT_EQ(Text(Reply::kBadFormat), "CLIENT_ERROR bad command line format\r\n");
  EXPECT_EQ(Text(Reply::kBadDataChunk), "CLIENT_ERROR bad data chunk\r\n");
  EXPECT_EQ(Text(Reply::kBadDelta), "CLIENT_ERROR invalid numeric delta argument\r\n");
  EXPECT_EQ(Text(Reply::kBadExptime), "CLIENT_ERROR invalid exptime argument\r\n");
  EXPECT_EQ(Text(Reply::kNotNumeric),
            "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
  EXPECT_EQ(Text(Reply::kTooLarge), "SERVER_ERROR object too large for cache\r\n");
  EXPECT_EQ(Text(Reply::kOutOfMemory), "SERVER_ERROR out of memory storing object\r\n");
  EXPECT_EQ(Text(Reply::kShutdownNotEnabled), "SERVER_ERROR: shutdown not enabled\r\n");
  EXPECT_EQ(Text(Reply::kMemlimitTooSmall),
            "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n");
  EXPECT_EQ(Text(Reply::kStatsCachedumpNotAllowed), "CLIENT_ERROR stats cachedump not allowed\r\n");
  EXPECT_EQ(Text(Reply::kReassignDisabled), "CLIENT_ERROR slab reassignment disabled\r\n");
  EXPECT_EQ(Text(Reply::kTlsNotEnabled), "Error TLS not enabled\r\n");
}

TEST(EncodersTest, ValueHeader) {
  std::array<char, kMaxValueHeaderBytes> room;
  char* end = WriteValueHeader(room.data(), "k", 7, 0, nullptr);
  EXPECT_EQ(std::string(room.data(), end), "VALUE k 7 0\r\n");
  const std::uint64_t cas = 35;
  end = WriteValueHeader(room.data(), "key", 0, 5, &cas);
  EXPECT_EQ(std::string(room.data(), end), "VALUE key 0 5 35\r\n");
}

TEST(EncodersTest, LongestValueHeaderFits) {
  std::array<char, kMaxValueHeaderBytes> room;
  const std::string key(kMaxKeyBytes, 'k');
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const char* const end =
      WriteValueHeader(room.data(), key, std::numeric_limits<std::uint32_t>::max(), most, &most);
  EXPECT_EQ(static_cast<std::size_t>(end - room.data()), kMaxValueHeaderBytes);
}

TEST(EncodersTest, LinesWithNumbers) {
  OutputBuffer output;
  AppendNumberLine(0, output);
  AppendNumberLine(18446744073709551615U, output);
  AppendStat("threads", 4, output);
  AppendStat("version", "1.2.3", output);
  AppendVersionLine("1.2.3", output);
  EXPECT_EQ(
      Contents(output),
      "0\r\n18446744073709551615\r\nSTAT threads 4\r\nSTAT version 1.2.3\r\nVERSION 1.2.3\r\n");
}

}  // namespace
}  // namespace podcache::protocol
