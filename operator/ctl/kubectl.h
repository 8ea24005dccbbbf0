// Reaching Kubernetes through the user's own kubectl: his configuration, his rights, his
// authentication plugins.
//
// Threads: one.
#pragma once

#include <string>
#include <vector>

#include "common/status/status.h"
#include "operator/ctl/options.h"

namespace podcache::control {

// kubectl exec … -- /podcachectl …: the same command, run in the pod's cache container on its admin
// socket. With `interactive` the terminal is passed through.
std::vector<std::string> ExecInPodCommand(const CtlOptions& options, bool interactive);

// kubectl get cachesidecars … -o json.
std::vector<std::string> GetSidecarsCommand(const CtlOptions& options);

// Becomes that command; returns only if it cannot be started.
absl::Status ReplaceProcess(const std::vector<std::string>& command);

// Runs it and returns its standard output; standard error goes to ours. At most `max_bytes` are
// read.
absl::StatusOr<std::string> RunAndRead(const std::vector<std::string>& command,
                                       std::size_t max_bytes = 64U << 20);

// The table of `podcachectl status` from the answer of GetSidecarsCommand.
absl::StatusOr<std::string> RenderSidecars(const std::string& json, bool with_namespace);

}  // namespace podcache::control
