// Answers an admission request for a pod: gathers what could apply to it and asks the injector.
//
// Threads: called on the admission server's thread; what it reads from must be safe to read there.
// It never asks the API server.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/logging/logger.h"
#include "operator/api/v1alpha1/cache_profile.h"
#include "operator/api/v1alpha1/cache_sidecar.h"
#include "operator/webhook/admission_review.h"
#include "operator/webhook/injector.h"

namespace podcache::control {

// Where injections are counted; see metrics.md, podcache_operator_injections_total.
class InjectionCounter {
 public:
  virtual ~InjectionCounter() = default;
  virtual void OnInjection(InjectionOutcome outcome) = 0;
};

// What a pod gets so that operator and cache trust each other.
struct AdminTrust {
  std::string ca_pem;
  std::function<std::string(std::string_view nonce)> identity_hex;
};

struct InjectionSources {
  std::function<std::vector<CacheSidecar>(std::string_view ns)> sidecars;
  std::function<std::optional<CacheProfile>(const std::string& name)> profile;
  std::function<std::optional<AdminTrust>()> trust;  // Nothing before there are certificates.
  std::function<std::string()> new_nonce;
  std::string default_image;
  bool native_sidecars = true;
};

class InjectionHandler {
 public:
  InjectionHandler(InjectionSources sources, InjectionCounter& counter, Logger log);

  AdmissionResponse Handle(const AdmissionRequest& request) const;

 private:
  InjectionResult RunInjector(const AdmissionRequest& request) const;

  const InjectionSources sources_;
  InjectionCounter& counter_;
  const Logger log_;
};

}  // namespace podcache::control
