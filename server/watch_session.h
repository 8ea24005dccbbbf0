// A connection that watches: it receives lines until it closes, and what it sends is ignored.
//
// Threads: the worker that owns the connection; the watcher moves with it.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "common/base/output_buffer.h"
#include "server/net/request_handler.h"
#include "server/watch/watch_hub.h"

namespace podcache {

class WatchSession final : public net::ConnectionHandler {
 public:
  explicit WatchSession(std::unique_ptr<watch::Watcher> watcher) noexcept
      : watcher_(std::move(watcher)) {}

  net::HandlerResult OnInput(net::WorkerHandler& worker, std::span<const char> input,
                             OutputBuffer& output) override;
  net::HandlerResult OnDirect(net::WorkerHandler& worker, std::size_t n,
                              OutputBuffer& output) override;
  bool AtRequestBoundary() const noexcept override { return true; }
  net::Activity activity() const noexcept override { return net::Activity::kWatching; }

 private:
  std::unique_ptr<watch::Watcher> watcher_;
  bool greeted_ = false;
};

}  // namespace podcache
