// Who decides whether a user and a password belong together; a seam for tests.
//
// Threads: any.
#pragma once

#include <string_view>

namespace podcache {

class Authenticator {
 public:
  virtual ~Authenticator() = default;
  virtual bool Accepts(std::string_view user, std::string_view password) const = 0;
};

}  // namespace podcache
