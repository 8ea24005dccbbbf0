// Packets of the binary protocol in the notation of the transcripts (tests/transcript/README.md).
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tests/transcript/transcript.h"

namespace podcache::testing {

inline std::string Packets(std::initializer_list<std::string_view> descriptions) {
  std::string bytes;
  for (const std::string_view one : descriptions) bytes += transcript::EncodePacket(one, "");
  return bytes;
}

inline std::vector<std::string> Split(std::string_view bytes) {
  std::vector<std::string> packets;
  while (!bytes.empty()) {
    const std::size_t size = transcript::PacketBytes(bytes);
    if (size == 0 || size > bytes.size()) return {"broken"};
    packets.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return packets;
}

inline void ExpectReplies(std::string_view bytes, std::initializer_list<std::string_view> wanted) {
  const std::vector<std::string> packets = Split(bytes);
  ASSERT_EQ(packets.size(), wanted.size());
  std::size_t i = 0;
  for (const std::string_view one : wanted) {
    std::string group;
    EXPECT_TRUE(transcript::PacketFits(packets[i++], one, group)) << one;
  }
}

}  // namespace podcache::testing
