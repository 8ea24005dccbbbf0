#include "server/memory/program_pages.h"

#include <link.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "server/memory/pages.h"

namespace podcache::memory {
namespace {

int ReleaseObject(dl_phdr_info* object, std::size_t, void*) noexcept {
  for (std::size_t i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::size_t page = PageBytes();
    const std::uintptr_t start = (object->dlpi_addr + segment.p_vaddr) / page * page;
    const std::uintptr_t end = RoundUp(object->dlpi_addr + segment.p_vaddr + segment.p_memsz, page);
    // Fails where the pages are locked, or are the kernel's own object.
    ::madvise(reinterpret_cast<void*>(start), end - start, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void ReleaseProgramPages() noexcept { ::dl_iterate_phdr(ReleaseObject, nullptr); }

}  // namespace podcache::memory
