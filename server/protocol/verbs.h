// The words of the text protocol.
#pragma once

#include <optional>
#include <string_view>

#include "server/protocol/meta_request.h"
#include "server/protocol/request.h"

namespace podcache::protocol {

// Nothing for a word that is no classic command.
std::optional<Verb> FindVerb(std::string_view word) noexcept;
// Nothing for a word that is no meta command.
std::optional<MetaVerb> FindMetaVerb(std::string_view word) noexcept;

// The word of a storage verb.
std::string_view StorageWord(Verb verb) noexcept;

}  // namespace podcache::protocol
