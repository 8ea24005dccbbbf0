#include "server/process_setup.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace podcache::server {

namespace {

extern "C" void EndNow(int) { ::_exit(0); }

// Besides clients: listening sockets, event loops, admin connections, files.
constexpr rlim_t kOtherDescriptors = 256;

bool Fail(std::string& error, const std::string& what) {
  error = what + ": " + std::strerror(errno);
  return false;
}

// Whoever waits for the file to appear finds it complete.
bool ReplaceFile(const std::string& path, const char* suffix, const std::string& text) {
  const std::string temporary = path + suffix;
  std::ofstream file(temporary, std::ios::trunc);
  file << text;
  file.close();
  if (file && std::rename(temporary.c_str(), path.c_str()) == 0) return true;
  const int reason = errno;
  ::unlink(temporary.c_str());
  errno = reason;
  return false;
}

}  // namespace

void EndOnEarlySignals() noexcept {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) std::signal(number, EndNow);
  for (const int number : {SIGHUP, SIGPIPE}) std::signal(number, SIG_IGN);
}

bool DropPrivileges(const std::string& user, std::string& error) {
  if (::getuid() != 0 && ::geteuid() != 0) return true;
  if (user.empty()) {
    error = "as root the user to run as must be given: -u, --user";
    return false;
  }
  errno = 0;
  const passwd* const entry = ::getpwnam(user.c_str());
  if (entry == nullptr) {
    error = "-u: there is no user \"" + user + "\"";
    return false;
  }
  if (entry->pw_uid == ::getuid()) return true;
  if (::setgroups(0, nullptr) != 0 || ::setgid(entry->pw_gid) != 0 ||
      ::setuid(entry->pw_uid) != 0) {
    return Fail(error, "cannot become user \"" + user + "\"");
  }
  return true;
}

bool EnsureDescriptors(std::uint32_t& max_connections, bool may_lower, std::string& error) {
  const rlim_t needed = rlim_t{max_connections} + kOtherDescriptors;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return Fail(error, "cannot read the descriptor limit");
  if (limit.rlim_cur >= needed) return true;
  const rlim_t allowed = limit.rlim_max;
  limit = {needed, std::max(allowed, needed)};
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return true;
  error = "-c: " + std::to_string(max_connections) + " clients need a descriptor limit of " +
          std::to_string(needed) + ", but the system allows " + std::to_string(allowed);
  limit = {allowed, allowed};
  if (!may_lower || allowed <= kOtherDescriptors || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return false;
  }
  max_connections = static_cast<std::uint32_t>(allowed - kOtherDescriptors);
  return true;
}

bool RaiseCoreLimit(std::string& error) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_CORE, &limit) == 0) return true;
  if (::getrlimit(RLIMIT_CORE, &limit) != 0)
    return Fail(error, "cannot read the limit of core files");
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_CORE, &limit) != 0 || limit.rlim_cur == 0) {
    return Fail(error, "cannot raise the limit of core files");
  }
  return true;
}

bool LargePagesOffered(std::string& error) {
  constexpr const char* kSwitch = "/sys/kernel/mm/transparent_hugepage/enabled";
  std::ifstream file(kSwitch);
  std::string choices;
  std::getline(file, choices);
  if (choices.find("[always]") != std::string::npos ||
      choices.find("[madvise]") != std::string::npos) {
    return true;
  }
  error = std::string("the kernel gives no large pages (") + kSwitch + ": " +
          (choices.empty() ? "not there" : choices) + ")";
  return false;
}

bool LockMemory(std::string& error) {
  // On fault: reserved address space that is never used must not become memory.
  if (::mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0) return true;
  return Fail(error, "cannot lock memory");
}

bool Daemonize(std::string& error) {
  const pid_t child = ::fork();
  if (child < 0) return Fail(error, "cannot start in the background");
  if (child > 0) ::_exit(0);
  if (::setsid() < 0) return Fail(error, "cannot leave the terminal");
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return Fail(error, "cannot open /dev/null");
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::dup2(null, stream) < 0) return Fail(error, "cannot leave the standard streams");
  }
  if (null > STDERR_FILENO) ::close(null);
  return true;
}

bool WritePidFile(const std::string& path, std::string& error) {
  const std::string text = std::to_string(::getpid()) + '\n';
  return ReplaceFile(path, ".tmp", text) || Fail(error, "cannot write the pid file " + path);
}

bool WritePortFile(const std::string& path, const std::string& text, std::string& error) {
  return ReplaceFile(path, ".lck", text) || Fail(error, "cannot write the port file " + path);
}

}  // namespace podcache::server
