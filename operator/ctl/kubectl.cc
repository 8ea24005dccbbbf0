#include "operator/ctl/kubectl.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

extern char** environ;

namespace podcache::control {

namespace {

constexpr char kKubectl[] = "kubectl";
constexpr char kToolInContainer[] = "/podcachectl";

std::vector<std::string> Kubectl(const CtlOptions& options) {
  std::vector<std::string> command = {kKubectl};
  if (!options.kubeconfig.empty()) command.push_back("--kubeconfig=" + options.kubeconfig);
  if (!options.context.empty()) command.push_back("--context=" + options.context);
  if (!options.name_space.empty()) command.push_back("--namespace=" + options.name_space);
  return command;
}

std::vector<char*> Pointers(const std::vector<std::string>& command) {
  std::vector<char*> pointers;
  // exec and spawn do not write to them; their types are from before const.
  for (const std::string& word : command) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

absl::Status CannotRun(const std::string& program, int code) {
  return FailedPrecondition("cannot run " + program + ": " + std::strerror(code) +
                            (code == ENOENT ? " (is it installed and in the PATH?)" : ""));
}

}  // namespace

std::vector<std::string> ExecInPodCommand(const CtlOptions& options, bool interactive) {
  std::vector<std::string> command = Kubectl(options);
  command.emplace_back("exec");
  if (interactive) command.emplace_back("-it");
  command.insert(command.end(), {options.pod, "-c", options.container, "--", kToolInContainer});
  const std::vector<std::string> rest = ArgumentsInContainer(options);
  command.insert(command.end(), rest.begin(), rest.end());
  return command;
}

std::vector<std::string> GetSidecarsCommand(const CtlOptions& options) {
  std::vector<std::string> command = Kubectl(options);
  command.insert(command.end(), {"get", "cachesidecars.podcache.dev", "-o", "json"});
  if (options.all_namespaces) command.emplace_back("--all-namespaces");
  return command;
}

absl::Status ReplaceProcess(const std::vector<std::string>& command) {
  execvp(command[0].c_str(), Pointers(command).data());
  return CannotRun(command[0], errno);
}

absl::StatusOr<std::string> RunAndRead(const std::vector<std::string>& command,
                                       std::size_t max_bytes) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return Internal(std::string("pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int code = posix_spawnp(&child, command[0].c_str(), &actions, nullptr,
                                Pointers(command).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  std::array<char, 16384> piece{};
  for (ssize_t n = 0; code == 0 && text.size() < max_bytes;) {
    n = read(ends[0], piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  if (code != 0) return CannotRun(command[0], code);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return FailedPrecondition(command[0] + " failed; its message is above");
  }
  return text;
}

}  // namespace podcache::control
