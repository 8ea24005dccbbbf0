// The operator's client against the server's real admin port, over real sockets and TLS.
#include "operator/admin/grpc_node_client.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>

#include "common/status/status.h"
#include "common/tls/identity.h"
#include "podcache/admin/v1/admin.grpc.pb.h"
#include "server/admin/grpc_endpoint.h"
#include "tests/unit/server/admin/fake_backend.h"

namespace podcache::control {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::int64_t Now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

tls::KeyPair NewCa() {
  return tls::MakeCa("podcache admin", tls::ValidFrom(Now(), std::chrono::hours(1)), nullptr)
      .value();
}

tls::KeyPair NewClient(const tls::KeyPair& ca, const tls::Validity& validity,
                       tls::Usage usage = tls::Usage::kClient) {
  tls::LeafRequest request;
  request.common_name = "podcache-operator";
  request.usage = usage;
  request.validity = validity;
  return tls::IssueLeaf(ca, request, nullptr).value();
}

class GrpcNodeClientTest : public ::testing::Test {
 protected:
  static constexpr char kNonce[] = "00112233445566778899aabbccddeeff";

  void SetUp() override {
    endpoint_ = StartServer("127.0.0.1:0", secret_);
    client_.SetClientCertificate(NewClient(ca_, valid_));
  }

  std::unique_ptr<admin::GrpcEndpoint> StartServer(const std::string& address,
                                                   const std::string& secret) {
    std::string error;
    auto endpoint = admin::GrpcEndpoint::Start({address}, {ca_.certificate_pem, secret}, backend_,
                                               Now(), &error);
    EXPECT_TRUE(endpoint) << error;
    return endpoint;
  }

  NodeTarget Target() const {
    return {"uid-1", "shop/web-0", "127.0.0.1:" + std::to_string(endpoint_->ports()[0]), secret_};
  }

  // The code of a call with this client certificate.
  absl::StatusCode CodeWith(const tls::KeyPair& client) {
    client_.SetClientCertificate(client);
    return client_.GetConfig(Target()).status().code();
  }

  const tls::KeyPair ca_ = NewCa();
  const tls::Validity valid_ = tls::ValidFrom(Now(), std::chrono::hours(1));
  const std::string key_ = tls::NewIdentityKey();
  const std::string secret_ = tls::DeriveIdentitySecret(key_, kNonce);
  admin::FakeBackend backend_;
  std::unique_ptr<admin::GrpcEndpoint> endpoint_;
  GrpcNodeClient client_;
};

TEST_F(GrpcNodeClientTest, AcceptsTheRightServerAndReadsAllFields) {
  const auto info = client_.GetServerInfo(Target());
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->version, "1.2.3");
  EXPECT_EQ(info->architecture, "arm64");
  EXPECT_EQ(info->page_size_bytes, 16384U);
  EXPECT_EQ(info->usable_cpus, 3U);
  EXPECT_EQ(info->cgroup_cpu_quota_cores, 1.5);
  EXPECT_EQ(info->cgroup_memory_limit_bytes, 512ULL << 20);
  EXPECT_EQ(info->cgroup_memory_usage_bytes, 77U);
  EXPECT_EQ(info->resident_memory_bytes, 78U);
  EXPECT_EQ(info->start_time_unix_seconds, 1'700'000'000);
  EXPECT_EQ(info->config_hash, "abc");
  EXPECT_EQ(info->sizing_rule, "arm64-16k");
  EXPECT_TRUE(info->resize_in_progress);
  EXPECT_EQ(info->config.memory_target_bytes, 64ULL << 20);
  EXPECT_EQ(info->config.threads_running, 2U);
  EXPECT_EQ(info->config.max_connections, 1024U);

  const auto stats = client_.GetStats(Target());
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->current_items, 11U);
  EXPECT_EQ(stats->resident_memory_bytes, 14U);
  EXPECT_EQ(stats->evictions, 18U);
  EXPECT_EQ(stats->threads, 20U);
}

TEST_F(GrpcNodeClientTest, SetsMemoryAndThreadsAndPassesTheServersReasonOn) {
  const auto memory = client_.SetMemory(Target(), 128ULL << 20);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->memory_target_bytes, 128ULL << 20);
  const auto threads = client_.SetThreads(Target(), 4);
  ASSERT_TRUE(threads.ok()) << threads.status();
  EXPECT_EQ(threads->threads_target, 4U);
  EXPECT_EQ(threads->memory_target_bytes, 128ULL << 20);

  const auto refused = client_.SetThreads(Target(), 99);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(MessageOf(refused.status())),
      AllOf(HasSubstr("shop/web-0"), HasSubstr("threads.target = 99: must be from 1 to 16")));
  const auto too_large = client_.SetMemory(Target(), 600ULL << 20);
  EXPECT_EQ(too_large.status().code(), absl::StatusCode::kFailedPrecondition);
}

// The address is right and the server trusts our CA, but it was born with another nonce: a later
// pod at that address.
TEST_F(GrpcNodeClientTest, RefusesAServerWithAnotherIdentitySecret) {
  NodeTarget target = Target();
  target.identity_secret = tls::DeriveIdentitySecret(key_, "ffeeddccbbaa99887766554433221100");
  const auto answer = client_.GetConfig(target);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  // With the right secret under the same uid the same address is fine again.
  EXPECT_TRUE(client_.GetConfig(Target()).ok());
}

