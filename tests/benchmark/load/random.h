// Random numbers that are the same everywhere for the same seed, unlike the standard library's
// distributions.
#pragma once

#include <cstdint>

namespace podcache::bench {

// One step of a 64-bit mixing function: neighbouring inputs give unrelated outputs.
constexpr std::uint64_t Mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// splitmix64: the mixed values of a counter.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(Mix(seed)) {}

  std::uint64_t Next() noexcept {
    const std::uint64_t value = Mix(state_);
    state_ += 0x9e3779b97f4a7c15ULL;
    return value;
  }
  // Evenly from 0 … n − 1; n is at least 1. The bias is below n / 2^64.
  std::uint64_t Below(std::uint64_t n) noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(Next()) * n) >> 64);
  }
  // Evenly from [0, 1).
  double Unit() noexcept { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace podcache::bench
