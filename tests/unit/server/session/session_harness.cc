#include "tests/unit/server/session/session_harness.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace podcache::testing {

Harness::Harness(const command::CommandOptions& options, const store::StoreOptions& store_options)
    : store(store_options, clock),
      factory(NewSessionFactory(store, registry, context, clock, options)),
      worker(factory->NewWorker()) {}

std::string Harness::Ask(std::string_view input) { return Connection(*this).Receive(input); }

Connection::Connection(Harness& harness) : Connection(*harness.worker) {}

Connection::Connection(net::WorkerHandler& worker)
    : worker_(worker), handler_(worker_.NewConnection({})) {}

std::string Connection::Receive(std::string_view bytes) {
  std::string sent;
  while (!direct_.empty() && !bytes.empty()) {
    const std::size_t n = std::min(direct_.size(), bytes.size());
    std::memcpy(direct_.data(), bytes.data(), n);
    bytes.remove_prefix(n);
    direct_bytes_ += n;
    Take(handler_->OnDirect(worker_, n, output_), sent);
  }
  input_ += bytes;
  // A buffer of exactly its size, so that sanitizers see a read beyond it.
  while (!closed_ && !input_.empty()) {
    const std::vector<char> input(input_.begin(), input_.end());
    Take(handler_->OnInput(worker_, input, output_), sent);
    if (!yielded_) break;
  }
  return sent;
}

void Connection::Take(const net::HandlerResult& result, std::string& sent) {
  worker_.EndTurn();
  input_.erase(0, result.consumed);
  yielded_ = result.next == net::NextStep::kYield;
  yields_ += yielded_ ? 1 : 0;
  closed_ = result.next == net::NextStep::kClose;
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
