// What the tests of the store share: a store on a manual clock with one session, and short ways to
// use it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "server/metrics/worker_counters.h"
#include "server/store/store.h"

namespace podcache::store {

// Copies what it is given into strings.
class StringSink final : public ValueSink {
 public:
  struct Entry {
    ItemMeta meta;
    std::string value;
    bool ended = false;
    std::unique_ptr<PinnedBytes> pin;
  };

  explicit StringSink(std::size_t n = 1) : entries_(n) {}
  char* Begin(std::size_t index, const ItemMeta& meta) override {
    entries_[index].value.assign(
        meta.has_value ? static_cast<std::size_t>(meta.value_bytes) : std::size_t{0}, '\0');
    return entries_[index].value.data();
  }
  void End(std::size_t index, const ItemMeta& meta) override {
    entries_[index].meta = meta;
    entries_[index].ended = true;
  }
  void Pinned(std::size_t index, const ItemMeta& meta,
              std::unique_ptr<PinnedBytes> value) override {
    entries_[index].meta = meta;
    entries_[index].value = Read(*value);
    entries_[index].pin = std::move(value);
    entries_[index].ended = true;
  }
  Entry& operator[](std::size_t i) { return entries_[i]; }

  static std::string Read(const PinnedBytes& pin) {
    std::string out;
    iovec pieces[4];
    while (out.size() < pin.size()) {
      const int n = pin.FillIovec(out.size(), pieces, 4);
      for (int i = 0; i < n; ++i)
        out.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
      if (n == 0) break;
    }
    return out;
  }

 private:
  std::vector<Entry> entries_;
};

// One thread's use of a store.
class Client {
 public:
  explicit Client(Store& store) : session_(store.NewSession(counters_)) {}

  WriteResult Write(std::string_view key, std::string_view value, const WriteOptions& options = {},
                    std::uint32_t flags = 0, std::int64_t exptime = 0) {
    WriteHandle handle;
    const StoreStatus prepared =
        session_->Prepare(session_->MakeKey(key), value.size(), flags, exptime, handle);
    if (prepared != StoreStatus::kOk) return {prepared, 0};
    Fill(handle, value);
    return session_->Commit(handle, options);
  }
  // At most kMaxBatch at once. The keys need no hash.
  std::vector<StoreStatus> SetAll(std::vector<WholeItem> items) {
    std::vector<StoreStatus> statuses(items.size(), StoreStatus::kNotStored);
    for (WholeItem& item : items) item.key = session_->MakeKey(item.key.bytes);
    session_->Set(items, statuses);
    return statuses;
  }
  static void Fill(WriteHandle& handle, std::string_view value) {
    for (std::span<char> room = handle.Writable(); !room.empty() && !value.empty();
         room = handle.Writable()) {
      const std::size_t n = std::min(room.size(), value.size());
      std::memcpy(room.data(), value.data(), n);
      handle.Advance(n);
      value.remove_prefix(n);
    }
  }
  StoreStatus Set(std::string_view key, std::string_view value, std::uint32_t flags = 0,
                  std::int64_t exptime = 0) {
    return Write(key, value, {}, flags, exptime).status;
  }
  std::optional<std::string> Get(std::string_view key) {
    StringSink sink;
    if (!Read(key, {}, sink)) return std::nullopt;
    return sink[0].value;
  }
  bool Read(std::string_view key, const ReadOptions& options, StringSink& sink) {
    const Key k = session_->MakeKey(key);
    StoreStatus status = StoreStatus::kNotFound;
    session_->Get({&k, 1}, options, sink, {&status, 1});
    EXPECT_EQ(status == StoreStatus::kOk, sink[0].ended);
    return status == StoreStatus::kOk;
  }
  // Nothing on a miss.
  std::optional<ItemMeta> Detailed(std::string_view key, DetailedRead read = {},
                                   std::string* value = nullptr) {
    read.key = session_->MakeKey(key);
    StringSink sink;
    StoreStatus status = StoreStatus::kNotFound;
    session_->GetDetailed({&read, 1}, sink, {&status, 1});
    EXPECT_EQ(status == StoreStatus::kOk, sink[0].ended);
    if (status != StoreStatus::kOk) return std::nullopt;
    if (value != nullptr) *value = sink[0].value;
    return sink[0].meta;
  }
  StoreStatus Invalidate(std::string_view key, const InvalidateOptions& options) {
    return session_->Invalidate(session_->MakeKey(key), options);
  }
  std::uint64_t Cas(std::string_view key) {
    StringSink sink;
    ReadOptions options;
    options.want_cas = true;
    return Read(key, options, sink) ? sink[0].meta.cas : 0;
  }
  StoreStatus Delete(std::string_view key, std::uint64_t compare_cas = 0) {
    return session_->Delete(session_->MakeKey(key), compare_cas);
  }
  StoreStatus Touch(std::string_view key, std::int64_t exptime, ItemMeta* meta = nullptr) {
    return session_->Touch(session_->MakeKey(key), exptime, meta);
  }
  ArithmeticResult Arithmetic(std::string_view key, const ArithmeticOptions& options) {
    return session_->Arithmetic(session_->MakeKey(key), options);
  }
  ArithmeticResult Arithmetic(std::string_view key, bool increment, std::uint64_t delta) {
    ArithmeticOptions options;
    options.increment = increment;
    options.delta = delta;
    return Arithmetic(key, options);
  }
  StoreSession& session() { return *session_; }
  metrics::WorkerCounters& counters() { return counters_; }

 private:
  metrics::WorkerCounters counters_;
  std::unique_ptr<StoreSession> session_;
};

class StoreTest : public ::testing::Test {
 protected:
  static StoreOptions SmallOptions() {
    StoreOptions options;
    options.memory_limit_bytes = 8 << 20;
    options.hash_seed = 1;
    options.background_maintenance = false;
    return options;
  }
  void Open(const StoreOptions& options) {
    client_.reset();
    store_options_ = options;
    store_ = std::make_unique<Store>(options, clock_);
    client_ = std::make_unique<Client>(*store_);
  }
  void SetUp() override { Open(SmallOptions()); }
  void Maintain() {
    while (store_->MaintainOnce()) {
    }
  }
  std::int64_t now() const { return clock_.WallSeconds(); }
  Client& client() { return *client_; }
  Store& store() { return *store_; }

  ManualClock clock_;
  StoreOptions store_options_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Client> client_;
};

}  // namespace podcache::store
