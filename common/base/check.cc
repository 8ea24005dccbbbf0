#include "common/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace podcache::internal {

void CheckFailed(const char* file, int line, const char* condition) noexcept {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace podcache::internal
