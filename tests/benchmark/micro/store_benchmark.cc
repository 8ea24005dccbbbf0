// The engine alone: one thread's gets and sets, 20-byte keys and 128-byte values.
//
// Not a test: numbers are for people. The first argument of a benchmark is the number of keys.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "server/metrics/worker_counters.h"
#include "server/store/store.h"

namespace podcache::store {
namespace {

constexpr std::size_t kKeyBytes = 20;
constexpr std::size_t kValueBytes = 128;

class NullSink final : public ValueSink {
 public:
  char* Begin(std::size_t, const ItemMeta&) override { return buffer_; }
  void End(std::size_t, const ItemMeta&) override {}
  void Pinned(std::size_t, const ItemMeta&, std::unique_ptr<PinnedBytes>) override {}

 private:
  char buffer_[kMaxCopiedValueBytes];
};

struct Setup {
  Setup(std::uint64_t limit_bytes, std::int64_t keys) {
    StoreOptions options;
    options.memory_limit_bytes = limit_bytes;
    store = std::make_unique<Store>(options, clock);
    session = store->NewSession(counters);
    for (std::int64_t i = 0; i < keys; ++i) {
      std::string name = std::to_string(i * 7919 % keys);
      name.resize(kKeyBytes, '_');
      names.push_back(std::move(name));
    }
  }
  void Set(std::string_view name) {
    WriteHandle handle;
    if (session->Prepare(session->MakeKey(name), kValueBytes, 0, 0, handle) != StoreStatus::kOk)
      return;
    std::memset(handle.Writable().data(), 'v', kValueBytes);
    handle.Advance(kValueBytes);
    session->Commit(handle, {});
  }

  SystemClock clock;
  metrics::WorkerCounters counters;
  std::unique_ptr<Store> store;
  std::unique_ptr<StoreSession> session;
  std::vector<std::string> names;
};

void BM_Get(benchmark::State& state) {
  Setup setup(4ULL << 30, state.range(0));
  for (const std::string& name : setup.names) setup.Set(name);
  NullSink sink;
  std::size_t i = 0;
  std::int64_t keys = 0;
  for (auto _ : state) {
    Key batch[StoreSession::kMaxBatch];
    StoreStatus statuses[StoreSession::kMaxBatch];
    for (Key& key : batch) {
      key = setup.session->MakeKey(setup.names[i]);
      i = i + 1 == setup.names.size() ? 0 : i + 1;
    }
    setup.session->Get(batch, {}, sink, statuses);
    setup.session->EndTurn();
    keys += StoreSession::kMaxBatch;
  }
  state.SetItemsProcessed(keys);
}
BENCHMARK(BM_Get)->Arg(100'000)->Arg(5'000'000);

void BM_Overwrite(benchmark::State& state) {
  Setup setup(4ULL << 30, state.range(0));
  for (const std::string& name : setup.names) setup.Set(name);
  std::size_t i = 0;
  for (auto _ : state) {
    setup.Set(setup.names[i]);
    i = i + 1 == setup.names.size() ? 0 : i + 1;
    if (i % 16 == 0) setup.session->EndTurn();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Overwrite)->Arg(100'000)->Arg(5'000'000);

// Every set is of a new key and, once full, evicts an old one.
void BM_SetEvicting(benchmark::State& state) {
  Setup setup(64ULL << 20, 2'000'000);
  for (const std::string& name : setup.names) setup.Set(name);
  std::size_t i = 0;
  for (auto _ : state) {
    setup.Set(setup.names[i]);
    i = i + 1 == setup.names.size() ? 0 : i + 1;
    if (i % 16 == 0) setup.session->EndTurn();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SetEvicting);

}  // namespace
}  // namespace podcache::store

BENCHMARK_MAIN();
