// Where the client reports its requests to, for rest_client_* metrics.
#pragma once

#include <chrono>
#include <string_view>

namespace podcache::kube {

class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  // One HTTP exchange. `verb` is the API's (get, list, watch, create, update, patch, apply,
  // delete), `method` HTTP's; `code` is 0 when no answer came. A watch counts once, when its
  // headers arrive. Called from any thread.
  virtual void OnRequest(std::string_view verb, std::string_view method, std::string_view host,
                         int code, std::chrono::nanoseconds duration) = 0;
};

}  // namespace podcache::kube
