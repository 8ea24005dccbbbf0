// The command line of podcachectl, read and checked once.
//
// Threads: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace podcache::control {

enum class Verb : std::uint8_t {
  kInfo,
  kStats,
  kGetMemory,
  kGetThreads,
  kSetMemory,
  kSetThreads,
  kTop,
  kFlush,
  kStatus,
};

// Exit codes, as --help lists them.
inline constexpr int kExitOk = 0;
inline constexpr int kExitRefused = 1;      // The server, or kubectl, said no.
inline constexpr int kExitUsage = 2;        // The command line makes no sense.
inline constexpr int kExitUnreachable = 3;  // Nobody answered, or not in time.

struct CtlOptions {
  Verb verb = Verb::kInfo;
  std::string address = "127.0.0.1:9151";
  // With a pod the tool runs itself inside its container, through kubectl.
  std::string pod;
  std::string name_space;  // Empty: kubectl's current one.
  std::string container = "podcache";
  std::string context;
  std::string kubeconfig;
  bool json = false;

  std::uint64_t memory_bytes = 0;
  std::uint32_t threads = 0;
  bool wait = true;
  std::chrono::seconds timeout{300};
  std::chrono::milliseconds interval{1000};
  bool once = false;
  std::chrono::seconds delay{0};
  bool all_namespaces = false;
};

struct ParsedOptions {
  CtlOptions options;
  bool run = false;  // False: print `text` and exit with `exit_code` (help, version, an error).
  int exit_code = kExitOk;
  std::string text;  // For standard output if exit_code is kExitOk, else for standard error.
};

// `program` is argv[0]: as kubectl-podcache it is a plugin of kubectl and wants a pod.
ParsedOptions ParseOptions(const std::string& program, const std::vector<std::string>& arguments);

// The arguments with which the tool in the container does the same against its own server.
std::vector<std::string> ArgumentsInContainer(const CtlOptions& options);

}  // namespace podcache::control
