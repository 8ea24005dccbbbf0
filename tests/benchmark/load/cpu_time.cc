#include "tests/benchmark/load/cpu_time.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/benchmark/load/client_socket.h"

namespace podcache::bench {

CpuTime ReadCpuTime(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::stringstream text;
  text << file.rdbuf();
  // The name in brackets may contain anything, so fields are counted behind it.
  std::string fields = text.str();
  fields.erase(0, fields.rfind(')') + 1);
  std::istringstream rest(fields);
  constexpr int kFieldsBefore = 11;  // From the state to cmajflt.
  std::string field;
  for (int i = 0; i < kFieldsBefore; ++i) rest >> field;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  if (!(rest >> user >> system)) throw Failure("no process " + std::to_string(pid));
  const auto tick_us = 1'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return {user * tick_us, system * tick_us};
}

}  // namespace podcache::bench
