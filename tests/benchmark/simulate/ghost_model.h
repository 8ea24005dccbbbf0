// Fingerprints of keys that were evicted, as many as fit beside the buckets of an index: each
// bucket remembers the last few that belong there.
//
// Threads: one owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/benchmark/load/random.h"

namespace podcache::bench {

class GhostModel {
 public:
  GhostModel(unsigned bits, unsigned ways) : mask_((1U << bits) - 1), ways_(ways) {}

  // Room for the ghosts of an index of so many items. What a smaller one knew is mostly kept.
  void Fit(std::uint64_t items) {
    if (ways_ == 0 || items <= Buckets() * kItemsPerBucket) return;
    const std::uint64_t before = Buckets();
    const std::uint64_t after = std::max<std::uint64_t>(64, before + before / 8);
    std::vector<std::uint16_t> grown(after * ways_);
    for (std::uint64_t i = 0; i < before; ++i)
      std::copy_n(&prints_[i * ways_], ways_, &grown[i * after / before * ways_]);
    prints_ = std::move(grown);
  }
  void Add(std::uint64_t key) {
    if (prints_.empty()) return;
    const std::uint64_t hash = Mix(key);
    std::uint16_t* const bucket = &prints_[BucketOf(hash) * ways_];
    std::copy_backward(bucket, bucket + ways_ - 1, bucket + ways_);
    bucket[0] = PrintOf(hash);
  }
  bool Take(std::uint64_t key) {
    if (prints_.empty()) return false;
    const std::uint64_t hash = Mix(key);
    std::uint16_t* const bucket = &prints_[BucketOf(hash) * ways_];
    std::uint16_t* const end = bucket + ways_;
    std::uint16_t* const at = std::find(bucket, end, PrintOf(hash));
    if (at == end) return false;
    std::copy(at + 1, end, at);
    end[-1] = 0;
    return true;
  }

 private:
  // Of seven slots about so many are taken.
  static constexpr std::uint64_t kItemsPerBucket = 6;

  std::uint64_t Buckets() const { return prints_.size() / ways_; }
  std::uint64_t BucketOf(std::uint64_t hash) const { return (hash >> 20) % Buckets(); }
  std::uint16_t PrintOf(std::uint64_t hash) const {
    return static_cast<std::uint16_t>(std::max<std::uint64_t>(hash & mask_, 1));
  }

  const std::uint64_t mask_;
  const unsigned ways_;
  std::vector<std::uint16_t> prints_;
};

}  // namespace podcache::bench
