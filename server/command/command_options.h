// What the operator of a server may switch in the command set; fixed at start.
#pragma once

#include <cstdint>

#include "common/base/adjustable_clock.h"

namespace podcache::command {

struct CommandOptions {
  bool flush_enabled = true;      // -F clears it.
  bool shutdown_enabled = false;  // -A sets it.
  bool watch_enabled = true;      // -W clears it.
  // `stats detail`: -D.
  char prefix_delimiter = ':';
  bool detail_enabled = false;
  // Test builds: what debugtime moves. Without it there is no such command.
  AdjustableClock* test_clock = nullptr;
  // Requests a connection may use up before others get their turn (-R, 0 = the built-in value).
  std::uint32_t requests_per_turn = 0;
};

}  // namespace podcache::command
