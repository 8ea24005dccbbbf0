// The calls of podcache.admin.v1.Admin over a real socket, on a backend of plain values.
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "podcache/admin/v1/admin.grpc.pb.h"
#include "server/admin/grpc_endpoint.h"
#include "tests/unit/server/admin/fake_backend.h"

namespace podcache::admin {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::AllOf;
using ::testing::HasSubstr;

class AdminServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string error;
    endpoint_ = GrpcEndpoint::Start({"127.0.0.1:0"}, {}, backend_, 0, &error);
    ASSERT_TRUE(endpoint_) << error;
    stub_ = v1::Admin::NewStub(grpc::CreateChannel(
        "127.0.0.1:" + std::to_string(endpoint_->ports()[0]), grpc::InsecureChannelCredentials()));
  }

  grpc::Status Update(const std::vector<std::string>& paths, std::uint64_t memory,
                      std::uint32_t threads, v1::Config* answer = nullptr) {
    v1::UpdateConfigRequest request;
    request.mutable_config()->mutable_memory()->set_target_bytes(memory);
    request.mutable_config()->mutable_threads()->set_target(threads);
    for (const std::string& path : paths) request.mutable_update_mask()->add_paths(path);
    grpc::ClientContext context;
    v1::Config config;
    return stub_->UpdateConfig(&context, request, answer != nullptr ? answer : &config);
  }

  // The update is refused with this code, a message that names all the parts, and nothing changed.
  void ExpectRefused(const std::vector<std::string>& paths, std::uint64_t memory,
                     std::uint32_t threads, grpc::StatusCode code,
                     const std::vector<std::string>& parts) {
    const v1::Config before = backend_.GetConfig();
    const grpc::Status status = Update(paths, memory, threads);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    for (const std::string& part : parts) EXPECT_THAT(status.error_message(), HasSubstr(part));
    EXPECT_TRUE(MessageDifferencer::Equals(backend_.GetConfig(), before));
  }

  grpc::Status Watch(const v1::WatchResizeRequest& request,
                     std::vector<v1::ResizeProgress>* messages) {
    grpc::ClientContext context;
    const auto reader = stub_->WatchResize(&context, request);
    v1::ResizeProgress message;
    while (reader->Read(&message)) messages->push_back(message);
    return reader->Finish();
  }

  FakeBackend backend_;
  std::unique_ptr<GrpcEndpoint> endpoint_;
  std::unique_ptr<v1::Admin::Stub> stub_;
};

TEST_F(AdminServiceTest, AnswersInfoConfigAndStats) {
  grpc::ClientContext first;
  v1::ServerInfo info;
  ASSERT_TRUE(stub_->GetServerInfo(&first, {}, &info).ok());
  EXPECT_TRUE(MessageDifferencer::Equals(info, backend_.GetServerInfo()));
  grpc::ClientContext second;
  v1::Config config;
  ASSERT_TRUE(stub_->GetConfig(&second, {}, &config).ok());
  EXPECT_TRUE(MessageDifferencer::Equals(config, backend_.GetConfig()));
  grpc::ClientContext third;
  v1::Stats stats;
  ASSERT_TRUE(stub_->GetStats(&third, {}, &stats).ok());
  EXPECT_TRUE(MessageDifferencer::Equals(stats, backend_.GetStats()));
}

TEST_F(AdminServiceTest, UpdatesOnlyWhatTheMaskNames) {
  v1::Config config;
  ASSERT_TRUE(Update({"memory.target_bytes"}, 100 << 20, 9, &config).ok());
  EXPECT_EQ(config.memory().target_bytes(), 100U << 20);
  EXPECT_EQ(config.threads().target(), 2U);
  ASSERT_TRUE(Update({"threads.target"}, 0, 9, &config).ok());
  EXPECT_EQ(config.memory().target_bytes(), 100U << 20);
  EXPECT_EQ(config.threads().target(), 9U);
  ASSERT_TRUE(Update({"threads.target", "memory.target_bytes"}, 50 << 20, 3, &config).ok());
  EXPECT_EQ(config.memory().target_bytes(), 50U << 20);
  EXPECT_EQ(config.threads().target(), 3U);
}

TEST_F(AdminServiceTest, RefusesValuesOutOfRangeNamingFieldValueAndRange) {
  ExpectRefused({"memory.target_bytes"}, 5, 0, grpc::StatusCode::INVALID_ARGUMENT,
                {"memory.target_bytes = 5", "8388608 to 1073741824"});
  ExpectRefused({"threads.target"}, 0, 0, grpc::StatusCode::INVALID_ARGUMENT,
                {"threads.target = 0", "1 to 16"});
  ExpectRefused({"memory.target_bytes"}, 600 << 20, 0, grpc::StatusCode::FAILED_PRECONDITION,
                {"memory.target_bytes = 629145600", "cgroup limit of 536870912"});
}

TEST_F(AdminServiceTest, RefusesMasksItCannotFollow) {
  ExpectRefused({}, 1 << 27, 4, grpc::StatusCode::INVALID_ARGUMENT,
                {"names no field", "memory.target_bytes, threads.target"});
  for (const char* path : {"max_connections", "memory", "memory.limit_bytes", "threads.running", "",
                           "*", "memory.target_bytes,threads.target"}) {
    ExpectRefused({"memory.target_bytes", path}, 1 << 27, 4, grpc::StatusCode::INVALID_ARGUMENT,
                  {"'" + std::string(path) + "' cannot be changed"});
  }
}

