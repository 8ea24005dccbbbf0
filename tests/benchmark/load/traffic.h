// Connections that keep a server busy, by one thread: each has one batch of requests under way and
// sends the next when the last reply to it has come (a closed loop).
//
// Paced connections send only when those that are not paced have got far enough: so many sets for
// each thousand keys, whatever the speed of the server.
//
// Threads: Run on one thread; totals() and Stop from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/benchmark/load/batch.h"
#include "tests/benchmark/load/client_socket.h"
#include "tests/benchmark/load/epoll.h"
#include "tests/benchmark/load/reply_reader.h"
#include "tests/benchmark/load/request_source.h"

namespace podcache::bench {

struct Totals {
  std::uint64_t keys_asked = 0;  // Keys of gets that were answered.
  std::uint64_t keys_found = 0;
  std::uint64_t sets = 0;
  std::uint64_t requests = 0;
  std::uint64_t errors = 0;

  std::uint64_t operations() const noexcept { return keys_asked + sets; }
  Totals& operator+=(const Totals& other) noexcept;
  Totals operator-(const Totals& other) const noexcept;
};

class Traffic {
 public:
  explicit Traffic(std::uint32_t paced_sets_per_1000_keys = 0) : pace_(paced_sets_per_1000_keys) {}

  // Before Run. Throws Failure if the server cannot be reached.
  void Add(const std::string& address, std::unique_ptr<RequestSource> source,
           std::unique_ptr<ReplyReader> reader, bool paced = false);

  // Until Stop was called or the sources have ended, and then until everything is answered. Throws
  // Failure.
  void Run();
  void Stop() noexcept { stop_.store(true, std::memory_order_relaxed); }

  // What has been answered so far.
  Totals totals() const noexcept;
  // After Run: the first thing that was wrong; empty if nothing was.
  std::string complaint() const;

 private:
  struct Link {
    ClientSocket socket;
    std::unique_ptr<RequestSource> source;
    std::unique_ptr<ReplyReader> reader;
    bool paced;
    std::uint64_t outstanding = 0;  // Replies.
    Totals batch = {};              // What the batch under way counts for.
    std::string unsent = {};
    bool ended = false;
  };
  using Cell = std::atomic<std::uint64_t>;

  void OnReadable(Link& link);
  void OnWritable(Link& link);
  void SendNext(Link& link);
  void SendPaced();

  const std::uint32_t pace_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<char> room_;
  Epoll epoll_;
  std::size_t busy_ = 0;          // Links with a batch under way.
  std::uint64_t paced_sent_ = 0;  // Sets.
  std::atomic<bool> stop_{false};
  Cell keys_asked_{0};
  Cell keys_found_{0};
  Cell sets_{0};
  Cell requests_{0};
  Cell errors_{0};
};

}  // namespace podcache::bench
