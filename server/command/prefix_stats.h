// `stats detail`: gets, hits, sets and deletes by the part of the key before the delimiter (-D).
//
// Off unless asked for: then a request pays one relaxed load. Switched on, each request takes a
// lock; it is a tool for looking into a cache, not for every day.
//
// Threads: any. Limits: kMaxPrefixes; requests with further ones are not counted. Source:
// protocol.md 6.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/mutex.h"
#include "server/store/store.h"

namespace podcache::command {

class PrefixStats {
 public:
  static constexpr std::size_t kMaxPrefixes = 65'536;

  struct Counts {
    std::uint64_t gets = 0;
    std::uint64_t hits = 0;
    std::uint64_t sets = 0;
    std::uint64_t deletes = 0;
  };
  struct Line {
    std::string prefix;
    Counts counts;
  };

  // The memory it takes counts against the store's budget.
  PrefixStats(char delimiter, bool enabled, store::Store& store)
      : delimiter_(delimiter), enabled_(enabled), store_(store) {}

  bool enabled() const noexcept { return enabled_.load(std::memory_order_relaxed); }
  void set_enabled(bool enabled) noexcept { enabled_.store(enabled, std::memory_order_relaxed); }

  void CountGet(std::string_view key, bool hit) {
    if (enabled()) Add(key, {1, hit ? 1U : 0U, 0, 0});
  }
  // One after the other, as they were looked up.
  void CountGets(std::span<const store::Key> keys, std::span<const store::StoreStatus> statuses) {
    if (!enabled()) return;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      CountGet(keys[i].bytes, statuses[i] == store::StoreStatus::kOk);
    }
  }
  void CountSet(std::string_view key) {
    if (enabled()) Add(key, {0, 0, 1, 0});
  }
  void CountDelete(std::string_view key) {
    if (enabled()) Add(key, {0, 0, 0, 1});
  }

  // At most `max` lines with prefixes behind `after`, in their order; from the start if it is null.
  std::vector<Line> Lines(const std::string* after, std::size_t max) const;
  void Clear();
  // Of copies that are on their way to a client.
  void ChargeCopy(std::int64_t delta_bytes) const noexcept { store_.ChargeExternal(delta_bytes); }

 private:
  // Keys without the delimiter are not counted.
  void Add(std::string_view key, const Counts& counts);

  const char delimiter_;
  std::atomic<bool> enabled_;
  store::Store& store_;
  mutable Mutex mutex_;
  std::map<std::string, Counts, std::less<>> counts_ GUARDED_BY(mutex_);
  std::int64_t charged_bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace podcache::command
