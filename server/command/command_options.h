// What the operator of a server may switch in the command set; fixed at start.
#pragma once

#include <cstdint>

namespace podcache::command {

struct CommandOptions {
  bool flush_enabled = true;      // -F clears it.
  bool shutdown_enabled = false;  // -A sets it.
  bool watch_enabled = true;      // -W clears it.
  // Requests a connection may use up before others get their turn (-R, 0 = the built-in value).
  std::uint32_t requests_per_turn = 0;
};

}  // namespace podcache::command
