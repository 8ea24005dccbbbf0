#include "server/protocol/binary_encoders.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace podcache::protocol {
namespace {

std::string Take(OutputBuffer& output) {
  std::string bytes;
  iovec pieces[8];
  while (!output.empty()) {
    const int count = output.FillIovec(pieces, 8);
    std::size_t taken = 0;
    for (int i = 0; i < count; ++i) {
      bytes.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
      taken += pieces[i].iov_len;
    }
    output.Consume(taken);
  }
  return bytes;
}

BinaryHead Head(std::uint8_t opcode, bool with_key = false) {
  BinaryHead head;
  head.opcode = opcode;
  head.opaque = 0;
  std::memcpy(&head.opaque, "opaq", 4);
  head.with_key = with_key;
  return head;
}

// The parts of a packet with this status and these lengths (protocol.md 4).
std::string Header(std::string_view opcode, std::string_view key, std::string_view extras,
                   std::string_view status, std::string_view body, std::string_view cas) {
  return std::string("\x81").append(opcode).append(key).append(extras).append(1, '\0').append(
             status) +
         std::string(body) + "opaq" + std::string(cas);
}

using namespace std::string_view_literals;
constexpr std::string_view kNoCas = "\0\0\0\0\0\0\0\0"sv;

TEST(BinaryEncoders, PacketsByteForByte) {
  OutputBuffer output;
  AppendBinaryOk(Head(0x01), 0x0102030405060708, output);
  EXPECT_EQ(Take(output), Header("\x01"sv, "\0\0"sv, "\0"sv, "\0\0"sv, "\0\0\0\0"sv,
                                 "\x01\x02\x03\x04\x05\x06\x07\x08"sv));
  AppendBinaryError(Head(0xff), BinaryStatus::kOutOfMemory, output);
  EXPECT_EQ(Take(output), Header("\xff"sv, "\0\0"sv, "\0"sv, "\0\x82"sv, "\0\0\0\x0d"sv, kNoCas) +
                              "Out of memory");
  AppendBinaryNumber(Head(0x05), 0x1122334455667788, 9, output);
  EXPECT_EQ(Take(output),
            Header("\x05"sv, "\0\0"sv, "\0"sv, "\0\0"sv, "\0\0\0\x08"sv, "\0\0\0\0\0\0\0\x09"sv) +
                "\x11\x22\x33\x44\x55\x66\x77\x88");
  AppendBinaryVersion(Head(0x0b), "1.6.45", output);
  EXPECT_EQ(Take(output),
            Header("\x0b"sv, "\0\0"sv, "\0"sv, "\0\0"sv, "\0\0\0\x06"sv, kNoCas) + "1.6.45");
  AppendBinaryMiss(Head(0x00), "key", output);
  EXPECT_EQ(Take(output),
            Header("\0"sv, "\0\0"sv, "\0"sv, "\0\x01"sv, "\0\0\0\x09"sv, kNoCas) + "Not found");
  AppendBinaryMiss(Head(0x0c, true), "key", output);
  EXPECT_EQ(Take(output),
            Header("\x0c"sv, "\0\x03"sv, "\0"sv, "\0\x01"sv, "\0\0\0\x03"sv, kNoCas) + "key");
}

TEST(BinaryEncoders, HeadOfAnItem) {
  char bytes[kMaxBinaryItemHeadBytes];
  const char* end = WriteBinaryItemHead(bytes, Head(0x00), "key", 0xdeadbeef, 5, 7);
  EXPECT_EQ(std::string(bytes, static_cast<std::size_t>(end - bytes)),
            Header("\0"sv, "\0\0"sv, "\x04"sv, "\0\0"sv, "\0\0\0\x09"sv, "\0\0\0\0\0\0\0\x07"sv) +
                "\xde\xad\xbe\xef");
  end = WriteBinaryItemHead(bytes, Head(0x0d, true), std::string(250, 'k'), 1, 1 << 20, 7);
  EXPECT_EQ(end, bytes + sizeof bytes);
  EXPECT_EQ(
      std::string(bytes, kBinaryHeaderBytes + 4),
      Header("\x0d"sv, "\0\xfa"sv, "\x04"sv, "\0\0"sv, "\0\x10\0\xfe"sv, "\0\0\0\0\0\0\0\x07"sv) +
          std::string("\0\0\0\x01", 4));
}

TEST(BinaryEncoders, TextsOfAllStatuses) {
  EXPECT_EQ(Text(BinaryStatus::kNotFound), "Not found");
  EXPECT_EQ(Text(BinaryStatus::kExists), "Data exists for key.");
  EXPECT_EQ(Text(BinaryStatus::kTooLarge), "Too large.");
  EXPECT_EQ(Text(BinaryStatus::kInvalidArguments), "Invalid arguments");
  EXPECT_EQ(Text(BinaryStatus::kNotStored), "Not stored.");
  EXPECT_EQ(Text(BinaryStatus::kNotNumeric), "Non-numeric server-side value for incr or decr");
  EXPECT_EQ(Text(BinaryStatus::kAuthFailure), "Auth failure.");
  EXPECT_EQ(Text(BinaryStatus::kUnknownCommand), "Unknown command");
  EXPECT_EQ(Text(BinaryStatus::kOutOfMemory), "Out of memory");
}

TEST(BinaryEncoders, StatisticsFromText) {
  const auto packets = [](std::string_view text) {
    OutputBuffer output;
    AppendBinaryStats(Head(0x10), text, output);
    return Take(output);
  };
  const std::string end = Header("\x10"sv, "\0\0"sv, "\0"sv, "\0\0"sv, "\0\0\0\0"sv, kNoCas);
  EXPECT_EQ(packets(""), end);
  EXPECT_EQ(packets("STAT a 1\r\nSTAT domain_socket \r\nSTAT inter a b\r\n"),
            Header("\x10"sv, "\0\x01"sv, "\0"sv, "\0\0"sv, "\0\0\0\x02"sv, kNoCas) + "a1" +
                Header("\x10"sv, "\0\x0d"sv, "\0"sv, "\0\0"sv, "\0\0\0\x0d"sv, kNoCas) +
                "domain_socket" +
                Header("\x10"sv, "\0\x05"sv, "\0"sv, "\0\0"sv, "\0\0\0\x08"sv, kNoCas) +
                "intera b" + end);
}

}  // namespace
}  // namespace podcache::protocol
