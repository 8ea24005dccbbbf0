#include "operator/admin/node_channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/tls/identity.h"

namespace podcache::control {

namespace {

constexpr int kMaxReceiveBytes = 1 << 20;
constexpr int kMaxReconnectBackoffMs = 5000;
constexpr int kIdleTimeoutMs = 5 * 60 * 1000;

// Takes the place of chain and host name: by now the handshake has proved that the peer has the
// certificate's private key.
class IdentityVerifier final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  explicit IdentityVerifier(std::string secret) : secret_(std::move(secret)) {}

  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)>, grpc::Status* sync_status) override {
    const grpc::string_ref certificate = request->peer_cert();
    if (!tls::CertificateProvesIdentity({certificate.data(), certificate.size()}, secret_)) {
      *sync_status = {grpc::StatusCode::UNAUTHENTICATED,
                      "the server's certificate does not prove that it is this pod"};
    }
    return true;
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::string secret_;
};

}  // namespace

std::shared_ptr<grpc::Channel> NewNodeChannel(const NodeTarget& target,
                                              const tls::KeyPair& client) {
  namespace experimental = grpc::experimental;
  experimental::TlsChannelCredentialsOptions tls_options;
  // No chain is verified, yet gRPC insists on roots, and without any it looks for the system's,
  // which the image does not have. Any certificate will do.
  tls_options.set_certificate_provider(
      std::make_shared<experimental::StaticDataCertificateProvider>(
          client.certificate_pem, std::vector<experimental::IdentityKeyCertPair>{
                                      {client.private_key_pem, client.certificate_pem}}));
  tls_options.watch_root_certs();
  tls_options.watch_identity_key_cert_pairs();
  tls_options.set_verify_server_certs(false);
  tls_options.set_check_call_host(false);
  tls_options.set_certificate_verifier(
      experimental::ExternalCertificateVerifier::Create<IdentityVerifier>(target.identity_secret));

  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetSslTargetNameOverride(tls::kAdminServerName);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectBackoffMs);
  arguments.SetInt(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, kIdleTimeoutMs);
  arguments.SetMaxReceiveMessageSize(kMaxReceiveBytes);
  return grpc::CreateCustomChannel(target.address, experimental::TlsCredentials(tls_options),
                                   arguments);
}

}  // namespace podcache::control
