#include "server/runtime_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "server/net/worker_pool.h"
#include "server/store/store.h"
#include "tests/unit/server/net/line_handler.h"

namespace podcache::server {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMi = 1ULL << 20;

// A real store and real workers under a cgroup made of files.
class RuntimeConfigTest : public ::testing::Test {
 protected:
  RuntimeConfigTest() {
    char name[] = "/tmp/podcache-runtime-XXXXXX";
    root_ = ::mkdtemp(name);
    std::filesystem::create_directories(root_ + "/proc/self");
    std::filesystem::create_directories(root_ + "/cg");
    std::ofstream(root_ + "/proc/self/mountinfo") << "1 2 3 / /cg rw - cgroup2 cgroup2 rw\n";
    std::ofstream(root_ + "/proc/self/cgroup") << "0::/\n";
    cgroup_.emplace(root_);
    EXPECT_TRUE(pool_.SetThreads(2));
  }
  ~RuntimeConfigTest() override { std::filesystem::remove_all(root_); }

  void SetCgroupLimit(std::uint64_t bytes) {
    std::ofstream(root_ + "/cg/memory.max") << bytes << "\n";
  }

  // Overhead 10 % + 20 MiB.
  void Make(std::uint64_t limit_bytes, std::uint64_t target_bytes) {
    store::StoreOptions options;
    options.memory_limit_bytes = limit_bytes;
    store_ = std::make_unique<store::Store>(options, clock_);
    FixedSettings fixed;
    fixed.sizing.memory = {10, 20 * kMi};
    config_ =
        std::make_unique<RuntimeConfig>(*store_, pool_, *cgroup_, clock_, fixed, target_bytes);
  }
  // The store's own thread does the work; the limit only ends a failing test.
  void WaitUntilDone() {
    for (int i = 0; i < 20'000 && config_->Poll(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(config_->progress().done);
  }

  std::string root_;
  ManualClock clock_;
  std::optional<cgroup::Reader> cgroup_;
  net::LineStats stats_;
  net::LineFactory factory_{stats_};
  net::WorkerPool pool_{factory_, clock_, {}};
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<RuntimeConfig> config_;
};

TEST_F(RuntimeConfigTest, GrowsAndShrinks) {
  Make(64 * kMi, 64 * kMi);
  EXPECT_TRUE(config_->progress().done);
  ASSERT_TRUE(config_->SetMemoryTarget(128 * kMi).ok());
  WaitUntilDone();
  EXPECT_EQ(config_->memory().limit_bytes, 128 * kMi);
  ASSERT_TRUE(config_->SetMemoryTarget(32 * kMi).ok());
  EXPECT_EQ(config_->memory().target_bytes, 32 * kMi);
  WaitUntilDone();
  EXPECT_EQ(config_->memory().limit_bytes, 32 * kMi);
  const ResizeCounters counters = config_->counters();
  const auto done = static_cast<std::size_t>(ResizeResult::kDone);
  EXPECT_EQ(counters.memory_resizes[static_cast<std::size_t>(ResizeDirection::kGrow)][done], 1U);
  EXPECT_EQ(counters.memory_resizes[static_cast<std::size_t>(ResizeDirection::kShrink)][done], 1U);
  EXPECT_EQ(counters.pressure_shrinks, 0U);
}

TEST_F(RuntimeConfigTest, AskingForWhatIsSoIsNoResize) {
  Make(64 * kMi, 64 * kMi);
  ASSERT_TRUE(config_->SetMemoryTarget(64 * kMi).ok());
  EXPECT_TRUE(config_->progress().done);
  for (const auto& results : config_->counters().memory_resizes) {
    for (const std::uint64_t count : results) EXPECT_EQ(count, 0U);
  }
}

TEST_F(RuntimeConfigTest, RefusesWhatIsOutOfRange) {
  Make(64 * kMi, 64 * kMi);
  const UpdateResult small = config_->SetMemoryTarget(1);
  EXPECT_EQ(small.code, UpdateCode::kOutOfRange);
  EXPECT_THAT(small.message, HasSubstr(std::to_string(store_->min_memory_limit_bytes())));
  EXPECT_EQ(config_->SetMemoryTarget(store_->max_memory_limit_bytes() + 1).code,
            UpdateCode::kOutOfRange);
  EXPECT_EQ(config_->SetThreadTarget(0).code, UpdateCode::kOutOfRange);
  EXPECT_EQ(config_->SetThreadTarget(257).code, UpdateCode::kOutOfRange);
  EXPECT_EQ(config_->memory().target_bytes, 64 * kMi);
  EXPECT_EQ(config_->threads().target, 2U);
}

TEST_F(RuntimeConfigTest, RefusesWhatTheCgroupDoesNotHold) {
  SetCgroupLimit(130 * kMi);  // Holds (130 − 20) / 1.1 = 100 Mi.
  Make(64 * kMi, 64 * kMi);
  EXPECT_TRUE(config_->SetMemoryTarget(100 * kMi).ok());
  const UpdateResult result = config_->SetMemoryTarget(100 * kMi + 1);
  EXPECT_EQ(result.code, UpdateCode::kExceedsCgroup);
  EXPECT_THAT(result.message, HasSubstr(std::to_string(130 * kMi)));
  EXPECT_EQ(config_->memory().target_bytes, 100 * kMi);
}

TEST_F(RuntimeConfigTest, FollowsALoweredCgroupAndReturnsToTheTargetButNotBeyond) {
  SetCgroupLimit(130 * kMi);
  Make(100 * kMi, 100 * kMi);
  EXPECT_FALSE(config_->Poll());
  SetCgroupLimit(75 * kMi);  // Holds 50 Mi.
  config_->Poll();
  EXPECT_EQ(config_->memory().effective_target_bytes, 50 * kMi);
  EXPECT_EQ(config_->memory().target_bytes, 100 * kMi);
  WaitUntilDone();
  EXPECT_EQ(config_->memory().limit_bytes, 50 * kMi);
  EXPECT_EQ(config_->counters().pressure_shrinks, 1U);
  SetCgroupLimit(1000 * kMi);
  config_->Poll();
  WaitUntilDone();
  EXPECT_EQ(config_->memory().limit_bytes, 100 * kMi);
  EXPECT_EQ(config_->counters().pressure_shrinks, 1U);
}

TEST_F(RuntimeConfigTest, StartedWithLessThanAskedForItRisesWithTheCgroup) {
  SetCgroupLimit(75 * kMi);
  Make(50 * kMi, 100 * kMi);
  EXPECT_FALSE(config_->Poll());
  EXPECT_EQ(config_->memory().limit_bytes, 50 * kMi);
  EXPECT_EQ(config_->memory().target_bytes, 100 * kMi);
  SetCgroupLimit(130 * kMi);
  config_->Poll();
  WaitUntilDone();
  EXPECT_EQ(config_->memory().limit_bytes, 100 * kMi);
}

TEST_F(RuntimeConfigTest, ACgroupTooSmallLeavesTheSmallestCache) {
  Make(64 * kMi, 64 * kMi);
  SetCgroupLimit(10 * kMi);
  config_->Poll();
  EXPECT_EQ(config_->memory().effective_target_bytes, store_->min_memory_limit_bytes());
}

TEST_F(RuntimeConfigTest, ChangesThreads) {
  Make(64 * kMi, 64 * kMi);
  ASSERT_TRUE(config_->SetThreadTarget(5).ok());
  EXPECT_EQ(config_->threads().running, 5U);
  ASSERT_TRUE(config_->SetThreadTarget(1).ok());
  EXPECT_EQ(config_->threads().running, 1U);
  ASSERT_TRUE(config_->SetThreadTarget(1).ok());
  EXPECT_EQ(config_->counters().thread_resizes_done, 2U);
}

}  // namespace
}  // namespace podcache::server
