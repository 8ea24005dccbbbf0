// A connection while a long reply is written to it: no request is taken off its input before the
// end, then it is what it was before.
//
// Back-pressure: a turn writes until the connection's share of unsent output is reached, the next
// one comes when the client has taken that. Threads: the worker that owns the connection.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "server/command/long_reply.h"
#include "server/net/request_handler.h"
#include "server/wire_protocol.h"

namespace podcache {

class ReplySession final : public net::ConnectionHandler {
 public:
  // `protocol` is what the connection speaks.
  ReplySession(std::unique_ptr<command::LongReply> reply, WireProtocol protocol) noexcept
      : reply_(std::move(reply)), protocol_(protocol) {}

  net::HandlerResult OnInput(net::WorkerHandler& worker, std::span<const char> input,
                             OutputBuffer& output) override;
  net::HandlerResult OnDirect(net::WorkerHandler& worker, std::size_t n,
                              OutputBuffer& output) override;
  bool AtRequestBoundary() const noexcept override { return false; }
  std::unique_ptr<net::ConnectionHandler> TakeSuccessor() override;

 private:
  std::unique_ptr<command::LongReply> reply_;
  const WireProtocol protocol_;
};

}  // namespace podcache
