// How long single operations take, and which of the long ones the engine is to blame for.
//
// While a long operation ran, the kernel may have given the CPU to somebody else: that is told
// apart by the thread's count of involuntary context switches. A hypervisor that does the same is
// not.
//
// Threads: one owner.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "tests/benchmark/load/histogram.h"

namespace podcache::bench {

class OpTimer {
 public:
  template <class Op>
  void Time(Op&& op) {
    if (++ops_ % kOpsPerLook == 0) switches_ = Switches();
    const Clock::time_point start = Clock::now();
    op();
    const auto ns = static_cast<std::uint64_t>((Clock::now() - start).count());
    all_.Record(ns);
    if (ns < kLongNs) return;
    const std::uint64_t before = switches_;
    switches_ = Switches();
    if (switches_ == before) longest_on_cpu_ns_ = std::max(longest_on_cpu_ns_, ns);
  }

  const Histogram& all() const noexcept { return all_; }
  // Of those that were not interrupted; 0 if all were shorter than kLongNs.
  std::uint64_t longest_on_cpu_ns() const noexcept { return longest_on_cpu_ns_; }

  void Merge(const OpTimer& other) {
    all_.Merge(other.all_);
    longest_on_cpu_ns_ = std::max(longest_on_cpu_ns_, other.longest_on_cpu_ns_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kLongNs = 20'000;
  static constexpr std::uint64_t kOpsPerLook = 64;

  static std::uint64_t Switches() noexcept {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return static_cast<std::uint64_t>(usage.ru_nivcsw);
  }

  Histogram all_;
  std::uint64_t ops_ = 0;
  std::uint64_t switches_ = Switches();
  std::uint64_t longest_on_cpu_ns_ = 0;
};

}  // namespace podcache::bench
