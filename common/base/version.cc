#include "common/base/version.h"

namespace podcache {

std::string_view Version() noexcept { return PODCACHE_VERSION; }

std::string_view ProtocolVersion() noexcept { return "1.6.45-podcache-" PODCACHE_VERSION; }

}  // namespace podcache
