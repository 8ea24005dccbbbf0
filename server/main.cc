// podcached: options → server → wait for a signal → stop.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "common/base/adjustable_clock.h"
#include "common/base/clock.h"
#include "common/base/version.h"
#include "common/cgroup/cgroup.h"
#include "server/log.h"
#include "server/option_table.h"
#include "server/options.h"
#include "server/pod_config.h"
#include "server/process_setup.h"
#include "server/server.h"
#include "server/start_sizes.h"
#include "server/store/store.h"

namespace podcache::server {

namespace {

// The least a cache works with.
constexpr std::uint64_t kSmallestMemoryBytes = 1ULL << 20;

void PrintVersion() {
  std::printf("podcached %s (memcached %s)\n", std::string(Version()).c_str(),
              std::string(ProtocolVersion()).c_str());
}

int Refuse(const std::string& error, int exit_code) {
  LogError(error);
  return exit_code;
}

// True if something was asked for that only prints.
bool PrintAndEnd(const Options& options) {
  if (options.help) {
    PrintVersion();
    std::fputs(HelpText().c_str(), stdout);
  } else if (options.version) {
    PrintVersion();
  } else if (options.license) {
    PrintVersion();
    std::puts("See the LICENSE file of the source package. libevent: 3-clause BSD licence.");
  }
  return options.help || options.version || options.license;
}

// What the kernel may refuse without making the server useless.
void ArrangeOptional(const Options& options, const StartSizes& sizes) {
  std::string error;
  if (options.core_dumps && !RaiseCoreLimit(error)) LogWarning(error);
  if (options.large_pages && !LargePagesOffered(error)) LogWarning("-L: " + error);
  if (options.large_pages && sizes.memory_limit_bytes < store::kMinLargePageLimitBytes) {
    LogWarning("-L: a memory of " + std::to_string(sizes.memory_limit_bytes) +
               " bytes is too small for large pages; it needs " +
               std::to_string(store::kMinLargePageLimitBytes));
  }
}

int Main(int argc, const char* const* argv) {
  Options options;
  std::string error;
  if (!ParseOptions(argc, argv, options, error)) return Refuse(error, kExitUsage);
  if (PrintAndEnd(options)) return 0;
  if (!ValidateOptions(options, error)) return Refuse(error, kExitUsage);
  SetVerbosity(options.settings.verbosity);

  PodConfig pod;
  const char* const pod_text = std::getenv("PODCACHE_POD_CONFIG");
  if (pod_text != nullptr && !ParsePodConfig(pod_text, pod, error))
    return Refuse(error, kExitUsage);

  const cgroup::Reader cgroup;
  StartSizes sizes;
  if (!ChooseStartSizes(options, pod_text != nullptr ? &pod : nullptr, LookAround(cgroup),
                        kSmallestMemoryBytes, sizes, error)) {
    return Refuse(error, kExitUsage);
  }
  for (const std::string& note : sizes.notes) LogWarning(note);

  ArrangeOptional(options, sizes);
  if (!EnsureDescriptors(sizes.max_connections, !options.max_connections_given, error)) {
    return Refuse(error, kExitOsError);
  }
  if (!error.empty()) LogWarning(error);
  if (!DropPrivileges(options.user, error)) return Refuse(error, kExitUsage);
  if (options.daemonize && !Daemonize(error)) return Refuse(error, kExitOsError);
  if (options.lock_memory && !LockMemory(error)) LogWarning("-k: " + error);

#ifdef PODCACHE_TEST_HOOKS
  AdjustableClock clock;
#else
  const SystemClock clock;
#endif
  Server server(options, sizes, cgroup, clock, pod.config_hash);
#ifdef PODCACHE_TEST_HOOKS
  server.set_test_clock(clock);
#endif
  if (!server.Start(error)) return Refuse(error, kExitUnavailable);
  server.Run();
  return 0;
}

}  // namespace

}  // namespace podcache::server

int main(int argc, char** argv) {
  podcache::server::EndOnEarlySignals();
  // Libraries of the control path may throw; here is the one place where that ends.
  try {
    return podcache::server::Main(argc, argv);
  } catch (const std::exception& failure) {
    podcache::server::LogError(failure.what());
    return podcache::server::kExitOsError;
  }
}
