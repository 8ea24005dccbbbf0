// Latency under a load that does not wait for the server (an open loop).
//
// Requests are due at times fixed beforehand, and each is timed from then: a server that stalls is
// charged for all requests that were due meanwhile, also for those that could be sent only later
// (without that, a closed loop omits in a coordinated way just the requests that would have seen
// the stall).
//
// Threads: one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "tests/benchmark/load/batch.h"
#include "tests/benchmark/load/client_socket.h"
#include "tests/benchmark/load/histogram.h"
#include "tests/benchmark/load/random.h"
#include "tests/benchmark/load/reply_reader.h"
#include "tests/benchmark/load/request_source.h"

namespace podcache::bench {

// When batches are due: independent arrivals (exponential gaps) at a mean rate.
class ArrivalSchedule {
 public:
  ArrivalSchedule(double per_second, std::chrono::nanoseconds start, std::uint64_t seed);

  std::chrono::nanoseconds due() const noexcept { return due_; }
  void Advance() noexcept;

 private:
  const double mean_gap_ns_;
  double offset_ns_ = 0;
  const std::chrono::nanoseconds start_;
  std::chrono::nanoseconds due_;
  Random random_;
};

// Which replies of one connection are still to come, and since when they are due.
class LatencyLedger {
 public:
  void Sent(std::chrono::nanoseconds due, std::uint64_t replies) {
    waiting_.push_back({due, replies});
    outstanding_ += replies;
  }
  // The next `replies` ones have come; those due before `measure_from` are not recorded. Not more
  // than outstanding().
  void Answered(std::uint64_t replies, std::chrono::nanoseconds now,
                std::chrono::nanoseconds measure_from, Histogram& histogram);
  std::uint64_t outstanding() const noexcept { return outstanding_; }

 private:
  struct Waiting {
    std::chrono::nanoseconds due;
    std::uint64_t replies;
  };
  std::deque<Waiting> waiting_;
  std::uint64_t outstanding_ = 0;
};

struct OpenLoopPlan {
  double batches_per_second = 0;
  std::chrono::nanoseconds warm_up{0};
  std::chrono::nanoseconds duration{0};
  std::uint64_t seed = 1;
};

struct OpenLoopResult {
  Histogram latency;
  std::uint64_t errors = 0;
  std::uint64_t unanswered = 0;  // Given up after the end.
  std::string complaint;
};

class OpenLoop {
 public:
  explicit OpenLoop(const Clock& clock) : clock_(clock) {}

  void Add(const std::string& address, std::unique_ptr<RequestSource> source,
           std::unique_ptr<ReplyReader> reader);
  // Throws Failure.
  OpenLoopResult Run(const OpenLoopPlan& plan);

 private:
  struct Link {
    ClientSocket socket;
    std::unique_ptr<RequestSource> source;
    std::unique_ptr<ReplyReader> reader;
    LatencyLedger ledger = {};
    std::string unsent = {};
  };
  void SendDue(Link& link, std::chrono::nanoseconds due);
  void FlushUnsent();
  void Receive(Link& link, OpenLoopResult& result);
  std::uint64_t outstanding() const noexcept;

  const Clock& clock_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<Link*> blocked_;  // With something unsent.
  std::vector<char> room_;
  std::chrono::nanoseconds measure_from_{0};
};

}  // namespace podcache::bench
