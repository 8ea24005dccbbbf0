// The commands against the server's real admin port, on a backend of plain values.
#include "operator/ctl/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "operator/ctl/admin_connection.h"
#include "operator/ctl/top.h"
#include "server/admin/grpc_endpoint.h"
#include "tests/unit/server/admin/fake_backend.h"

namespace podcache::control {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A server whose resizes are done at once, unless told otherwise.
class SettlingBackend : public admin::FakeBackend {
 public:
  admin::v1::ResizeProgress GetResizeProgress() const override {
    admin::v1::ResizeProgress progress = FakeBackend::GetResizeProgress();
    const admin::v1::Config config = GetConfig();
    progress.set_threads_target(config.threads().target());
    progress.set_threads_running(config.threads().target());
    progress.set_resident_memory_bytes(70ULL << 20);
    progress.set_items_evicted(123);
    progress.mutable_elapsed()->set_nanos(420'000'000);
    if (progress.done() && !stuck) progress.set_memory_limit_bytes(progress.memory_target_bytes());
    if (superseded_by != 0) progress.set_memory_target_bytes(superseded_by);
    return progress;
  }
  bool stuck = false;
  std::uint64_t superseded_by = 0;
};

class CommandsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string error;
    endpoint_ = admin::GrpcEndpoint::Start({"127.0.0.1:0"}, {}, backend_, 0, &error);
    ASSERT_TRUE(endpoint_) << error;
    address_ = "127.0.0.1:" + std::to_string(endpoint_->ports()[0]);
  }

  absl::Status Run(const std::vector<std::string>& arguments, bool is_tty = false) {
    const ParsedOptions parsed = ParseOptions("podcachectl", arguments);
    EXPECT_TRUE(parsed.run) << parsed.text;
    out_.str("");
    AdminConnection server(address_);
    return RunCommand(parsed.options, server, {out_, is_tty});
  }

  SettlingBackend backend_;
  std::unique_ptr<admin::GrpcEndpoint> endpoint_;
  std::string address_;
  std::ostringstream out_;
};

TEST_F(CommandsTest, InfoShowsMachineLimitsAndSizing) {
  ASSERT_TRUE(Run({"info"}).ok());
  EXPECT_THAT(out_.str(), HasSubstr("arm64, pages of 16Ki, 3 CPUs"));
  EXPECT_THAT(out_.str(), HasSubstr("limit 512Mi"));
  EXPECT_THAT(out_.str(), HasSubstr("1.5 cores"));
  EXPECT_THAT(out_.str(), HasSubstr("rule arm64-16k"));
  EXPECT_THAT(out_.str(), HasSubstr("memory limit      64Mi\n"));
}

TEST_F(CommandsTest, JsonHasNumbersAsNumbersAndZerosToo) {
  ASSERT_TRUE(Run({"info", "-o", "json"}).ok());
  const auto info = nlohmann::json::parse(out_.str());
  EXPECT_EQ(info.at("cgroup_memory_limit_bytes"), 536870912);
  EXPECT_EQ(info.at("config").at("memory").at("target_bytes"), 67108864);
  EXPECT_EQ(info.at("start_time"), "2023-11-14T22:13:20Z");  // date -u -d @1700000000
  EXPECT_EQ(info.at("sizing").at("source"), "RULE");
  EXPECT_EQ(info.at("pid"), 0);
  ASSERT_TRUE(Run({"stats", "-o", "json"}).ok());
  const auto stats = nlohmann::json::parse(out_.str());
  EXPECT_EQ(stats.at("get_hits"), 15);
  EXPECT_EQ(stats.at("uptime"), 0.0);
}

TEST_F(CommandsTest, StatsShowTheHitRatio) {
  ASSERT_TRUE(Run({"stats"}).ok());
  EXPECT_THAT(out_.str(), HasSubstr("48.39 %"));  // 15 of 31
}

TEST_F(CommandsTest, GetShowsWhatIsInForceAndWhatIsAskedFor) {
  ASSERT_TRUE(Run({"get", "memory"}).ok());
  EXPECT_EQ(out_.str(), "64Mi\n");
  static_cast<void>(backend_.SetMemoryTarget(128ULL << 20));
  ASSERT_TRUE(Run({"get", "memory"}).ok());
  EXPECT_EQ(out_.str(), "64Mi, on its way to 128Mi\n");
  ASSERT_TRUE(Run({"get", "threads", "-o", "json"}).ok());
  EXPECT_EQ(nlohmann::json::parse(out_.str()), (nlohmann::json{{"target", 2}, {"running", 2}}));
}

