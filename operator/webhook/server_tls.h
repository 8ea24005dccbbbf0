// The TLS side of the admission server: a certificate that can be changed while connections come
// in.
//
// Threads: any. Ownership: a connection returned belongs to the caller, who frees it with SSL_free.
#pragma once

#include <openssl/ssl.h>

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "common/tls/certificate.h"

namespace podcache::control {

class ServerTls {
 public:
  // TLS 1.2 and newer. InvalidArgument when the key does not fit the certificate.
  absl::Status Use(const tls::KeyPair& pair);
  bool ready() const;
  // A server-side connection with the certificate of now; null without one. `on_free` runs in
  // SSL_free.
  SSL* NewConnection(std::function<void()> on_free) const;

 private:
  struct ContextDeleter {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  mutable Mutex mutex_;
  std::unique_ptr<SSL_CTX, ContextDeleter> context_ GUARDED_BY(mutex_);
};

}  // namespace podcache::control
