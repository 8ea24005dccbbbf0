// What all workers of a pool have in common; fixed at start.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "server/net/connection.h"
#include "server/net/lingering_closes.h"

namespace podcache::net {

struct WorkerSettings {
  std::size_t receive_buffer_bytes = 64U << 10;
  Watermarks watermarks;
  LingerSettings linger = {};
  // Connections without input for this long are closed; 0 = never.
  std::chrono::seconds idle_timeout{0};
  // How often they are looked for.
  std::chrono::milliseconds idle_check_period{500};
  // How often connections that receive a stream are looked after.
  std::chrono::milliseconds stream_period{10};
  // What all connections together may keep of half-received requests, 0 = as much as there is; and
  // what a client is told before it is closed because of that.
  std::uint64_t tail_limit_bytes = 0;
  std::string tails_full_text;
  // Told of memory taken (positive) and given back by connections and buffers, a few KiB at a time;
  // any thread.
  std::function<void(std::int64_t delta_bytes)> charge_memory = [](std::int64_t) {};
};

}  // namespace podcache::net
