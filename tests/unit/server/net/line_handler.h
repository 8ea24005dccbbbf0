// A small line protocol behind net's interfaces, that uses everything a real one may: replies,
// direct receives, budgets, half-done requests, pinned payloads, closing.
//
//   <word>⏎          the same word (anything that is no command below)
//   put <n>⏎<bytes>  "sum <Adler-like sum>"; the bytes go straight into memory of the worker's
//   handler big <n>⏎         n bytes of Pattern(), made in pieces with a yield between pin <n>⏎ n
//   bytes of Pattern() as one pinned payload quit⏎            "bye", close; abort⏎ close; stream⏎
//   another handler takes over: "begun", then "tick" again and again
// Lines end with \n.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "server/net/request_handler.h"

namespace podcache::net {

char PatternAt(std::size_t i);
std::string Pattern(std::size_t n);
std::uint32_t Checksum(std::string_view bytes);

struct LineStats {
  std::atomic<std::uint64_t> workers_made{0};
  std::atomic<std::uint64_t> workers_alive{0};
  std::atomic<std::uint64_t> connections_alive{0};
  std::atomic<std::uint64_t> pins_alive{0};
  std::atomic<std::uint64_t> handoffs{0};
  std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> yields{0};
  // Received and sent by one worker in one turn.
  std::atomic<std::uint64_t> most_turn_bytes{0};
  // By CloseReason.
  std::array<std::atomic<std::uint64_t>, 4> closed{};
  // A call that broke a rule of request_handler.h.
  std::atomic<std::uint64_t> violations{0};
};

class LineFactory final : public RequestHandlerFactory {
 public:
  explicit LineFactory(LineStats& stats) : stats_(stats) {}
  std::unique_ptr<WorkerHandler> NewWorker() override;

 private:
  LineStats& stats_;
};

}  // namespace podcache::net
