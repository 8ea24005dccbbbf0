#include "operator/client/credentials.h"

#include <algorithm>
#include <utility>

#include "operator/client/file_util.h"

namespace podcache::kube {
namespace {

absl::StatusOr<std::string> Read(const TextOrFile& source) {
  if (!source.text.empty() || source.file.empty()) return source.text;
  PODCACHE_ASSIGN_OR_RETURN(std::string text, ReadSmallFile(source.file));
  text = Trimmed(std::move(text));
  if (text.empty()) return Unavailable(source.file + " is empty");
  return text;
}

// It becomes a header line: a stray line break must not begin another one.
bool IsHeaderSafe(const std::string& token) {
  return std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

absl::Status Credentials::ReadLocked() {
  Snapshot next;
  PODCACHE_ASSIGN_OR_RETURN(next.ca, Read(config_.ca));
  PODCACHE_ASSIGN_OR_RETURN(next.token, Read(config_.token));
  PODCACHE_ASSIGN_OR_RETURN(next.client_certificate, Read(config_.client_certificate));
  PODCACHE_ASSIGN_OR_RETURN(next.client_key, Read(config_.client_key));
  if (!IsHeaderSafe(next.token)) return InvalidArgument("the token holds forbidden characters");
  snapshot_ = std::make_shared<const Snapshot>(std::move(next));
  read_at_ = clock_.MonotonicNow();
  return absl::OkStatus();
}

absl::StatusOr<Credentials::SnapshotPtr> Credentials::Current() {
  MutexLock lock(mutex_);
  if (snapshot_ == nullptr || clock_.MonotonicNow() - read_at_ >= kMaxAge) {
    const absl::Status read = ReadLocked();
    if (!read.ok() && snapshot_ == nullptr) return WithContext(read, "credentials");
  }
  return snapshot_;
}

Credentials::SnapshotPtr Credentials::RefreshAfterRefusal(const SnapshotPtr& used) {
  MutexLock lock(mutex_);
  if (!ReadLocked().ok() || *snapshot_ == *used) return nullptr;
  return snapshot_;
}

}  // namespace podcache::kube
