#include "tests/unit/server/session/session_harness.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace podcache::testing {

namespace {

store::StoreOptions Observed(store::StoreOptions options, store::EvictionObserver& observer) {
  options.eviction_observer = &observer;
  return options;
}

}  // namespace

Harness::Harness(const command::CommandOptions& options, const store::StoreOptions& store_options,
                 const Authenticator* authenticator)
    : store(Observed(store_options, watched_evictions), clock),
      factory(NewSessionFactory(store, registry, context, clock, options, {authenticator, &watch})),
      worker(factory->NewWorker()) {}

std::string Harness::Ask(std::string_view input) { return Connection(*this).Receive(input); }

Connection::Connection(Harness& harness) : Connection(*harness.worker) {}

Connection::Connection(net::WorkerHandler& worker, std::uint64_t id, WireProtocol protocol)
    : worker_(worker),
      handler_(worker_.NewConnection({id, {}, static_cast<std::uint8_t>(protocol)})),
      id_(id) {}

std::string Connection::Tick() {
  std::string sent;
  worker_.set_active_connection(id_);
  Take(handler_->OnInput(worker_, {}, output_), sent);
  return sent;
}

std::string Connection::Receive(std::string_view bytes) {
  std::string sent;
  worker_.set_active_connection(id_);
  while (!direct_.empty() && !bytes.empty()) {
    const std::size_t n = std::min(direct_.size(), bytes.size());
    std::memcpy(direct_.data(), bytes.data(), n);
    bytes.remove_prefix(n);
    direct_bytes_ += n;
    Take(handler_->OnDirect(worker_, n, output_), sent);
  }
  input_ += bytes;
  // A buffer of exactly its size, so that sanitizers see a read beyond it.
  while (!closed_ && (replaced_ || yielded_ || !input_.empty())) {
    replaced_ = false;
    const std::vector<char> input(input_.begin(), input_.end());
    Take(handler_->OnInput(worker_, input, output_), sent);
    if (!yielded_ && !replaced_) break;
  }
  return sent;
}

void Connection::Take(const net::HandlerResult& result, std::string& sent) {
  worker_.EndTurn();
  input_.erase(0, result.consumed);
  yielded_ = result.next == net::NextStep::kYield;
  yields_ += yielded_ ? 1 : 0;
  aborted_ = result.next == net::NextStep::kAbort;
  closed_ = aborted_ || result.next == net::NextStep::kClose;
  streaming_ = result.next == net::NextStep::kStream;
  replaced_ = result.next == net::NextStep::kReplace;
  if (replaced_) handler_ = handler_->TakeSuccessor();
  direct_ = result.next == net::NextStep::kDirect ? result.direct : std::span<char>();
  peak_output_bytes_ = std::max(peak_output_bytes_, output_.pending_bytes());
  std::array<iovec, 8> pieces;
  while (!output_.empty()) {
    const int count = output_.FillIovec(pieces.data(), static_cast<int>(pieces.size()));
    std::size_t total = 0;
    for (int i = 0; i < count; ++i) {
      const iovec& piece = pieces[static_cast<std::size_t>(i)];
      sent.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
      total += piece.iov_len;
    }
    output_.Consume(total);
  }
}

}  // namespace podcache::testing
