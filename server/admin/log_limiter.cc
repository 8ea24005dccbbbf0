#include "server/admin/log_limiter.h"

#include <grpc/support/log.h>

#include <utility>

namespace podcache::admin {

namespace {

constexpr std::uint32_t kGrpcLinesPerMinute = 10;

LogLimiter* grpc_log =
    nullptr;  // Set once, before gRPC has threads; never freed: gRPC's threads end after main does.

void WriteGrpcLine(gpr_log_func_args* line) {
  if (line->severity == GPR_LOG_SEVERITY_ERROR) grpc_log->Write(line->message);
}

}  // namespace

LogLimiter::LogLimiter(const Clock& clock, LineWriter write, std::uint32_t lines_per_minute)
    : clock_(clock),
      write_(std::move(write)),
      lines_per_minute_(lines_per_minute),
      minute_start_(clock.MonotonicNow()) {}

void LogLimiter::Write(const std::string& line) {
  MutexLock lock(mutex_);
  const auto now = clock_.MonotonicNow();
  if (now - minute_start_ >= std::chrono::minutes(1)) {
    if (held_back_ > 0)
      write_(std::to_string(held_back_) + " more lines like these were held back");
    minute_start_ = now;
    lines_ = 0;
    held_back_ = 0;
  }
  if (lines_ >= lines_per_minute_) {
    ++held_back_;
    return;
  }
  ++lines_;
  write_(line);
}

void RouteGrpcLog(LineWriter write) {
  if (grpc_log != nullptr) return;
  static const SystemClock clock;
  grpc_log = new LogLimiter(clock, std::move(write), kGrpcLinesPerMinute);
  gpr_set_log_function(WriteGrpcLine);
}

}  // namespace podcache::admin
