// Where ends of resizes are counted; see metrics.md, podcache_operator_resizes_total.
#pragma once

#include <string_view>

namespace podcache::control {

class ResizeCounter {
 public:
  virtual ~ResizeCounter() = default;
  // `direction`: grow, shrink; `result`: done, deferred, infeasible, failed. Called from any
  // worker.
  virtual void OnResize(std::string_view kind, std::string_view direction,
                        std::string_view result) = 0;
};

}  // namespace podcache::control
