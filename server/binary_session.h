// One connection speaking the binary protocol: packets in, requests executed, packets out.
//
// Consecutive retrieval requests are gathered in the worker's batch; anything else first flushes
// it, so replies keep the order of the requests. Between calls nothing refers to the input.
//
// Threads: the worker that owns the connection. Invariant: the replies do not depend on how the
// input is cut. Source: protocol.md 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "common/base/output_buffer.h"
#include "server/net/request_handler.h"
#include "server/protocol/binary_parser.h"
#include "server/store/store.h"

namespace podcache {

struct SessionTurn;

class BinarySession final : public net::ConnectionHandler {
 public:
  net::HandlerResult OnInput(net::WorkerHandler& worker, std::span<const char> input,
                             OutputBuffer& output) override;
  net::HandlerResult OnDirect(net::WorkerHandler& worker, std::size_t n,
                              OutputBuffer& output) override;
  bool AtRequestBoundary() const noexcept override { return state_ == State::kRequest; }
  net::Activity activity() const noexcept override;
  std::unique_ptr<net::ConnectionHandler> TakeSuccessor() override { return std::move(successor_); }

 private:
  enum class State : std::uint8_t {
    kRequest,   // At the start of a packet.
    kValue,     // Inside a value.
    kSkip,      // Swallowing the rest of a refused packet.
    kClosed,    // The client has said so.
    kReplaced,  // By the successor.
    kAborted,   // What it sent cannot be made sense of.
  };
  enum class Step : std::uint8_t { kGoOn, kNeedInput };
  using Turn = SessionTurn;

  net::HandlerResult Run(Turn& turn);
  net::HandlerResult WantMore(const Turn& turn) noexcept;

  Step Advance(Turn& turn);
  Step OnRequest(Turn& turn);
  Step OnValue(Turn& turn);
  Step OnSkip(Turn& turn);

  Step RunRequest(Turn& turn, const protocol::BinaryRequest& request);
  Step AddGet(Turn& turn, const protocol::BinaryRequest& request);
  Step StartValue(Turn& turn, const protocol::BinaryRequest& request);
  Step Skip(std::uint64_t bytes) noexcept;
  void Quit(Turn& turn, const protocol::BinaryRequest& request);

  std::unique_ptr<net::ConnectionHandler> successor_;
  store::WriteHandle handle_;
  std::uint64_t compare_cas_ = 0;
  std::uint64_t left_bytes_ = 0;  // Of what is skipped.
  protocol::BinaryHead head_;     // Of the request whose value arrives.
  State state_ = State::kRequest;
};
static_assert(sizeof(BinarySession) <= 96, "idle connections are counted by the hundred thousand");

}  // namespace podcache
