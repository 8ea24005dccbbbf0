#include "server/store/store.h"

#include "server/store/session.h"
#include "server/store/store_impl.h"

namespace podcache::store {

Store::Store(const StoreOptions& options, const Clock& clock)
    : impl_(StoreImpl::Make(options, clock)) {}
Store::~Store() = default;

std::unique_ptr<StoreSession> Store::NewSession(metrics::WorkerCounters& counters) {
  auto session = std::make_unique<StoreSession::Impl>(*impl_, counters);
  return std::unique_ptr<StoreSession>(new StoreSession(std::move(session)));
}

std::uint64_t Store::min_memory_limit_bytes() const noexcept { return impl_->min_limit_bytes(); }
std::uint64_t Store::max_memory_limit_bytes() const noexcept { return impl_->max_limit_bytes(); }
bool Store::SetMemoryTarget(std::uint64_t target_bytes) { return impl_->SetTarget(target_bytes); }
ResizeState Store::resize_state() const { return impl_->resize_state(); }
void Store::MakeRoom() noexcept { impl_->MakeRoom(); }
void Store::SetOverhead(std::uint64_t bytes) noexcept { impl_->SetOverhead(bytes); }

void Store::ChargeExternal(std::int64_t delta_bytes) noexcept {
  impl_->ChargeExternal(delta_bytes);
}
void Store::FlushAll(std::int64_t at_unix_seconds) { impl_->FlushAll(at_unix_seconds); }
StoreStats Store::stats() const { return impl_->stats(); }
std::uint32_t Store::NextVictimIdleSeconds() { return impl_->NextVictimIdleSeconds(); }
const RestartReport& Store::restart_report() const noexcept { return impl_->restart_report(); }
bool Store::Save(std::string& error) { return impl_->Save(error); }
bool Store::Scan(ScanCursor& cursor, ItemVisitor& visitor) { return impl_->Scan(cursor, visitor); }
void Store::RequestSweep() noexcept { impl_->RequestSweep(); }
bool Store::MaintainOnce() { return impl_->MaintainOnce(); }

}  // namespace podcache::store
