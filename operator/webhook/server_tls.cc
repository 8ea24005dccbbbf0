#include "operator/webhook/server_tls.h"

#include <utility>

#include "common/status/status.h"
#include "common/tls/openssl_util.h"

namespace podcache::control {

namespace {

using tls::internal::ParseCertificate;
using tls::internal::ParsePrivateKey;
using tls::internal::TakeOpenSslError;

using OnFree = std::function<void()>;

void RunOnFree(void*, void* value, CRYPTO_EX_DATA*, int, long, void*) {
  const std::unique_ptr<OnFree> on_free(static_cast<OnFree*>(value));
  if (on_free && *on_free) (*on_free)();
}

int OnFreeIndex() {
  static const int index =
      CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nullptr, nullptr, nullptr, &RunOnFree);
  return index;
}

}  // namespace

absl::Status ServerTls::Use(const tls::KeyPair& pair) {
  std::unique_ptr<SSL_CTX, ContextDeleter> context(SSL_CTX_new(TLS_server_method()));
  const auto certificate = ParseCertificate(pair.certificate_pem);
  const auto key = ParsePrivateKey(pair.private_key_pem);
  if (!context || !certificate || !key ||
      SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1 ||
      SSL_CTX_use_certificate(context.get(), certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return InvalidArgument(TakeOpenSslError("using the webhook's certificate"));
  }
  MutexLock lock(mutex_);
  context_ = std::move(context);
  return absl::OkStatus();
}

bool ServerTls::ready() const {
  MutexLock lock(mutex_);
  return context_ != nullptr;
}

SSL* ServerTls::NewConnection(std::function<void()> on_free) const {
  SSL* ssl = nullptr;
  {
    MutexLock lock(mutex_);
    ssl = context_ ? SSL_new(context_.get()) : nullptr;  // Holds a reference to the context.
  }
  if (ssl == nullptr) return nullptr;
  SSL_set_ex_data(ssl, OnFreeIndex(), std::make_unique<OnFree>(std::move(on_free)).release());
  return ssl;
}

}  // namespace podcache::control
