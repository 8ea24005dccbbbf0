#include "tests/benchmark/load/items.h"

#include <array>
#include <cstring>

#include "tests/benchmark/load/random.h"

namespace podcache::bench {

namespace {

constexpr std::size_t kPlaces = std::size_t{1} << 16;
constexpr std::string_view kName = "bench";

constexpr std::array<char, 200> MakePairs() {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}
constexpr std::array<char, 200> kPairs = MakePairs();

}  // namespace

Items::Items(std::size_t key_bytes, std::size_t max_value_bytes)
    : filler_(key_bytes - kDigits, '-'), table_(kPlaces + max_value_bytes, '\0') {
  const std::size_t n = std::min(kName.size(), filler_.size());
  std::memcpy(filler_.data(), kName.data(), n);
  Random random(1);
  for (char& c : table_) c = static_cast<char>('!' + random.Below('~' - '!' + 1));
}

void Items::WriteDigits(char* digits, std::uint64_t item) const noexcept {
  for (std::size_t at = kDigits; at > 0; at -= 2) {
    std::memcpy(digits + at - 2, &kPairs[item % 100 * 2], 2);
    item /= 100;
  }
}

std::optional<std::uint64_t> Items::ItemOf(std::string_view key) const noexcept {
  if (key.size() != key_bytes() || !key.starts_with(filler_)) return std::nullopt;
  std::uint64_t item = 0;
  for (const char c : key.substr(filler_.size())) {
    if (c < '0' || c > '9') return std::nullopt;
    item = item * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return item;
}

const char* Items::Stretch(std::uint64_t item, std::uint32_t variant) const noexcept {
  return table_.data() + Mix(item * kVariants + variant) % kPlaces;
}

void Items::WriteValue(char* to, std::size_t bytes, std::uint64_t item,
                       std::uint32_t variant) const noexcept {
  if (bytes == 0) return;
  std::memcpy(to, Stretch(item, variant), bytes);
  to[0] = static_cast<char>('a' + variant);
}

bool Items::IsValueOf(std::string_view value, std::uint64_t item) const noexcept {
  if (value.empty()) return true;
  const auto variant = static_cast<std::uint32_t>(value[0] - 'a');
  if (variant >= kVariants || value.size() > table_.size() - kPlaces) return false;
  return std::memcmp(value.data() + 1, Stretch(item, variant) + 1, value.size() - 1) == 0;
}

}  // namespace podcache::bench
