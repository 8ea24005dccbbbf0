// Composition root of podcache-operator: builds the parts, starts and stops them in order.
//
//   start: health and metrics → API server answers → certificates and webhook, on every replica →
//          caches → leadership → controllers
//   stop:  controllers → lease → caches → webhook → certificates → health and metrics
//
// /healthz depends on nothing but the process; /readyz says that this replica's webhook serves and
// its caches are filled, leader or not. Losing the lease ends Run with an error: the process exits
// and starts clean.
//
// Threads: Run on one thread, which it blocks; the stop may come from any.
#pragma once

#include <memory>
#include <stop_token>

#include "absl/status/status.h"
#include "common/logging/logger.h"
#include "operator/options.h"

namespace podcache::control {

class Operator {
 public:
  Operator(Options options, Logger log);
  ~Operator();

  // Until the stop (OK) or a failure that only a new start can mend.
  absl::Status Run(const std::stop_token& stop);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace podcache::control
