// The engine alone, without protocol and sockets: 20-byte keys in random order, 128-byte values.
//
// Not a test: numbers are for people. The argument is the number of keys: 100 thousand stay in the
// cache, ten million do not. items_per_second is of all threads together.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "server/metrics/worker_counters.h"
#include "server/store/store.h"
#include "tests/benchmark/load/items.h"
#include "tests/benchmark/load/random.h"

namespace podcache::store {
namespace {

constexpr std::size_t kKeyBytes = 20;
constexpr std::size_t kValueBytes = 128;
constexpr std::int64_t kCached = 100'000;
constexpr std::int64_t kInMemory = 10'000'000;

class NullSink final : public ValueSink {
 public:
  char* Begin(std::size_t, const ItemMeta&) override { return buffer_; }
  void End(std::size_t, const ItemMeta&) override {}
  void Pinned(std::size_t, const ItemMeta&, std::unique_ptr<PinnedBytes>) override {}

 private:
  char buffer_[kMaxCopiedValueBytes];
};

// One thread's way into the store.
class User {
 public:
  User(Store& store, std::uint64_t keys, std::uint64_t seed)
      : session_(store.NewSession(counters_)), keys_(keys), random_(seed) {
    for (std::string& key : batch_) key = items_.FirstKey();
  }

  void SetRandomBatch() {
    SetBatch([&] { return random_.Below(keys_); });
  }
  void SetBatchFrom(std::uint64_t item) {
    SetBatch([&] { return item++; });
  }
  void GetRandomBatch() {
    Key keys[StoreSession::kMaxBatch];
    StoreStatus statuses[StoreSession::kMaxBatch];
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      items_.WriteDigits(Digits(batch_[i]), random_.Below(keys_));
      keys[i] = session_->MakeKey(batch_[i]);
    }
    session_->Get(keys, {}, sink_, statuses);
    session_->EndTurn();
  }

 private:
  template <class Next>
  void SetBatch(Next&& next) {
    WholeItem items[StoreSession::kMaxBatch];
    StoreStatus statuses[StoreSession::kMaxBatch];
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      items_.WriteDigits(Digits(batch_[i]), next());
      items[i] = {session_->MakeKey(batch_[i]), value_};
    }
    session_->Set(items, statuses);
    session_->EndTurn();
  }
  static char* Digits(std::string& key) { return key.data() + kKeyBytes - bench::Items::kDigits; }

  metrics::WorkerCounters counters_;
  const bench::Items items_{kKeyBytes, 0};
  std::unique_ptr<StoreSession> session_;
  const std::uint64_t keys_;
  bench::Random random_;
  std::array<std::string, StoreSession::kMaxBatch> batch_;
  const std::string value_ = std::string(kValueBytes, 'v');
  NullSink sink_;
};

// One at a time, for all threads and repetitions of a size: filling takes long.
Store& FilledStore(std::int64_t keys, std::uint64_t limit_bytes) {
  static const SystemClock clock;
  static std::unique_ptr<Store> store;
  static std::pair<std::int64_t, std::uint64_t> filled_with;
  if (store != nullptr && filled_with == std::pair(keys, limit_bytes)) return *store;
  store.reset();
  StoreOptions options;
  options.memory_limit_bytes = limit_bytes;
  store = std::make_unique<Store>(options, clock);
  filled_with = {keys, limit_bytes};
  User user(*store, static_cast<std::uint64_t>(keys), 1);
  for (std::int64_t item = 0; item < keys; item += StoreSession::kMaxBatch)
    user.SetBatchFrom(static_cast<std::uint64_t>(item));
  return *store;
}

constexpr std::uint64_t kAmple = 4ULL << 30;
constexpr std::uint64_t kScarce = 64ULL << 20;

Store* shared_store = nullptr;

void Fill(const benchmark::State& state) { shared_store = &FilledStore(state.range(0), kAmple); }

void BM_Get(benchmark::State& state) {
  User user(*shared_store, static_cast<std::uint64_t>(state.range(0)),
            static_cast<std::uint64_t>(state.thread_index()) + 2);
  for (auto _ : state) user.GetRandomBatch();
  state.SetItemsProcessed(state.iterations() * std::int64_t{StoreSession::kMaxBatch});
}
BENCHMARK(BM_Get)->Setup(Fill)->Arg(kCached)->Arg(kInMemory)->ThreadRange(1, 2);

void BM_Overwrite(benchmark::State& state) {
  User user(*shared_store, static_cast<std::uint64_t>(state.range(0)),
            static_cast<std::uint64_t>(state.thread_index()) + 2);
  for (auto _ : state) user.SetRandomBatch();
  state.SetItemsProcessed(state.iterations() * std::int64_t{StoreSession::kMaxBatch});
}
BENCHMARK(BM_Overwrite)->Setup(Fill)->Arg(kCached)->Arg(kInMemory)->ThreadRange(1, 2);

// Most sets are of a key that is not there and evict another one.
void BM_SetEvicting(benchmark::State& state) {
  User user(FilledStore(2'000'000, kScarce), 20'000'000, 2);
  for (auto _ : state) user.SetRandomBatch();
  state.SetItemsProcessed(state.iterations() * std::int64_t{StoreSession::kMaxBatch});
}
BENCHMARK(BM_SetEvicting);

}  // namespace
}  // namespace podcache::store

BENCHMARK_MAIN();
