// Which changes are worth a reconcile.
//
// Threads: run on informer threads, must not block. Resyncs pass always.
#pragma once

#include <functional>

#include "operator/cache/informer.h"

namespace podcache::kube {

using Predicate = std::function<bool(const InformerEvent& event)>;

Predicate Always();
// Drops updates of status alone: passes when generation, labels, annotations or the deletion mark
// differ.
Predicate SpecOrMetadataChanged();
// Drops updates that carry the resourceVersion already seen.
Predicate VersionChanged();

}  // namespace podcache::kube
