#include "server/live_backend.h"

#include <google/protobuf/util/time_util.h>
#include <unistd.h>

#include <string>

#include "common/base/version.h"
#include "common/cgroup/cgroup.h"
#include "common/process/process_stats.h"
#include "podcache/admin/v1/admin.pb.h"
#include "server/command/server_context.h"
#include "server/metrics/worker_counters.h"
#include "server/net/worker_pool.h"
#include "server/runtime_config.h"
#include "server/store/store.h"

namespace podcache::server {

namespace v1 = admin::v1;
using google::protobuf::util::TimeUtil;
using metrics::Counter;

namespace {

v1::SizingChoice ToProto(const SizingChoice& choice) {
  v1::SizingChoice result;
  switch (choice.source) {
    case SizingSource::kExplicit:
      result.set_source(v1::SizingChoice::EXPLICIT);
      break;
    case SizingSource::kRule:
      result.set_source(v1::SizingChoice::RULE);
      break;
    case SizingSource::kNoMatch:
      result.set_source(v1::SizingChoice::NO_MATCH);
      break;
    case SizingSource::kCgroup:
      result.set_source(v1::SizingChoice::CGROUP);
      break;
  }
  result.set_rule_name(choice.rule_name);
  result.set_overhead_percent(choice.memory.overhead_percent);
  result.set_overhead_fixed_bytes(choice.memory.overhead_fixed_bytes);
  return result;
}

v1::ResizeProgress::State ToProto(ResizeProgress::State state) {
  switch (state) {
    case ResizeProgress::State::kIdle:
      return v1::ResizeProgress::IDLE;
    case ResizeProgress::State::kGrowing:
      return v1::ResizeProgress::GROWING;
    case ResizeProgress::State::kShrinking:
      return v1::ResizeProgress::SHRINKING;
  }
  return v1::ResizeProgress::STATE_UNSPECIFIED;
}

admin::ChangeResult ToChangeResult(UpdateResult result) {
  admin::ChangeResult change;
  change.message = std::move(result.message);
  switch (result.code) {
    case UpdateCode::kOk:
      change.code = admin::ChangeCode::kOk;
      break;
    case UpdateCode::kOutOfRange:
      change.code = admin::ChangeCode::kOutOfRange;
      break;
    case UpdateCode::kExceedsCgroup:
      change.code = admin::ChangeCode::kExceedsCgroup;
      break;
    case UpdateCode::kFailed:
      change.code = admin::ChangeCode::kFailed;
      break;
  }
  return change;
}

class LiveBackend final : public admin::Backend {
 public:
  explicit LiveBackend(const RunningParts& parts) : parts_(parts) {}

