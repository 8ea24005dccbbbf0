// A trace replayed as an application would use a cache (look-aside): get; on a miss, set. Misses
// are counted here, not by the server.
//
// Requests for different keys are sent together, a window at a time; one for a key that is in the
// window already waits for the next, so every key sees its requests in order.
//
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/benchmark/load/client_socket.h"
#include "tests/benchmark/load/items.h"
#include "tests/benchmark/load/trace.h"

namespace podcache::bench {

// What is replayed against: a server, in tests a cache that is known.
class ReplayCache {
 public:
  virtual ~ReplayCache() = default;
  // found[i] says whether the key of request i is there. The keys are different ones.
  virtual void Get(std::span<const TraceRequest> requests, std::vector<bool>& found) = 0;
  // In order: sets and deletes.
  virtual void Change(std::span<const TraceRequest> requests) = 0;
};

class WireCache final : public ReplayCache {
 public:
  // max_value_bytes: of any value. ttl_scale: times to live are divided by it; 0: none is set.
  WireCache(const std::string& address, std::size_t max_value_bytes, double ttl_scale);

  void Get(std::span<const TraceRequest> requests, std::vector<bool>& found) override;
  void Change(std::span<const TraceRequest> requests) override;
  // Items that the server did not take (too large, out of memory).
  std::uint64_t refused() const noexcept { return refused_; }

 private:
  void AppendKey(const TraceRequest& request);
  std::uint64_t Exptime(const TraceRequest& request) const;
  void SendAll();
  // The next line, or bytes, received. Valid until the next call.
  std::string_view ReadLine();
  std::string_view ReadBytes(std::size_t n);
  void ReceiveMore();

  ClientSocket socket_;
  const Items values_;
  const double ttl_scale_;
  std::string out_;
  std::string in_;
  std::size_t at_ = 0;  // In `in_`.
  std::uint64_t refused_ = 0;
};

struct ReplayResult {
  std::uint64_t requests = 0;
  std::uint64_t gets = 0;
  std::uint64_t misses = 0;
  std::uint64_t bytes = 0;  // Of values that were got.
  std::uint64_t missed_bytes = 0;
};

struct ReplayPlan {
  std::size_t window = 32;
  std::uint64_t skip = 0;                   // Requests at the beginning that only warm up.
  std::uint64_t limit = ~0ULL;              // Of all requests.
  std::uint32_t max_value_bytes = 1 << 20;  // Larger values are cut to this.
  double time_scale = 0;                    // Not 0: this many seconds of the trace in one.
};

ReplayResult Replay(Trace& trace, ReplayCache& cache, const ReplayPlan& plan);

}  // namespace podcache::bench
