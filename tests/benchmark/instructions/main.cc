// podcache-instructions: runs a recorded stream of requests through the session, or its keys
// through the store alone, in one thread and without sockets. Under callgrind this counts
// instructions per operation, the same ones every time: the stream, the hash seed and the clock are
// fixed.
//
// tools/bench instructions runs it and knows the numbers it should come to.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/base/output_buffer.h"
#include "server/net/request_handler.h"
#include "server/store/store.h"
#include "tests/benchmark/load/items.h"
#include "tests/benchmark/load/request_source.h"
#include "tests/benchmark/load/run_main.h"
#include "tests/benchmark/load/workload.h"
#include "tests/unit/server/session/session_harness.h"

namespace podcache::bench {
namespace {

constexpr std::uint64_t kKeys = 20'000;
constexpr std::size_t kKeyBytes = 16;
constexpr std::uint64_t kOperations = 50'000;

// What one receive brings, and what it asks for.
struct Received {
  std::string bytes;
  std::vector<RequestShape> requests;
  std::vector<std::string> keys;
};

std::vector<Received> Record(const Items& items, RequestSource& source, std::uint64_t operations) {
  std::vector<Received> stream;
  Batch batch;
  for (std::uint64_t n = 0; n < operations && source.Next(batch); n += batch.items.size()) {
    Received received;
    received.bytes.assign(batch.bytes.data(), batch.bytes.size());
    received.requests.assign(batch.requests.begin(), batch.requests.end());
    for (const std::uint64_t item : batch.items) {
      std::string key = items.FirstKey();
      items.WriteDigits(key.data() + key.size() - Items::kDigits, item);
      received.keys.push_back(std::move(key));
    }
    stream.push_back(std::move(received));
  }
  return stream;
}

store::StoreOptions FixedStore() {
  store::StoreOptions options;
  options.memory_limit_bytes = 64U << 20;
  options.hash_seed = 1;
  options.background_maintenance = false;
  return options;
}

class Part {
 public:
  virtual ~Part() = default;
  virtual void Run(const std::vector<Received>& stream) = 0;
};

// Parser, commands, store and encoders, as a worker runs them between recv and send.
class SessionPart final : public Part {
 public:
  SessionPart()
      : harness_({}, FixedStore()),
        handler_(harness_.worker->NewConnection(
            {0, {}, static_cast<std::uint8_t>(WireProtocol::kText)})) {}

  void Run(const std::vector<Received>& stream) override {
    for (const Received& received : stream) {
      std::span<const char> input = received.bytes;
      while (!input.empty()) {
        const net::HandlerResult result = handler_->OnInput(*harness_.worker, input, output_);
        input = input.subspan(result.consumed);
        output_.Clear();
        if (result.next != net::NextStep::kYield && !input.empty())
          throw std::runtime_error("the session left some of its input");
      }
      harness_.worker->EndTurn();
    }
  }

 private:
  testing::Harness harness_;
  std::unique_ptr<net::ConnectionHandler> handler_;
  OutputBuffer output_;
};

// The store alone: gets and sets in batches, as the commands gather them.
class EnginePart final : public Part, private store::ValueSink {
 public:
  explicit EnginePart(std::size_t value_bytes)
      : store_(FixedStore(), clock_),
        session_(store_.NewSession(counters_)),
        value_(value_bytes, 'v') {}

  void Run(const std::vector<Received>& stream) override {
    for (const Received& received : stream) {
      auto key = received.keys.begin();
      for (const RequestShape& request : received.requests) {
        if (request.verb == Verb::kSet) {
          Set(*key++);
          continue;
        }
        for (std::uint32_t i = 0; i < request.keys; ++i) Get(*key++);
      }
      LookUp();
      Store();
      session_->EndTurn();
    }
  }

 private:
  void Get(const std::string& key) {
    Store();
    keys_[count_++] = session_->MakeKey(key);
    if (count_ == store::StoreSession::kMaxBatch) LookUp();
  }
  void LookUp() {
    store::StoreStatus statuses[store::StoreSession::kMaxBatch];
    if (count_ > 0) session_->Get({keys_, count_}, {}, *this, statuses);
    count_ = 0;
  }
  void Set(const std::string& key) {
    LookUp();
    items_[pending_sets_++] = {session_->MakeKey(key), value_};
    if (pending_sets_ == store::StoreSession::kMaxBatch) Store();
  }
  void Store() {
    store::StoreStatus statuses[store::StoreSession::kMaxBatch];
    if (pending_sets_ > 0) session_->Set({items_, pending_sets_}, statuses);
    pending_sets_ = 0;
  }
  char* Begin(std::size_t, const store::ItemMeta&) override { return room_; }
  void End(std::size_t, const store::ItemMeta&) override {}
  void Pinned(std::size_t, const store::ItemMeta&, std::unique_ptr<PinnedBytes>) override {}

  ManualClock clock_;
  metrics::WorkerCounters counters_;
  store::Store store_;
  std::unique_ptr<store::StoreSession> session_;
  const std::string value_;
  store::Key keys_[store::StoreSession::kMaxBatch];
  std::size_t count_ = 0;
  store::WholeItem items_[store::StoreSession::kMaxBatch];
  std::size_t pending_sets_ = 0;
  char room_[store::kMaxCopiedValueBytes];
};

}  // namespace

// Everything below it is counted (callgrind's --toggle-collect), nothing else.
extern "C" [[gnu::noinline]] void podcache_measured(Part& part,
                                                    const std::vector<Received>& stream);
void podcache_measured(Part& part, const std::vector<Received>& stream) { part.Run(stream); }

namespace {

int Main(const Workload& workload, bool engine) {
  const Items items(kKeyBytes, workload.value_bytes);
  std::unique_ptr<Part> part;
  if (engine) {
    part = std::make_unique<EnginePart>(workload.value_bytes);
  } else {
    part = std::make_unique<SessionPart>();
  }
  EveryItemSource fill(items, {Verb::kSet, 1}, 50, workload.value_bytes, 0, kKeys);
  part->Run(Record(items, fill, kKeys));
  CycleSource source(items, workload, ItemPicker(kKeys, 0, 1), 0);
  // The first run brings buffers to their size.
  part->Run(Record(items, source, kOperations / 10));
  const std::vector<Received> stream = Record(items, source, kOperations);
  std::uint64_t operations = 0;
  std::uint64_t checksum = 0;
  for (const Received& received : stream) {
    operations += received.keys.size();
    for (const char c : received.bytes) checksum = Mix(checksum ^ static_cast<unsigned char>(c));
  }
  podcache_measured(*part, stream);
  std::printf("{\"operations\": %llu, \"stream\": \"%016llx\"}\n",
              static_cast<unsigned long long>(operations),
              static_cast<unsigned long long>(checksum));
  return 0;
}

}  // namespace
}  // namespace podcache::bench

int main(int argc, char** argv) {
  std::string name = "memtier-1-10:50";
  bool engine = false;
  CLI::App app("One pass over a recorded stream, to be counted by callgrind.");
  app.add_option("--workload", name, "shape of the stream");
  app.add_flag("--engine", engine, "the store alone, without parser and encoders");
  CLI11_PARSE(app, argc, argv);
  return podcache::bench::RunMain("podcache-instructions", [&] {
    const auto workload = podcache::bench::FindWorkload(name);
    if (!workload) throw std::runtime_error("no such workload: " + name);
    return podcache::bench::Main(*workload, engine);
  });
}
