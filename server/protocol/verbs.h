// The words of the text protocol.
#pragma once

#include <optional>
#include <string_view>

#include "server/protocol/request.h"

namespace podcache::protocol {

// Nothing for a word that is no classic command.
std::optional<Verb> FindVerb(std::string_view word) noexcept;

// The word of a storage verb.
std::string_view StorageWord(Verb verb) noexcept;

}  // namespace podcache::protocol