TEST_F(AdminServiceTest, AnUpdateIsAllOrNothing) {
  const std::vector<std::string> both = {"memory.target_bytes", "threads.target"};
  ExpectRefused(both, 100 << 20, 99, grpc::StatusCode::INVALID_ARGUMENT, {"threads.target = 99"});
  ExpectRefused(both, 5, 4, grpc::StatusCode::INVALID_ARGUMENT, {"memory.target_bytes = 5"});
  // The cgroup shrinks between check and change.
  backend_.set_fail_set_memory(true);
  ExpectRefused(both, 100 << 20, 4, grpc::StatusCode::FAILED_PRECONDITION,
                {"the cgroup was lowered"});
}

TEST_F(AdminServiceTest, WatchStreamsUntilDone) {
  backend_.set_resize_steps(3);
  v1::WatchResizeRequest request;
  request.mutable_interval()->set_nanos(10'000'000);
  std::vector<v1::ResizeProgress> messages;
  const grpc::Status status = Watch(request, &messages);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(messages.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FALSE(messages[i].done());
  EXPECT_TRUE(messages[3].done());
  EXPECT_EQ(messages[3].memory_target_bytes(), 64U << 20);
}

TEST_F(AdminServiceTest, WatchWithoutAResizeIsOneMessage) {
  std::vector<v1::ResizeProgress> messages;
  ASSERT_TRUE(Watch({}, &messages).ok());
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_TRUE(messages[0].done());
}

TEST_F(AdminServiceTest, WatchRefusesIntervalsOutOfRange) {
  const auto code = [&](std::int64_t seconds, std::int32_t nanos) {
    v1::WatchResizeRequest request;
    request.mutable_interval()->set_seconds(seconds);
    request.mutable_interval()->set_nanos(nanos);
    std::vector<v1::ResizeProgress> messages;
    const grpc::Status status = Watch(request, &messages);
    if (!status.ok()) {
      EXPECT_THAT(status.error_message(), HasSubstr("10 ms to 10 s"));
    }
    return status.error_code();
  };
  EXPECT_EQ(code(0, 9'000'000), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(0, 0), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(11, 0), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(-1, 0), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(INT64_MAX, 0), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(10, 0), grpc::StatusCode::OK);
}

TEST_F(AdminServiceTest, WatchesAreLimitedAndEndWithTheirClient) {
  backend_.set_resize_steps(1'000'000'000);  // Never done.
  struct Open {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::ResizeProgress>> reader;
  };
  std::deque<Open> open;
  v1::ResizeProgress message;
  for (int i = 0; i < 16; ++i) {
    Open& watch = open.emplace_back();
    watch.reader = stub_->WatchResize(&watch.context, {});
    ASSERT_TRUE(watch.reader->Read(&message));
  }
  std::vector<v1::ResizeProgress> messages;
  EXPECT_EQ(Watch({}, &messages).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  for (Open& watch : open) {
    watch.context.TryCancel();
    while (watch.reader->Read(&message)) {
    }
    EXPECT_EQ(watch.reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  // The server notices each cancellation by itself; then there is room again.
  backend_.set_resize_steps(0);
  grpc::Status status;
  do {
    status = Watch({}, &messages);
  } while (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(status.ok());
}

TEST_F(AdminServiceTest, StopEndsStreamsWithinItsGrace) {
  backend_.set_resize_steps(1'000'000'000);
  grpc::ClientContext context;
  const auto reader = stub_->WatchResize(&context, {});
  v1::ResizeProgress message;
  ASSERT_TRUE(reader->Read(&message));
  endpoint_->Stop(std::chrono::milliseconds(1));
  while (reader->Read(&message)) {
  }
  EXPECT_FALSE(reader->Finish().ok());
}

TEST_F(AdminServiceTest, FlushTakesWholeSecondsUpToThirtyDays) {
  const auto flush = [&](std::int64_t seconds, std::int32_t nanos) {
    v1::FlushRequest request;
    request.mutable_delay()->set_seconds(seconds);
    request.mutable_delay()->set_nanos(nanos);
    grpc::ClientContext context;
    v1::FlushResponse response;
    return stub_->Flush(&context, request, &response).error_code();
  };
  EXPECT_EQ(flush(0, 0), grpc::StatusCode::OK);
  EXPECT_EQ(backend_.flush_delay(), std::chrono::seconds(0));
  EXPECT_EQ(flush(1, 1), grpc::StatusCode::OK);
  EXPECT_EQ(backend_.flush_delay(), std::chrono::seconds(2));
  EXPECT_EQ(backend_.flushes(), 2);
  EXPECT_EQ(flush(-1, 0), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(flush(30 * 86400 + 1, 0), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(backend_.flushes(), 2);
}

TEST_F(AdminServiceTest, AnOversizedRequestIsRefusedAndTheServerLivesOn) {
  ExpectRefused(std::vector<std::string>(10'000, "memory.target_bytes"), 1 << 27, 4,
                grpc::StatusCode::RESOURCE_EXHAUSTED, {});
  EXPECT_TRUE(Update({"threads.target"}, 0, 4).ok());
}

}  // namespace
}  // namespace podcache::admin
