// A connection whose protocol is not known yet: its first byte decides, then a session of that
// protocol takes over.
//
// Threads: the worker that owns the connection. Source: protocol.md 4.
#pragma once

#include <memory>
#include <span>

#include "common/base/output_buffer.h"
#include "server/net/request_handler.h"
#include "server/wire_protocol.h"

namespace podcache {

// A handler for clients that speak `protocol`.
std::unique_ptr<net::ConnectionHandler> NewSession(WireProtocol protocol);

// What a conversation that begins with this byte is spoken in, where both are allowed.
WireProtocol ProtocolOf(char first_byte) noexcept;

class NegotiatingSession final : public net::ConnectionHandler {
 public:
  net::HandlerResult OnInput(net::WorkerHandler& worker, std::span<const char> input,
                             OutputBuffer& output) override;
  net::HandlerResult OnDirect(net::WorkerHandler& worker, std::size_t n,
                              OutputBuffer& output) override;
  bool AtRequestBoundary() const noexcept override { return true; }
  std::unique_ptr<net::ConnectionHandler> TakeSuccessor() override;

 private:
  WireProtocol chosen_ = WireProtocol::kText;
};

}  // namespace podcache
