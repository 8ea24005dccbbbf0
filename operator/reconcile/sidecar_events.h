// Which events a visit gives rise to: one for each pod whose resize changed its state. Pure
// functions.
#pragma once

#include <optional>
#include <string>

#include "operator/reconcile/event_recorder.h"
#include "operator/reconcile/pod_resizer.h"

namespace podcache::control {

// `before`: the state that was last shown. Nothing if the change is none worth an event.
std::optional<EventText> EventFor(ResizeState before, const PodOutcome& pod);

}  // namespace podcache::control
