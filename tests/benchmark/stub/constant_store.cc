// The store's interface with nothing behind it: every key is there with the same value, what is
// written is taken and forgotten. Linked instead of the engine, it leaves a podcached that costs
// what IO, parser, commands and encoders cost (podcached-no-engine).
//
// PODCACHE_STUB_VALUE_BYTES: the size of the values that are got, 128 unless set.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "server/store/store.h"

namespace podcache::store {

class StoreImpl {
 public:
  std::string value = std::string(128, 'x');
  std::uint64_t limit_bytes = 0;
};

struct WriteHandle::Impl {
  std::string key;
  std::string value;
  std::size_t filled = 0;
  std::int64_t exptime = 0;
};

struct StoreSession::Impl {
  const std::string& value;
  std::unique_ptr<WriteHandle::Impl> spare = {};
};

WriteHandle::WriteHandle() noexcept = default;
WriteHandle::WriteHandle(WriteHandle&&) noexcept = default;
WriteHandle& WriteHandle::operator=(WriteHandle&&) noexcept = default;
WriteHandle::~WriteHandle() = default;
Key WriteHandle::key() const noexcept { return {impl_->key, 0}; }
std::uint64_t WriteHandle::value_bytes() const noexcept { return impl_->value.size(); }
std::int64_t WriteHandle::exptime() const noexcept { return impl_->exptime; }
std::span<char> WriteHandle::Writable() noexcept {
  return std::span(impl_->value).subspan(impl_->filled);
}
void WriteHandle::Advance(std::size_t n) noexcept { impl_->filled += n; }

Store::Store(const StoreOptions& options, const Clock&) : impl_(std::make_unique<StoreImpl>()) {
  impl_->limit_bytes = options.memory_limit_bytes;
  if (const char* const bytes = std::getenv("PODCACHE_STUB_VALUE_BYTES"); bytes != nullptr)
    impl_->value.resize(std::strtoul(bytes, nullptr, 10), 'x');
}
Store::~Store() = default;

std::unique_ptr<StoreSession> Store::NewSession(metrics::WorkerCounters&) {
  return std::unique_ptr<StoreSession>(
      new StoreSession(std::unique_ptr<StoreSession::Impl>(new StoreSession::Impl{impl_->value})));
}
std::uint64_t Store::min_memory_limit_bytes() const noexcept { return 1; }
std::uint64_t Store::max_memory_limit_bytes() const noexcept { return impl_->limit_bytes; }
bool Store::SetMemoryTarget(std::uint64_t) { return true; }
ResizeState Store::resize_state() const { return {}; }
void Store::ChargeExternal(std::int64_t) noexcept {}
void Store::MakeRoom() noexcept {}
void Store::SetOverhead(std::uint64_t) noexcept {}
void Store::FlushAll(std::int64_t) {}
StoreStats Store::stats() const {
  StoreStats stats;
  stats.memory_limit_bytes = stats.memory_target_bytes = impl_->limit_bytes;
  return stats;
}
std::uint32_t Store::NextVictimIdleSeconds() { return 0; }
bool Store::Scan(ScanCursor&, ItemVisitor&) { return false; }
void Store::RequestSweep() noexcept {}
bool Store::MaintainOnce() { return false; }
const RestartReport& Store::restart_report() const noexcept {
  static const RestartReport none;
  return none;
}
bool Store::Save(std::string&) { return true; }

StoreSession::StoreSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StoreSession::~StoreSession() = default;
Key StoreSession::MakeKey(std::string_view bytes) const noexcept { return {bytes, 0}; }
bool StoreSession::has_cas() const noexcept { return true; }

void StoreSession::Get(std::span<const Key> keys, const ReadOptions&, ValueSink& sink,
                       std::span<StoreStatus> statuses) {
  ItemMeta meta;
  meta.value_bytes = impl_->value.size();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::memcpy(sink.Begin(i, meta), impl_->value.data(), impl_->value.size());
    sink.End(i, meta);
    statuses[i] = StoreStatus::kOk;
  }
}

void StoreSession::GetDetailed(std::span<const DetailedRead> reads, ValueSink& sink,
                               std::span<StoreStatus> statuses) {
  ItemMeta meta;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    meta.has_value = reads[i].want_value;
    meta.value_bytes = impl_->value.size();
    char* const room = sink.Begin(i, meta);
    if (meta.has_value) std::memcpy(room, impl_->value.data(), impl_->value.size());
    sink.End(i, meta);
    statuses[i] = StoreStatus::kOk;
  }
}

Glimpse StoreSession::Peek(const Key&) noexcept { return {}; }

void StoreSession::Set(std::span<const WholeItem> items, std::span<StoreStatus> statuses) {
  std::fill_n(statuses.begin(), items.size(), StoreStatus::kStored);
}

StoreStatus StoreSession::Prepare(const Key& key, std::uint64_t value_bytes, std::uint32_t,
                                  std::int64_t exptime, WriteHandle& handle) {
  handle.impl_ =
      impl_->spare != nullptr ? std::move(impl_->spare) : std::make_unique<WriteHandle::Impl>();
  handle.impl_->key = key.bytes;
  handle.impl_->value.resize(static_cast<std::size_t>(value_bytes));
  handle.impl_->filled = 0;
  handle.impl_->exptime = exptime;
  return StoreStatus::kOk;
}

WriteResult StoreSession::Commit(WriteHandle& handle, const WriteOptions&) {
  impl_->spare = std::move(handle.impl_);
  return {StoreStatus::kStored, 0, impl_->spare->value.size()};
}

StoreStatus StoreSession::Delete(const Key&, std::uint64_t) { return StoreStatus::kOk; }
StoreStatus StoreSession::Invalidate(const Key&, const InvalidateOptions&) {
  return StoreStatus::kOk;
}
StoreStatus StoreSession::Touch(const Key&, std::int64_t, ItemMeta*) { return StoreStatus::kOk; }
ArithmeticResult StoreSession::Arithmetic(const Key&, const ArithmeticOptions&) {
  return {.status = StoreStatus::kOk};
}
void StoreSession::EndTurn() noexcept {}

}  // namespace podcache::store
