// What podcachectl does against one server, one function per command: writes to `out`, returns an
// error or nothing.
//
// Threads: one.
#pragma once

#include <iosfwd>

#include "common/status/status.h"
#include "operator/ctl/options.h"

namespace podcache::control {

class AdminConnection;

// Where the output goes.
struct Terminal {
  std::ostream& out;
  bool is_tty = false;  // Progress and top redraw in place.
};

// Any command but status and top.
absl::Status RunCommand(const CtlOptions& options, AdminConnection& server,
                        const Terminal& terminal);

}  // namespace podcache::control
