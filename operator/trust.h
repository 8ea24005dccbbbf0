// The certificates now in use, for everybody who needs a part of them.
//
// Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "common/status/status.h"
#include "operator/webhook/certificate_set.h"
#include "operator/webhook/injection_handler.h"

namespace podcache::control {

class Trust {
 public:
  void Set(const CertificateSet& set);

  // What a pod gets at admission; nothing before the first certificates.
  std::optional<AdminTrust> ForPods() const;
  // The identity secret of a pod, raw.
  absl::StatusOr<std::string> IdentityOf(std::string_view nonce) const;

 private:
  mutable Mutex mutex_;
  std::string admin_ca_pem_ GUARDED_BY(mutex_);
  std::string identity_key_ GUARDED_BY(mutex_);
};

}  // namespace podcache::control
