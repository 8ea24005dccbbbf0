// The keys of consecutive retrieval requests with the same options, looked up together so that the
// store overlaps their cache misses; counts them, whichever protocol they came by.
//
// Threads: one worker. Ownership: keys are views into the receive buffer: LookUp before it is given
// up. Invariant: no other command runs while keys are pending.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/base/check.h"
#include "server/command/event_log.h"
#include "server/command/prefix_stats.h"
#include "server/metrics/worker_counters.h"
#include "server/store/store.h"

namespace podcache::command {

class KeyBatch {
 public:
  KeyBatch(store::StoreSession& session, metrics::WorkerCounters& counters, EventLog& events,
           PrefixStats& prefixes) noexcept
      : session_(session), counters_(counters), events_(events), prefixes_(prefixes) {}

  // Keys with other options must be looked up before.
  bool Accepts(const store::ReadOptions& options) const noexcept {
    return count_ == 0 ||
           (options_.want_cas == options.want_cas && options_.set_exptime == options.set_exptime &&
            options_.exptime == options.exptime);
  }
  bool full() const noexcept { return count_ == store::StoreSession::kMaxBatch; }
  std::size_t size() const noexcept { return count_; }
  const store::Key& key(std::size_t index) const noexcept { return keys_[index]; }
  const store::ReadOptions& options() const noexcept { return options_; }

  // Neither when full nor with options that are not accepted.
  void Add(std::string_view key, const store::ReadOptions& options) noexcept {
    PODCACHE_DCHECK(!full() && Accepts(options));
    options_ = options;
    keys_[count_++] = session_.MakeKey(key);
  }
  // Tells watchers, looks the keys up and counts what came of them. They stay until Clear.
  void LookUp(store::ValueSink& sink);
  void Clear() noexcept { count_ = 0; }

 private:
  void Count(std::size_t hits) noexcept;

  store::StoreSession& session_;
  metrics::WorkerCounters& counters_;
  EventLog& events_;
  PrefixStats& prefixes_;
  store::ReadOptions options_;
  std::array<store::Key, store::StoreSession::kMaxBatch> keys_;
  std::array<store::StoreStatus, store::StoreSession::kMaxBatch> statuses_;
  std::uint32_t count_ = 0;
};

}  // namespace podcache::command
