// Mutates whole packets: inserts, removes, repeats and swaps them, or changes one field of a
// header, so that inputs stay conversations. Half of the time libFuzzer's own mutations are used.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/big_endian.h"
#include "tests/transcript/transcript.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using podcache::LoadBigEndian;
using podcache::StoreBigEndian;
using Random = std::minstd_rand;

constexpr std::size_t kHeaderBytes = 24;
constexpr std::array<std::string_view, 22> kPackets = {
    "00 key=a",
    "09 key=b",
    "0c key=a",
    "0d key=c",
    "01 key=a ext=00000007.00000000 val=abc",
    "11 key=b ext=00000000.00000001 val=5",
    "02 key=c ext=00000000.00000000",
    "13 key=a ext=00000000.00000000 val=xyz cas=1",
    "0e key=a val=zz",
    "1a key=b val=1",
    "05 key=b ext=0000000000000007.0000000000000001.00000000",
    "16 key=c ext=ffffffffffffffff.0000000000000001.ffffffff",
    "04 key=a",
    "14 key=c cas=1",
    "1c key=a ext=00000001",
    "24 key=b ext=00000000",
    "08",
    "18 ext=00000001",
    "0a",
    "0b",
    "30 key=a ext=00000000 val=v",
    "10 key=sizes",
};

// The first byte of an input is not part of the conversation.
std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> packets;
  while (!text.empty()) {
    std::size_t size = text.size();
    if (text.size() >= kHeaderBytes) {
      const auto body = LoadBigEndian<std::uint32_t>(text.data() + 8);
      if (body <= text.size() - kHeaderBytes) size = kHeaderBytes + body;
    }
    packets.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return packets;
}

void MutateHeader(std::string& packet, Random& random) {
  if (packet.size() < kHeaderBytes) return;
  constexpr std::array<std::uint32_t, 10> kLengths = {
      0, 1, 8, 250, 251, 65535, 1U << 30, (1U << 30) + 1, 1U << 31, 0xffffffff};
  const std::uint32_t length = kLengths[random() % kLengths.size()];
  switch (random() % 5) {
    case 0:
      packet[1] = static_cast<char>(random());
      break;
    case 1:
      StoreBigEndian(packet.data() + 2, static_cast<std::uint16_t>(length));
      break;
    case 2:
      packet[4] = static_cast<char>(length);
      break;
    case 3:
      StoreBigEndian(packet.data() + 8, length);
      break;
    default:
      StoreBigEndian(packet.data() + 16, static_cast<std::uint64_t>(random() % 3));
      break;
  }
}

void MutatePackets(std::vector<std::string>& packets, Random& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::ptrdiff_t>(random() % n); };
  const std::ptrdiff_t at = below(packets.size() + 1);
  if (packets.empty() || random() % 3 == 0) {
    packets.insert(packets.begin() + at,
                   podcache::transcript::EncodePacket(kPackets[random() % kPackets.size()], ""));
    return;
  }
  const std::ptrdiff_t one = below(packets.size());
  const std::ptrdiff_t other = below(packets.size());
  switch (random() % 4) {
    case 0:
      packets.erase(packets.begin() + one);
      break;
    case 1:
      packets.insert(packets.begin() + at, std::string(packets[static_cast<std::size_t>(one)]));
      break;
    case 2:
      MutateHeader(packets[static_cast<std::size_t>(one)], random);
      break;
    default:
      std::iter_swap(packets.begin() + one, packets.begin() + other);
      break;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  Random random(seed + 1);
  if (size < 2 || random() % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<std::string> packets = Split({reinterpret_cast<const char*>(data) + 1, size - 1});
  MutatePackets(packets, random);
  std::string bytes(1, static_cast<char>(data[0]));
  for (const std::string& packet : packets) bytes += packet;
  const std::size_t n = std::min(bytes.size(), max_size);
  std::memcpy(data, bytes.data(), n);
  return n;
}
