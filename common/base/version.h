// The version of everything built here; set in the root CMakeLists.txt.
#pragma once

#include <string_view>

namespace podcache {

// For example "0.1.0".
std::string_view Version() noexcept;
// What `version` and `stats` answer. Clients parse three dotted numbers at the start and switch
// features by them, so these name the protocol level: that of memcached 1.6.45.
std::string_view ProtocolVersion() noexcept;
// The commit it was built from, "unknown" outside a repository.
std::string_view Revision() noexcept;
// What it was built for, by Kubernetes' names: "amd64", "arm64".
std::string_view Architecture() noexcept;

}  // namespace podcache
