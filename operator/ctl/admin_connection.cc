#include "operator/ctl/admin_connection.h"

#include <google/protobuf/util/time_util.h>
#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <utility>

#include "podcache/admin/v1/admin.grpc.pb.h"

namespace podcache::control {

namespace v1 = admin::v1;

namespace {

constexpr std::chrono::seconds kCallTimeout{10};

std::string WhatToCheck(const std::string& address) {
  if (address.starts_with("unix:")) {
    std::error_code ignored;
    const std::string path = address.substr(5);
    if (!std::filesystem::exists(path, ignored)) {
      return "there is no socket " + path +
             ": does the server run, with --admin-listen=" + address + "?";
    }
    return "does the server still run, and may this user open " + path + "?";
  }
  return "does podcached run there, and does its --admin-listen name this address (default "
         "127.0.0.1:9151)? For a "
         "cache in a pod use --pod NAME: there the TCP port answers the operator only";
}

}  // namespace

class AdminConnection::Impl {
 public:
  explicit Impl(std::string address) : address_(std::move(address)) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    stub_ = v1::Admin::NewStub(
        grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments));
  }

  template <class Response, class Request, class Method>
  absl::StatusOr<Response> Call(const Request& request, Method method) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
    Response response;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
    if (!status.ok()) return ToStatus(status);
    return response;
  }

  absl::StatusOr<v1::ResizeProgress> Watch(
      std::chrono::seconds timeout, const std::function<void(const v1::ResizeProgress&)>& show) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    const auto reader = stub_->WatchResize(&context, v1::WatchResizeRequest());
    v1::ResizeProgress last;
    while (reader->Read(&last)) show(last);
    const grpc::Status status = reader->Finish();
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      return MakeStatus(
          absl::StatusCode::kDeadlineExceeded,
          "not done after " + std::to_string(timeout.count()) + " s; the server goes on with it");
    }
    if (!status.ok()) return ToStatus(status);
    return last;
  }

 private:
  absl::Status ToStatus(const grpc::Status& status) const {
    // gRPC took its codes from the same list as Abseil.
    const auto code = static_cast<absl::StatusCode>(status.error_code());
    if (code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kDeadlineExceeded) {
      return MakeStatus(code, "no answer at " + address_ + ": " + WhatToCheck(address_) + " (" +
                                  status.error_message() + ")");
    }
    if (code == absl::StatusCode::kCancelled) {
      return Unavailable("the server at " + address_ + " ended the call: it is stopping");
    }
    return MakeStatus(code, status.error_message());
  }

  const std::string address_;
  std::unique_ptr<v1::Admin::Stub> stub_;
};

AdminConnection::AdminConnection(std::string address)
    : impl_(std::make_unique<Impl>(std::move(address))) {}
AdminConnection::~AdminConnection() = default;

absl::StatusOr<v1::ServerInfo> AdminConnection::GetServerInfo() {
  return impl_->Call<v1::ServerInfo>(v1::GetServerInfoRequest(), &v1::Admin::Stub::GetServerInfo);
}

absl::StatusOr<v1::Config> AdminConnection::GetConfig() {
  return impl_->Call<v1::Config>(v1::GetConfigRequest(), &v1::Admin::Stub::GetConfig);
}

absl::StatusOr<v1::Stats> AdminConnection::GetStats() {
  return impl_->Call<v1::Stats>(v1::GetStatsRequest(), &v1::Admin::Stub::GetStats);
}

absl::StatusOr<v1::Config> AdminConnection::SetMemory(std::uint64_t bytes) {
  v1::UpdateConfigRequest request;
  request.mutable_config()->mutable_memory()->set_target_bytes(bytes);
  request.mutable_update_mask()->add_paths("memory.target_bytes");
  return impl_->Call<v1::Config>(request, &v1::Admin::Stub::UpdateConfig);
}

absl::StatusOr<v1::Config> AdminConnection::SetThreads(std::uint32_t threads) {
  v1::UpdateConfigRequest request;
  request.mutable_config()->mutable_threads()->set_target(threads);
  request.mutable_update_mask()->add_paths("threads.target");
  return impl_->Call<v1::Config>(request, &v1::Admin::Stub::UpdateConfig);
}

absl::Status AdminConnection::Flush(std::chrono::seconds delay) {
  v1::FlushRequest request;
  *request.mutable_delay() = google::protobuf::util::TimeUtil::SecondsToDuration(delay.count());
  return impl_->Call<v1::FlushResponse>(request, &v1::Admin::Stub::Flush).status();
}

absl::StatusOr<v1::ResizeProgress> AdminConnection::WatchResize(
    std::chrono::seconds timeout, const std::function<void(const v1::ResizeProgress&)>& show) {
  return impl_->Watch(timeout, show);
}

}  // namespace podcache::control
