#include "operator/ctl/commands.h"

#include <fmt/format.h>

#include <ostream>
#include <string>

#include "operator/ctl/admin_connection.h"
#include "operator/ctl/render.h"
#include "podcache/admin/v1/admin.pb.h"

namespace podcache::control {

namespace v1 = admin::v1;

namespace {

constexpr char kClearLine[] = "\r\x1b[K";

// Shows a resize while it runs: in place on a terminal, else a line whenever something other than
// the time changed.
class ProgressView {
 public:
  ProgressView(const Terminal& terminal, bool json) : terminal_(terminal), json_(json) {}

  void Show(const v1::ResizeProgress& progress) {
    if (json_) {
      terminal_.out << RenderJson(progress, false) << std::flush;
      return;
    }
    const std::string line = RenderProgress(progress);
    if (terminal_.is_tty) {
      terminal_.out << kClearLine << line << std::flush;
      if (progress.done()) terminal_.out << "\n";
    } else if (line != last_) {
      terminal_.out << line << "\n" << std::flush;
    }
    last_ = line;
  }

 private:
  const Terminal& terminal_;
  const bool json_;
  std::string last_;
};

double Seconds(const v1::ResizeProgress& progress) {
  return static_cast<double>(progress.elapsed().seconds()) + progress.elapsed().nanos() / 1e9;
}

// The last message says that the resize is over, not that it was ours.
absl::Status CheckOutcome(const CtlOptions& options, const v1::ResizeProgress& last) {
  const bool memory = options.verb == Verb::kSetMemory;
  const std::uint64_t asked = memory ? options.memory_bytes : options.threads;
  const std::uint64_t target = memory ? last.memory_target_bytes() : last.threads_target();
  const std::uint64_t actual = memory ? last.memory_limit_bytes() : last.threads_running();
  if (target != asked) {
    return MakeStatus(
        absl::StatusCode::kAborted,
        fmt::format("somebody else asked for {} meanwhile; that is in force now", target));
  }
  if (actual != asked) {
    return FailedPrecondition(
        fmt::format("{} is in force, not {}: the cgroup does not hold more", actual, asked));
  }
  return absl::OkStatus();
}

absl::Status Set(const CtlOptions& options, AdminConnection& server, const Terminal& terminal) {
  const bool memory = options.verb == Verb::kSetMemory;
  PODCACHE_ASSIGN_OR_RETURN(const v1::Config accepted, memory
                                                           ? server.SetMemory(options.memory_bytes)
                                                           : server.SetThreads(options.threads));
  if (!options.wait) {
    if (options.json) {
      terminal.out << RenderJson(accepted, true);
    } else {
      terminal.out << "accepted: " << (memory ? RenderMemory(accepted) : RenderThreads(accepted));
    }
    return absl::OkStatus();
  }
  ProgressView view(terminal, options.json);
  PODCACHE_ASSIGN_OR_RETURN(
      const v1::ResizeProgress last,
      server.WatchResize(options.timeout,
                         [&](const v1::ResizeProgress& progress) { view.Show(progress); }));
  PODCACHE_RETURN_IF_ERROR(CheckOutcome(options, last));
  if (options.json) return absl::OkStatus();
  if (memory) {
    terminal.out << fmt::format("done in {:.2f} s: limit {}, resident {}, {} items evicted\n",
                                Seconds(last), ShortBytes(last.memory_limit_bytes()),
                                ShortBytes(last.resident_memory_bytes()), last.items_evicted());
  } else {
    terminal.out << fmt::format("done: {} threads\n", last.threads_running());
  }
  return absl::OkStatus();
}

absl::Status Get(const CtlOptions& options, AdminConnection& server, std::ostream& out) {
  PODCACHE_ASSIGN_OR_RETURN(const v1::Config config, server.GetConfig());
  const bool memory = options.verb == Verb::kGetMemory;
  if (options.json) {
    out << (memory ? RenderJson(config.memory(), true) : RenderJson(config.threads(), true));
  } else {
    out << (memory ? RenderMemory(config) : RenderThreads(config));
  }
  return absl::OkStatus();
}

absl::Status Info(const CtlOptions& options, AdminConnection& server, std::ostream& out) {
  PODCACHE_ASSIGN_OR_RETURN(const v1::ServerInfo info, server.GetServerInfo());
  out << (options.json ? RenderJson(info, true) : RenderInfo(info));
  return absl::OkStatus();
}

absl::Status Stats(const CtlOptions& options, AdminConnection& server, std::ostream& out) {
  PODCACHE_ASSIGN_OR_RETURN(const v1::Stats stats, server.GetStats());
  out << (options.json ? RenderJson(stats, true) : RenderStats(stats));
  return absl::OkStatus();
}

absl::Status Flush(const CtlOptions& options, AdminConnection& server, std::ostream& out) {
  PODCACHE_RETURN_IF_ERROR(server.Flush(options.delay));
  if (options.json) {
    out << "{}\n";
  } else if (options.delay.count() == 0) {
    out << "flushed\n";
  } else {
    out << "will be flushed in " << options.delay.count() << " s\n";
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunCommand(const CtlOptions& options, AdminConnection& server,
                        const Terminal& terminal) {
  switch (options.verb) {
    case Verb::kInfo:
      return Info(options, server, terminal.out);
    case Verb::kStats:
      return Stats(options, server, terminal.out);
    case Verb::kGetMemory:
    case Verb::kGetThreads:
      return Get(options, server, terminal.out);
    case Verb::kSetMemory:
    case Verb::kSetThreads:
      return Set(options, server, terminal);
    case Verb::kFlush:
      return Flush(options, server, terminal.out);
    case Verb::kTop:
    case Verb::kStatus:
      break;
  }
  return Internal("not a command for one server");
}

}  // namespace podcache::control
