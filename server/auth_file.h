// The users and passwords of -Y, one "user:password" a line, as the file has them now.
//
// A file that cannot be used is an error at start; later the pairs read before stay in force and
// one line in the log says why. A mounted Kubernetes Secret is exchanged by turning a symbolic link
// around: that is noticed like any other change, because the file behind the path is another one.
//
// Threads: Load and the reloads on one thread; Accepts on any. Source: protocol.md 5.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/base/mutex.h"
#include "server/authenticator.h"

namespace podcache::server {

struct AuthPair {
  std::string user;
  std::string password;
};

// False with a reason, naming the line. Blank lines are passed over; at least one pair is needed.
bool ParseAuthPairs(std::string_view text, std::vector<AuthPair>& pairs, std::string& error);

class AuthFile final : public Authenticator {
 public:
  explicit AuthFile(std::string path) : path_(std::move(path)) {}

  bool Load(std::string& error);
  // Reads it again, whatever it looks like.
  void Reload();
  // Reads it again if it is another file than before or was written.
  void ReloadIfChanged();

  // Takes the same time for every password of the same length, right or wrong.
  bool Accepts(std::string_view user, std::string_view password) const override;

 private:
  // What tells one state of the file from another.
  struct Version {
    dev_t device = 0;
    ino_t inode = 0;
    off_t bytes = -1;
    timespec modified{};
    timespec changed{};
    bool operator==(const Version& other) const noexcept;
  };
  static Version VersionOf(const struct stat& status) noexcept;

  const std::string path_;
  Version seen_;  // Used or refused.
  mutable Mutex mutex_;
  std::vector<AuthPair> pairs_ GUARDED_BY(mutex_);
};

}  // namespace podcache::server
