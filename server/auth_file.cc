#include "server/auth_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "server/log.h"
#include "server/net/file_descriptor.h"
#include "server/protocol/auth_parser.h"

namespace podcache::server {

namespace {

// Far beyond any list of users; what is larger is another file.
constexpr off_t kMaxFileBytes = off_t{64} << 20;

bool ReadAll(int fd, std::string& text) {
  char piece[65536];
  while (true) {
    const ssize_t n = ::read(fd, piece, sizeof(piece));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    text.append(piece, static_cast<std::size_t>(n));
    if (text.size() > static_cast<std::size_t>(kMaxFileBytes)) return false;
  }
}

// Looks at every byte of `given`, wherever they differ first.
bool SameInConstantTime(std::string_view stored, std::string_view given) noexcept {
  std::size_t difference = stored.size() ^ given.size();
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char other = stored.empty() ? '\0' : stored[i % stored.size()];
    difference |= static_cast<unsigned char>(given[i] ^ other);
  }
  return difference == 0;
}

bool Same(const timespec& a, const timespec& b) noexcept {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

bool ParseAuthPairs(std::string_view text, std::vector<AuthPair>& pairs, std::string& error) {
  pairs.clear();
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::string where = "line " + std::to_string(number);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      error = where + " is not user:password";
    } else if (line.substr(0, colon).find(' ') != std::string_view::npos) {
      error = where + " has a space in the user's name, which no client could send";
    } else if (line.size() > protocol::kMaxAuthTokenBytes) {
      error = where + " is longer than " + std::to_string(protocol::kMaxAuthTokenBytes) + " bytes";
    }
    if (!error.empty()) return false;
    pairs.push_back({std::string(line.substr(0, colon)), std::string(line.substr(colon + 1))});
  }
  if (pairs.empty()) error = "there is no user:password in it";
  return !pairs.empty();
}

bool AuthFile::Version::operator==(const Version& other) const noexcept {
  return device == other.device && inode == other.inode && bytes == other.bytes &&
         Same(modified, other.modified) && Same(changed, other.changed);
}

AuthFile::Version AuthFile::VersionOf(const struct stat& status) noexcept {
  return {status.st_dev, status.st_ino, status.st_size, status.st_mtim, status.st_ctim};
}

bool AuthFile::Load(std::string& error) {
  const auto fail = [&](const std::string& reason) {
    error = "-Y: " + path_ + ": " + reason;
    return false;
  };
  const net::FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return fail("not a file");
  seen_ = VersionOf(status);
  if (status.st_size > kMaxFileBytes) return fail("too large for a list of users");
  std::string text;
  if (!ReadAll(file.get(), text)) return fail("cannot be read");
  std::vector<AuthPair> pairs;
  std::string reason;
  if (!ParseAuthPairs(text, pairs, reason)) return fail(reason);
  MutexLock lock(mutex_);
  pairs_.swap(pairs);
  return true;
}

void AuthFile::Reload() {
  std::string error;
  if (Load(error)) {
    LogInfo("Authentication file read again: " + path_);
  } else {
    LogWarning(error + "; the users read before stay in force");
  }
}

void AuthFile::ReloadIfChanged() {
  struct stat status {};
  // While somebody replaces it there may be no file for a moment.
  if (::stat(path_.c_str(), &status) != 0 || VersionOf(status) == seen_) return;
  Reload();
}

bool AuthFile::Accepts(std::string_view user, std::string_view password) const {
  MutexLock lock(mutex_);
  bool accepted = false;
  for (const AuthPair& pair : pairs_) {
    const bool same_user = SameInConstantTime(pair.user, user);
    const bool same_password = SameInConstantTime(pair.password, password);
    accepted |= same_user & same_password;
  }
  return accepted;
}

}  // namespace podcache::server
