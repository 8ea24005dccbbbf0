// The collections the operator watches: one informer each, or one for each namespace where only
// some are watched.
//
// Threads: build before the manager starts; stores may be read from any. Ownership: owns the
// informers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/logging/logger.h"
#include "operator/cache/informer.h"
#include "operator/client/api_client.h"
#include "operator/reconcile/our_objects.h"

namespace podcache::control {

struct Informers {
  std::vector<std::unique_ptr<kube::Informer>> sidecars;
  std::vector<std::unique_ptr<kube::Informer>> pods;
  std::unique_ptr<kube::Informer> profiles;  // Null where only some namespaces are watched.
  Stores stores;
};

// `namespaces` empty: all of them.
std::unique_ptr<Informers> BuildInformers(kube::ApiClient& client,
                                          const std::vector<std::string>& namespaces,
                                          const Clock& clock, std::uint64_t seed,
                                          const Logger& log);

}  // namespace podcache::control
