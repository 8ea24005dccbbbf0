// podcachectl, also installed as kubectl-podcache: options → one command → exit code.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "operator/ctl/admin_connection.h"
#include "operator/ctl/commands.h"
#include "operator/ctl/kubectl.h"
#include "operator/ctl/options.h"
#include "operator/ctl/top.h"

namespace podcache::control {
namespace {

double SleepFor(std::chrono::milliseconds interval) {
  const auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(interval);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

absl::Status ShowStatus(const CtlOptions& options) {
  PODCACHE_ASSIGN_OR_RETURN(const std::string json, RunAndRead(GetSidecarsCommand(options)));
  if (options.json) {
    std::cout << json;
    return absl::OkStatus();
  }
  PODCACHE_ASSIGN_OR_RETURN(const std::string table, RenderSidecars(json, options.all_namespaces));
  std::cout << table;
  return absl::OkStatus();
}

absl::Status Run(const CtlOptions& options) {
  const bool is_tty = isatty(STDOUT_FILENO) == 1;
  if (options.verb == Verb::kStatus) return ShowStatus(options);
  if (!options.pod.empty()) {
    return ReplaceProcess(ExecInPodCommand(options, is_tty && isatty(STDIN_FILENO) == 1));
  }
  AdminConnection server(options.address);
  const Terminal terminal{std::cout, is_tty};
  if (options.verb == Verb::kTop) return RunTop(options, server, terminal, SleepFor);
  return RunCommand(options, server, terminal);
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  const bool nobody = status.code() == absl::StatusCode::kUnavailable ||
                      status.code() == absl::StatusCode::kDeadlineExceeded;
  return nobody ? kExitUnreachable : kExitRefused;
}

int Main(const std::vector<std::string>& words) {
  // A closed pipe (podcachectl top | head) ends in a failed write, not in a signal.
  std::signal(SIGPIPE, SIG_IGN);
  // What gRPC would print about a failed connection is in our own message.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  const ParsedOptions parsed = ParseOptions(words[0], {words.begin() + 1, words.end()});
  if (!parsed.run) {
    (parsed.exit_code == kExitOk ? std::cout : std::cerr) << parsed.text;
    return parsed.exit_code;
  }
  const absl::Status status = Run(parsed.options);
  if (!status.ok()) std::cerr << "podcachectl: " << MessageOf(status) << "\n";
  return ExitCodeOf(status);
}

}  // namespace
}  // namespace podcache::control

int main(int argc, char** argv) { return podcache::control::Main({argv, argv + argc}); }
