#include "server/log.h"

#include <unistd.h>

#include <atomic>
#include <string>

namespace podcache::server {

namespace {

std::atomic<int> verbosity{0};

// One write a line, so that lines of several threads do not mix.
void Print(std::string_view text) {
  const std::string line = "podcached: " + std::string(text) + "\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void SetVerbosity(int level) noexcept { verbosity.store(level); }

void LogInfo(std::string_view text) {
  if (verbosity.load() > 0) Print(text);
}

void LogWarning(std::string_view text) { Print(text); }

void LogError(std::string_view text) { Print(text); }

}  // namespace podcache::server
