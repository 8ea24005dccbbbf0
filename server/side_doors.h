// The seam to what people and other programs look in through: HTTP (metrics, probes) and the gRPC
// admin API.
//
// Behind an interface because the core is also built without gRPC (ThreadSanitizer).
// Threads: all functions from the server's main thread.
#pragma once

#include <memory>
#include <string>

#include "server/running_parts.h"

namespace podcache::server {

struct Options;

class SideDoors {
 public:
  virtual ~SideDoors() = default;
  // What is wrong with the environment or the addresses; opens nothing.
  virtual bool Check(std::string& error) = 0;
  // HTTP listens: alive, not ready. Before any slow set-up.
  virtual bool Start(std::string& error) = 0;
  // There is a cache to look at: metrics and gRPC.
  virtual bool Serve(const RunningParts& parts, std::string& error) = 0;
  virtual void SetReady(bool ready) = 0;
  virtual void Stop() = 0;
};

std::unique_ptr<SideDoors> NewSideDoors(const Options& options);

}  // namespace podcache::server
