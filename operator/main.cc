// podcache-operator: options → Operator → wait for a signal → stop.
#include <pthread.h>
#include <signal.h>

#include <stop_token>
#include <thread>

#include "common/logging/logger.h"
#include "common/status/status.h"
#include "operator/operator.h"
#include "operator/options.h"

namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Waits in short turns, so that it also ends when the operator does on its own.
void WaitForSignal(const std::stop_token& ended, std::stop_source& stop) {
  const sigset_t signals = StopSignals();
  const timespec turn{.tv_sec = 0, .tv_nsec = 100'000'000};
  while (!ended.stop_requested()) {
    if (sigtimedwait(&signals, nullptr, &turn) > 0) {
      stop.request_stop();
      return;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  podcache::control::Options options;
  switch (podcache::control::ParseOptions(argc, argv, options)) {
    case podcache::control::ParseResult::kExitOk:
      return 0;
    case podcache::control::ParseResult::kExitUsage:
      return 2;
    case podcache::control::ParseResult::kRun:
      break;
  }
  // Before any thread starts, so that all of them inherit it.
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  const podcache::Logger log = podcache::Logger::ToStderr(options.log_level);
  std::stop_source stop;
  std::jthread waiter([&stop](const std::stop_token& ended) { WaitForSignal(ended, stop); });
  podcache::control::Operator app(std::move(options), log);
  const absl::Status status = app.Run(stop.get_token());
  if (stop.stop_requested() && status.ok()) {
    log.Info("Stopped");
    return 0;
  }
  log.Error("Operator ends", {{"error", podcache::MessageOf(status)}});
  return 1;
}
