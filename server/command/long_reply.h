// A reply too long to be written at once: it is continued as the client takes it, and keeps no
// pointer into the store and no lock in between.
//
// Threads: the worker that owns the connection. What it refers to (store, tables) outlives the
// sessions.
#pragma once

#include "common/base/output_buffer.h"

namespace podcache::command {

class LongReply {
 public:
  virtual ~LongReply() = default;
  // Appends some more, or does a bounded part of the work that it takes; false when that was the
  // end.
  virtual bool Continue(OutputBuffer& output) = 0;
};

}  // namespace podcache::command
