// Listening, readiness, trust and stopping of the two side doors, over real sockets.
#include "server/admin/admin_servers.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <future>

#include "common/tls/certificate.h"
#include "podcache/admin/v1/admin.grpc.pb.h"
#include "server/metrics/collector/metrics_collector.h"
#include "tests/unit/common/http/http_client.h"
#include "tests/unit/server/admin/fake_backend.h"

namespace podcache::admin {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class AdminServersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "podcache-admin-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    servers_.reset();
    std::filesystem::remove_all(folder_);
  }

  void StartAndServe(std::vector<std::string> grpc_addresses) {
    std::string error;
    servers_ = AdminServers::Start({{"127.0.0.1:0"}, std::move(grpc_addresses), {}}, &error);
    ASSERT_TRUE(servers_) << error;
    ASSERT_TRUE(servers_->Serve(backend_, collector_, 1'700'000'000, &error)) << error;
  }

  std::string HttpGet(const char* path) { return http::Get(servers_->http_addresses()[0], path); }

  static bool CanCall(const std::string& address) {
    const auto stub =
        v1::Admin::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    v1::Config config;
    return stub->GetConfig(&context, {}, &config).ok();
  }

  std::string folder_;
  FakeBackend backend_;
  metrics::CounterRegistry registry_;
  metrics::MetricsCollector collector_{registry_, [] { return metrics::ServerSnapshot(); }};
  std::unique_ptr<AdminServers> servers_;
};

TEST_F(AdminServersTest, HttpAnswersBeforeAnythingElseIsThere) {
  std::string error;
  servers_ = AdminServers::Start({{"127.0.0.1:0"}, {"127.0.0.1:0"}, {}}, &error);
  ASSERT_TRUE(servers_) << error;
  EXPECT_THAT(HttpGet("/healthz"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(HttpGet("/readyz"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(HttpGet("/metrics"), StartsWith("HTTP/1.1 503 "));
}

TEST_F(AdminServersTest, MetricsAndReadinessFollow) {
  StartAndServe({});
  EXPECT_THAT(HttpGet("/metrics"), HasSubstr("\nmemcached_up 1\n"));
  EXPECT_THAT(HttpGet("/metrics"), HasSubstr("Content-Type: text/plain; version=0.0.4"));
  EXPECT_THAT(HttpGet("/readyz"), StartsWith("HTTP/1.1 503 "));
  servers_->SetReady(true);
  EXPECT_THAT(HttpGet("/readyz"), StartsWith("HTTP/1.1 200 "));
  servers_->SetReady(false);
  EXPECT_THAT(HttpGet("/readyz"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(HttpGet("/healthz"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminServersTest, ServesTcpAndAPrivateUnixSocket) {
  const std::string path = folder_ + "/admin.sock";
  StartAndServe({"127.0.0.1:0", "unix:" + path});
  EXPECT_TRUE(CanCall("127.0.0.1:" + std::to_string(servers_->grpc_ports()[0])));
  EXPECT_TRUE(CanCall("unix:" + path));
  struct stat found {};
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_TRUE(S_ISSOCK(found.st_mode));
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

// A container that restarts finds the socket its predecessor left in the pod's folder.
TEST_F(AdminServersTest, ReplacesAStaleUnixSocket) {
  const std::string path = folder_ + "/admin.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int stale = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(stale, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(stale);
  StartAndServe({"unix:" + path});
  EXPECT_TRUE(CanCall("unix:" + path));
}

// grpc.health.v1 by hand, since no generated code for it is installed: the request is field 1, a
// string; the answer field 1, an enumeration with SERVING = 1 and NOT_SERVING = 2.
constexpr int kServing = 1;
constexpr int kNotServing = 2;

int HealthOf(const std::string& address, const std::string& service) {
  grpc::GenericStub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  const std::string request =
      service.empty() ? "" : "\x0a" + std::string(1, static_cast<char>(service.size())) + service;
  const grpc::Slice slice(request);
  const grpc::ByteBuffer sent(&slice, 1);
  grpc::ByteBuffer received;
  grpc::ClientContext context;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &sent, &received,
                 [&](const grpc::Status& status) { done.set_value(status); });
  const grpc::Status status = done.get_future().get();
  EXPECT_TRUE(status.ok()) << status.error_message();
  grpc::Slice answer;
  if (!received.DumpToSingleSlice(&answer).ok() || answer.size() != 2) return -1;
  return answer.begin()[1];
}

TEST_F(AdminServersTest, HealthServiceFollowsReadiness) {
  StartAndServe({"127.0.0.1:0"});
  const std::string address = "127.0.0.1:" + std::to_string(servers_->grpc_ports()[0]);
  EXPECT_EQ(HealthOf(address, ""), kNotServing);
  servers_->SetReady(true);
  EXPECT_EQ(HealthOf(address, ""), kServing);
  EXPECT_EQ(HealthOf(address, "podcache.admin.v1.Admin"), kServing);
}

// grpc.reflection.v1alpha by hand as well: field 7 of the request, an empty string, asks for the
// services.
TEST_F(AdminServersTest, ReflectionListsTheService) {
  StartAndServe({"127.0.0.1:0"});
  grpc::GenericStub stub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(servers_->grpc_ports()[0]),
                          grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto wait = [&] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  call->StartCall(nullptr);
  ASSERT_TRUE(wait());
  const grpc::Slice list_services(std::string("\x3a\x00", 2));
  call->Write(grpc::ByteBuffer(&list_services, 1), nullptr);
  ASSERT_TRUE(wait());
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  ASSERT_TRUE(wait());
  grpc::Slice bytes;
  ASSERT_TRUE(answer.DumpToSingleSlice(&bytes).ok());
  EXPECT_THAT(std::string(bytes.begin(), bytes.end()), HasSubstr("podcache.admin.v1.Admin"));
  call->WritesDone(nullptr);
  ASSERT_TRUE(wait());
  grpc::Status status;
  call->Finish(&status, nullptr);
  ASSERT_TRUE(wait());
  EXPECT_TRUE(status.ok());
}

TEST_F(AdminServersTest, AnAddressOthersCanReachNeedsATrust) {
  for (const char* address : {"*:0", "0.0.0.0:0", "[::]:0", "10.1.2.3:0"}) {
    std::string error;
    EXPECT_FALSE(AdminServers::Start({{"127.0.0.1:0"}, {address}, {}}, &error)) << address;
    EXPECT_THAT(error, HasSubstr(address));
    EXPECT_THAT(error, HasSubstr("PODCACHE_ADMIN_CA"));
  }
}

TEST_F(AdminServersTest, WithATrustTcpRefusesPlaintextAndTheSocketStaysOpenToItsOwner) {
  const auto ca = tls::MakeCa("ca", {1'600'000'000, 4'000'000'000}, nullptr);
  const std::string path = folder_ + "/admin.sock";
  std::string error;
  servers_ = AdminServers::Start(
      {{}, {"*:0", "unix:" + path}, {ca->certificate_pem, std::string(32, 's')}}, &error);
  ASSERT_TRUE(servers_) << error;
  ASSERT_TRUE(servers_->Serve(backend_, collector_, 1'700'000'000, &error)) << error;
  EXPECT_FALSE(CanCall("127.0.0.1:" + std::to_string(servers_->grpc_ports()[0])));
  EXPECT_TRUE(CanCall("unix:" + path));
}

TEST_F(AdminServersTest, ABusyPortIsAnErrorThatNamesIt) {
  StartAndServe({"127.0.0.1:0"});
  const std::string busy = "127.0.0.1:" + std::to_string(servers_->grpc_ports()[0]);
  std::string error;
  const auto second = AdminServers::Start({{}, {busy}, {}}, &error);
  ASSERT_TRUE(second) << error;
  EXPECT_FALSE(second->Serve(backend_, collector_, 1'700'000'000, &error));
  EXPECT_THAT(error, HasSubstr(busy));
  EXPECT_THAT(error, HasSubstr("Address already in use"));
}

TEST_F(AdminServersTest, AfterStopNobodyAnswersAndTheSocketIsGone) {
  const std::string path = folder_ + "/admin.sock";
  StartAndServe({"unix:" + path});
  const std::string http = servers_->http_addresses()[0];
  servers_->Stop();
  servers_->Stop();
  EXPECT_FALSE(CanCall("unix:" + path));
  EXPECT_FALSE(http::RawConnection(http).connected());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ReadAdminTrustTest, WantsBothOrNone) {
  const auto ca = tls::MakeCa("ca", {1'600'000'000, 4'000'000'000}, nullptr);
  const std::string hex(64, 'a');
  AdminTrust trust;
  std::string error;
  EXPECT_TRUE(ReadAdminTrust("", "", &trust, &error));
  EXPECT_FALSE(trust.given());
  EXPECT_TRUE(ReadAdminTrust(ca->certificate_pem, hex, &trust, &error)) << error;
  EXPECT_TRUE(trust.given());
  EXPECT_EQ(trust.identity_secret, std::string(32, '\xaa'));

  const auto reason = [](const std::string& ca_pem, const std::string& identity) {
    AdminTrust unused;
    std::string why;
    EXPECT_FALSE(ReadAdminTrust(ca_pem, identity, &unused, &why));
    return why;
  };
  EXPECT_THAT(reason(ca->certificate_pem, ""), StartsWith("PODCACHE_ADMIN_IDENTITY is missing"));
  EXPECT_THAT(reason("", hex), StartsWith("PODCACHE_ADMIN_CA is missing"));
  EXPECT_THAT(reason("nonsense", hex), StartsWith("PODCACHE_ADMIN_CA is no CA certificate"));
  EXPECT_THAT(reason(ca->certificate_pem, "abc"), HasSubstr("64 hex digits"));
  EXPECT_THAT(reason(ca->certificate_pem, std::string(64, 'g')), HasSubstr("64 hex digits"));
  tls::LeafRequest request;
  request.common_name = "leaf";
  request.validity = {1'600'000'000, 4'000'000'000};
  const auto leaf = tls::IssueLeaf(*ca, request, nullptr);
  EXPECT_THAT(reason(leaf->certificate_pem, hex),
              StartsWith("PODCACHE_ADMIN_CA is no CA certificate"));
}

}  // namespace
}  // namespace podcache::admin