  v1::ServerInfo GetServerInfo() const override {
    v1::ServerInfo info;
    info.set_version(std::string(Version()));
    info.set_revision(std::string(Revision()));
    info.set_architecture(std::string(Architecture()));
    info.set_page_size_bytes(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
    info.set_usable_cpus(cgroup::UsableCpus());
    FillCgroup(info);
    const command::ServerStats server = parts_.context.Stats();
    *info.mutable_start_time() = TimeUtil::SecondsToTimestamp(
        server.unix_time_seconds - static_cast<std::int64_t>(server.uptime_seconds));
    *info.mutable_uptime() =
        TimeUtil::SecondsToDuration(static_cast<std::int64_t>(server.uptime_seconds));
    info.set_pid(static_cast<std::uint32_t>(getpid()));
    *info.mutable_sizing() = ToProto(parts_.runtime.fixed().sizing);
    info.set_config_hash(parts_.runtime.fixed().config_hash);
    // Limit before resident memory: who sees the new limit here sees memory that was measured after
    // it came into force.
    *info.mutable_config() = GetConfig();
    info.set_resize_in_progress(!parts_.runtime.progress().done);
    info.set_resident_memory_bytes(ReadResidentMemoryBytes());
    return info;
  }

  v1::Config GetConfig() const override {
    const MemorySettings memory = parts_.runtime.memory();
    const ThreadSettings threads = parts_.runtime.threads();
    v1::Config config;
    config.mutable_memory()->set_target_bytes(memory.target_bytes);
    config.mutable_memory()->set_limit_bytes(memory.limit_bytes);
    config.mutable_threads()->set_target(threads.target);
    config.mutable_threads()->set_running(threads.running);
    config.set_max_connections(parts_.runtime.fixed().max_connections);
    config.set_max_item_size_bytes(parts_.runtime.fixed().max_item_size_bytes);
    return config;
  }

  v1::Stats GetStats() const override {
    const store::StoreStats store = parts_.store.stats();
    const command::ServerStats server = parts_.context.Stats();
    v1::Stats stats;
    stats.set_current_items(store.items);
    stats.set_total_items(store.total_items);
    stats.set_current_bytes(store.item_bytes);
    stats.set_limit_bytes(store.memory_limit_bytes);
    stats.set_resident_memory_bytes(ReadResidentMemoryBytes());
    stats.set_get_hits(parts_.counters.Sum(Counter::kGetHits));
    stats.set_get_misses(parts_.counters.Sum(Counter::kGetMisses));
    stats.set_cmd_get(parts_.counters.Sum(Counter::kCmdGet));
    stats.set_cmd_set(parts_.counters.Sum(Counter::kCmdSet));
    stats.set_evictions(store.evicted_items);
    stats.set_expired_unfetched(store.expired_unfetched_items);
    stats.set_reclaimed(store.reclaimed_items);
    stats.set_current_connections(static_cast<std::uint32_t>(server.current_connections));
    stats.set_total_connections(server.total_connections);
    stats.set_rejected_connections(server.rejected_connections);
    stats.set_bytes_read(parts_.counters.Sum(Counter::kBytesRead));
    stats.set_bytes_written(parts_.counters.Sum(Counter::kBytesWritten));
    stats.set_threads(parts_.pool.threads_running());
    *stats.mutable_uptime() =
        TimeUtil::SecondsToDuration(static_cast<std::int64_t>(server.uptime_seconds));
    return stats;
  }

  v1::ResizeProgress GetResizeProgress() const override {
    const ResizeProgress progress = parts_.runtime.progress();
    v1::ResizeProgress result;
    result.set_state(ToProto(progress.state));
    result.set_memory_target_bytes(progress.memory.target_bytes);
    result.set_memory_limit_bytes(progress.memory.limit_bytes);
    result.set_resident_memory_bytes(progress.resident_bytes);
    result.set_items_evicted(progress.items_evicted);
    result.set_threads_target(progress.threads.target);
    result.set_threads_running(progress.threads.running);
    *result.mutable_elapsed() = TimeUtil::NanosecondsToDuration(progress.elapsed.count());
    result.set_done(progress.done);
    return result;
  }

  admin::ChangeResult CheckMemoryTarget(std::uint64_t target_bytes) const override {
    return ToChangeResult(parts_.runtime.CheckMemoryTarget(target_bytes));
  }
  admin::ChangeResult CheckThreadTarget(std::uint32_t threads) const override {
    return ToChangeResult(parts_.runtime.CheckThreadTarget(threads));
  }
  admin::ChangeResult SetMemoryTarget(std::uint64_t target_bytes) override {
    return ToChangeResult(parts_.runtime.SetMemoryTarget(target_bytes));
  }
  admin::ChangeResult SetThreadTarget(std::uint32_t threads) override {
    return ToChangeResult(parts_.runtime.SetThreadTarget(threads));
  }

  void Flush(std::chrono::seconds delay) override {
    parts_.store.FlushAll(delay.count() == 0 ? 0 : parts_.clock.WallSeconds() + delay.count());
  }

 private:
  void FillCgroup(v1::ServerInfo& info) const {
    const cgroup::Reader& cgroup = parts_.runtime.cgroup();
    info.set_cgroup_cpu_quota_cores(static_cast<double>(cgroup.CpuLimitMilli().value_or(0)) /
                                    1000.0);
    info.set_cgroup_memory_limit_bytes(cgroup.MemoryLimitBytes().value_or(0));
    info.set_cgroup_memory_usage_bytes(cgroup.MemoryUsageBytes().value_or(0));
    info.set_cgroup_version(static_cast<std::uint32_t>(cgroup.memory_version()));
  }

  const RunningParts parts_;
};

}  // namespace

std::unique_ptr<admin::Backend> NewLiveBackend(const RunningParts& parts) {
  return std::make_unique<LiveBackend>(parts);
}

}  // namespace podcache::server
