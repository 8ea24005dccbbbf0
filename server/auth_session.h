// A connection that has to authenticate (-Y): nothing but user and password is taken, then the text
// session takes over.
//
// Threads: the worker that owns the connection. Source: protocol.md 5.
#pragma once

#include <memory>
#include <span>

#include "common/base/output_buffer.h"
#include "server/authenticator.h"
#include "server/net/request_handler.h"

namespace podcache {

class AuthSession final : public net::ConnectionHandler {
 public:
  // `authenticator` outlives it.
  explicit AuthSession(const Authenticator& authenticator) noexcept
      : authenticator_(authenticator) {}

  net::HandlerResult OnInput(net::WorkerHandler& worker, std::span<const char> input,
                             OutputBuffer& output) override;
  net::HandlerResult OnDirect(net::WorkerHandler& worker, std::size_t n,
                              OutputBuffer& output) override;
  bool AtRequestBoundary() const noexcept override { return true; }
  std::unique_ptr<net::ConnectionHandler> TakeSuccessor() override;

 private:
  const Authenticator& authenticator_;
};

}  // namespace podcache
