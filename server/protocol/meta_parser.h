// The parser of the meta commands: one whole line in, one request out.
//
// TextParser finds the line and its first word; this reads the rest. It keeps no state, allocates
// nothing and never sees value bytes.
//
// Threads: any. Ownership: see meta_request.h. Source: protocol.md 3, 10.
#pragma once

#include <string_view>

#include "server/protocol/meta_request.h"
#include "server/protocol/text_parser.h"

namespace podcache::protocol {

class MetaParser {
 public:
  // `line` is the whole line with its end, for which TextParser said kMeta. Answers kRequest, or
  // kError with the bytes of a data block to skip; `consumed` is 0.
  static ParseResult Parse(std::string_view line, MetaRequest& request,
                           KeyBuffer& key_buffer) noexcept;
};

}  // namespace podcache::protocol
