// What starting has touched of the program and its libraries, and serving will not: code and
// constants stay mapped in, page by page, and count as resident memory of this process.
//
// Threads: any, also while others run: what is needed again comes back from the page cache by a
// minor fault.
#pragma once

namespace podcache::memory {

// Lets go of the pages of all loaded objects that can't have been written to. Relocated pages stay:
// they lie in segments that were writable while the program was loaded. Memory that is locked
// stays.
void ReleaseProgramPages() noexcept;

}  // namespace podcache::memory
