#include "common/base/version.h"

namespace podcache {

std::string_view Version() noexcept { return PODCACHE_VERSION; }

std::string_view ProtocolVersion() noexcept { return "1.6.45-podcache-" PODCACHE_VERSION; }

std::string_view Revision() noexcept { return PODCACHE_REVISION; }

std::string_view Architecture() noexcept {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#else
#error "unknown architecture: give it the name Kubernetes uses"
#endif
}

}  // namespace podcache
