// Puts the cache container into a pod: a pure function from a pod and what could apply to it, to a
// JSON patch.
//
// Applied to its own output it changes nothing. The container goes first among the init containers
// as a native sidecar, gets explicit resources that keep the pod's QoS class, and changes nothing
// of the pod but what it needs: two labels and annotations of ours, volumes of ours, and read-only
// mounts of the cache's socket.
//
// A pod that cannot take it (names or ports in use, host network, no room in pod-level resources)
// is left as it is, with a warning; one labelled "required" is refused, except where the API server
// would not even have asked (host network, mirror pods). Threads: any. Source:
// docs/designs/0001-pod-contract.md.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "operator/api/v1alpha1/cache_profile.h"
#include "operator/api/v1alpha1/cache_sidecar.h"

namespace podcache::control {

struct InjectionInput {
  const nlohmann::json& pod;
  std::string ns;                             // Of the request: the pod's own may still be empty.
  std::vector<const CacheSidecar*> sidecars;  // Of that namespace.
  std::map<std::string, const CacheProfile*, std::less<>> profiles;
  std::string default_image;
  std::string admin_ca_pem;
  std::string nonce;  // Fresh, for the annotation podcache.dev/identity.
  // The pod's identity secret for a nonce, as hex.
  std::function<std::string(std::string_view nonce)> identity_hex;
  bool native_sidecars = true;
};

enum class InjectionOutcome {
  kInjected,
  kUnchanged,  // Has it already.
  kSkipped,    // Left as it is, see warnings.
  kRefused,    // Must not be created, see message.
};

struct InjectionResult {
  InjectionOutcome outcome = InjectionOutcome::kSkipped;
  std::string patch;  // JSON patch (RFC 6902); empty: no change.
  std::vector<std::string> warnings;
  std::string message;
};

InjectionResult Inject(const InjectionInput& input);

}  // namespace podcache::control