TEST_F(CommandsTest, SetMemoryFollowsTheResizeUntilItIsDone) {
  backend_.set_resize_steps(2);
  ASSERT_TRUE(Run({"set", "memory", "96Mi"}).ok());
  EXPECT_THAT(out_.str(), HasSubstr("limit 64Mi → 96Mi"));
  EXPECT_THAT(out_.str(),
              HasSubstr("done in 0.42 s: limit 96Mi, resident 70Mi, 123 items evicted\n"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("\x1b")));
  EXPECT_EQ(backend_.GetConfig().memory().target_bytes(), 96ULL << 20);
}

TEST_F(CommandsTest, OnATerminalProgressIsRedrawnInPlace) {
  backend_.set_resize_steps(2);
  ASSERT_TRUE(Run({"set", "memory", "96Mi"}, true).ok());
  EXPECT_THAT(out_.str(), StartsWith("\r\x1b[K"));
}

TEST_F(CommandsTest, NoWaitReturnsWithTheAcceptedTarget) {
  backend_.set_resize_steps(1'000'000);
  ASSERT_TRUE(Run({"set", "memory", "96Mi", "--no-wait"}).ok());
  EXPECT_EQ(out_.str(), "accepted: 64Mi, on its way to 96Mi\n");
}

TEST_F(CommandsTest, SetThreads) {
  ASSERT_TRUE(Run({"set", "threads", "5"}).ok());
  EXPECT_THAT(out_.str(), HasSubstr("done: 5 threads\n"));
  EXPECT_EQ(backend_.GetConfig().threads().target(), 5U);
}

TEST_F(CommandsTest, ARefusalIsPassedOnWithTheServersWords) {
  const absl::Status status = Run({"set", "memory", "2Gi"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(MessageOf(status)),
              HasSubstr("memory.target_bytes = 2147483648: must be from"));
  EXPECT_EQ(Run({"set", "threads", "99"}).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CommandsTest, AnotherOutcomeThanAskedForIsAnError) {
  backend_.superseded_by = 70ULL << 20;
  EXPECT_EQ(Run({"set", "memory", "96Mi"}).code(), absl::StatusCode::kAborted);
  backend_.superseded_by = 0;
  backend_.stuck = true;
  const absl::Status status = Run({"set", "memory", "96Mi"});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr("67108864 is in force, not 100663296"));
}

TEST_F(CommandsTest, WaitingEndsWithItsTimeout) {
  backend_.set_resize_steps(1'000'000);
  const absl::Status status = Run({"set", "memory", "96Mi", "--timeout", "1"});
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr("not done after 1 s"));
}

TEST_F(CommandsTest, FlushIsPassedOn) {
  ASSERT_TRUE(Run({"flush", "--delay", "5"}).ok());
  EXPECT_EQ(backend_.flushes(), 1);
  EXPECT_EQ(backend_.flush_delay(), std::chrono::seconds(5));
  EXPECT_EQ(out_.str(), "will be flushed in 5 s\n");
}

TEST_F(CommandsTest, TopShowsALinePerIntervalUntilItsReaderIsGone) {
  const ParsedOptions parsed = ParseOptions("podcachectl", {"top", "--interval", "0.5"});
  AdminConnection server(address_);
  int slept = 0;
  ASSERT_TRUE(
      RunTop(parsed.options, server, {out_, false}, [&](std::chrono::milliseconds interval) {
        EXPECT_EQ(interval, std::chrono::milliseconds(500));
        if (++slept == 3) out_.setstate(std::ios::badbit);
        return 0.5;
      }).ok());
  const std::string text = out_.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);  // A header and three lines.
}

TEST_F(CommandsTest, TopOnceIsOneLineWithoutWaiting) {
  const ParsedOptions parsed = ParseOptions("podcachectl", {"top", "--once"});
  AdminConnection server(address_);
  ASSERT_TRUE(RunTop(parsed.options, server, {out_, true}, [](std::chrono::milliseconds) {
                ADD_FAILURE();
                return 0.0;
              }).ok());
  const std::string text = out_.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST_F(CommandsTest, NobodyThereSaysWhatToCheck) {
  endpoint_.reset();
  const absl::Status status = Run({"info"});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr("no answer at " + address_));
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr("--admin-listen"));
  address_ = "unix:/nonexistent/admin.sock";
  EXPECT_THAT(std::string(MessageOf(Run({"info"}))),
              HasSubstr("there is no socket /nonexistent/admin.sock"));
}

}  // namespace
}  // namespace podcache::control