TEST_F(GrpcNodeClientTest, RefusesAServerThatProvesNothing) {
  const auto other =
      StartServer("127.0.0.1:0", tls::DeriveIdentitySecret(tls::NewIdentityKey(), kNonce));
  NodeTarget target = Target();
  target.address = "127.0.0.1:" + std::to_string(other->ports()[0]);
  EXPECT_EQ(client_.GetConfig(target).status().code(), absl::StatusCode::kUnavailable);
}

// Somebody copied the proof out of the real certificate into one for a key of his own.
TEST_F(GrpcNodeClientTest, RefusesTheProofWithAnotherKey) {
  const std::string real_key = tls::MakePrivateKey(nullptr).value();
  const std::string name =
      tls::IdentityDnsName(secret_, tls::PublicKeyDer(real_key, nullptr).value());
  tls::LeafRequest request;
  request.common_name = "podcached";
  request.dns_names = {name};
  request.validity = valid_;
  const std::string thief_key = tls::MakePrivateKey(nullptr).value();
  const std::string stolen = tls::SelfSign(thief_key, request, nullptr).value();
  const std::string genuine = tls::SelfSign(real_key, request, nullptr).value();

  const auto code_against = [&](const std::string& key, const std::string& certificate) {
    grpc::SslServerCredentialsOptions options(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    options.pem_key_cert_pairs.push_back({key, certificate});
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
    admin::v1::Admin::Service unimplemented;
    builder.RegisterService(&unimplemented);
    const auto server = builder.BuildAndStart();
    NodeTarget target = Target();
    target.pod_uid = "uid-" + std::to_string(port);
    target.address = "127.0.0.1:" + std::to_string(port);
    return client_.GetConfig(target).status().code();
  };
  EXPECT_EQ(code_against(thief_key, stolen), absl::StatusCode::kUnavailable);
  // The same server with the genuine pair is let through (and then does not know the method): it
  // was the proof that counted.
  EXPECT_EQ(code_against(real_key, genuine), absl::StatusCode::kUnimplemented);
}

TEST_F(GrpcNodeClientTest, ServerRefusesClientsThatAreNotTheOperator) {
  const auto refused = AnyOf(absl::StatusCode::kUnavailable, absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(CodeWith(NewClient(NewCa(), valid_)), refused) << "another CA of the same name";
  EXPECT_THAT(CodeWith(NewClient(ca_, {Now() - 7200, Now() - 3600})), refused) << "expired";
  EXPECT_THAT(CodeWith(NewClient(ca_, {Now() + 3600, Now() + 7200})), refused) << "not yet valid";
  EXPECT_THAT(CodeWith(NewClient(ca_, valid_, tls::Usage::kServer)), refused)
      << "a server's certificate";
  EXPECT_EQ(CodeWith(NewClient(ca_, valid_)), absl::StatusCode::kOk);
}

grpc::StatusCode PlainCall(const std::string& address,
                           const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  const auto stub = admin::v1::Admin::NewStub(grpc::CreateChannel(address, credentials));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  admin::v1::Config config;
  return stub->GetConfig(&context, {}, &config).error_code();
}

TEST_F(GrpcNodeClientTest, ServerRefusesClientsWithoutCertificateAndWithoutTls) {
  grpc::experimental::TlsChannelCredentialsOptions anonymous;
  anonymous.set_verify_server_certs(false);
  anonymous.set_check_call_host(false);
  anonymous.set_certificate_verifier(
      std::make_shared<grpc::experimental::NoOpCertificateVerifier>());
  EXPECT_EQ(PlainCall(Target().address, grpc::experimental::TlsCredentials(anonymous)),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(PlainCall(Target().address, grpc::InsecureChannelCredentials()),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(backend_.flushes(), 0);
}

TEST_F(GrpcNodeClientTest, NobodyThereIsUnavailableWithThePodsName) {
  NodeTarget target = Target();
  endpoint_.reset();
  const auto answer = client_.GetConfig(target);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(MessageOf(answer.status())), HasSubstr("shop/web-0 at 127.0.0.1:"));
}

// The server restarts with the pod's secret and a new key: the pin holds.
TEST_F(GrpcNodeClientTest, AcceptsTheServerAfterItsRestart) {
  ASSERT_TRUE(client_.GetConfig(Target()).ok());
  const std::string address = Target().address;
  endpoint_.reset();
  endpoint_ = StartServer(address, secret_);
  absl::Status status;
  // The first call may find the old connection closing.
  for (int i = 0; i < 50; ++i) {
    status = client_.GetConfig(Target()).status();
    if (status.ok()) break;
    client_.Forget(Target().pod_uid);
  }
  EXPECT_TRUE(status.ok()) << status;
}

TEST(GrpcNodeClientSetupTest, WithoutACertificateNothingIsSent) {
  GrpcNodeClient client;
  EXPECT_EQ(client.GetConfig({"uid", "a/b", "127.0.0.1:1", std::string(32, 'x')}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(GrpcNodeClientSetupTest, KeepsNoMoreChannelsThanAllowed) {
  GrpcNodeClient client({std::chrono::milliseconds(200), 2});
  const tls::KeyPair ca = NewCa();
  client.SetClientCertificate(NewClient(ca, tls::ValidFrom(Now(), std::chrono::hours(1))));
  for (int i = 0; i < 5; ++i) {
    const NodeTarget target{"uid-" + std::to_string(i), "a/b", "127.0.0.1:1", std::string(32, 'x')};
    EXPECT_EQ(client.GetConfig(target).status().code(), absl::StatusCode::kUnavailable);
  }
}

}  // namespace
}  // namespace podcache::control
