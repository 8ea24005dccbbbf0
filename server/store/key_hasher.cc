#include "server/store/key_hasher.h"

#include <random>

namespace podcache::store {
namespace {

std::uint64_t RandomSeed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

KeyHasher::KeyHasher(std::uint64_t seed) : seed_(seed != 0 ? seed : RandomSeed()) {}

std::uint64_t KeyHasher::HashLong(std::string_view key) const noexcept {
  return XXH3_64bits_withSeed(key.data(), key.size(), seed_);
}

}  // namespace podcache::store
