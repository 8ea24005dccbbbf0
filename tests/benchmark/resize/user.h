// One thread's use of a store: batches of gets and single sets of items by number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "server/metrics/worker_counters.h"
#include "server/store/store.h"
#include "tests/benchmark/load/items.h"

namespace podcache::bench {

class StoreUser {
 public:
  static constexpr std::size_t kKeyBytes = 20;
  static constexpr std::size_t kBatch = store::StoreSession::kMaxBatch;

  StoreUser(store::Store& store, std::size_t value_bytes)
      : session_(store.NewSession(counters_)), value_(value_bytes, 'v') {
    keys_.fill(items_.FirstKey());
  }

  // next() is the number of the next item to be got.
  template <class Next>
  void Get(Next&& next) {
    store::Key keys[kBatch];
    store::StoreStatus statuses[kBatch];
    for (std::size_t i = 0; i < kBatch; ++i) keys[i] = KeyOf(i, next());
    session_->Get(keys, {}, sink_, statuses);
    session_->EndTurn();
  }
  bool Set(std::uint64_t item) {
    const store::WholeItem whole{KeyOf(0, item), value_};
    store::StoreStatus status = store::StoreStatus::kNotStored;
    session_->Set({&whole, 1}, {&status, 1});
    session_->EndTurn();
    return status == store::StoreStatus::kStored;
  }
  bool Has(std::uint64_t item) {
    return session_->Peek(KeyOf(0, item)).presence != store::Presence::kMissing;
  }

 private:
  class NullSink final : public store::ValueSink {
   public:
    char* Begin(std::size_t, const store::ItemMeta&) override { return buffer_; }
    void End(std::size_t, const store::ItemMeta&) override {}
    void Pinned(std::size_t, const store::ItemMeta&, std::unique_ptr<PinnedBytes>) override {}

   private:
    char buffer_[store::kMaxCopiedValueBytes];
  };

  store::Key KeyOf(std::size_t i, std::uint64_t item) {
    items_.WriteDigits(keys_[i].data() + kKeyBytes - Items::kDigits, item);
    return session_->MakeKey(keys_[i]);
  }

  const Items items_{kKeyBytes, 0};
  metrics::WorkerCounters counters_;
  std::unique_ptr<store::StoreSession> session_;
  std::array<std::string, kBatch> keys_;
  const std::string value_;
  NullSink sink_;
};

}  // namespace podcache::bench
