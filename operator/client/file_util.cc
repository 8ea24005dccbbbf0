#include "operator/client/file_util.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace podcache::kube {

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("cannot open " + path + ": " + std::strerror(errno));
  std::string content(kMaxConfigFileBytes + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (file.bad()) return Unavailable("cannot read " + path);
  content.resize(static_cast<std::size_t>(file.gcount()));
  if (content.size() > kMaxConfigFileBytes) return InvalidArgument(path + " is larger than 4 MiB");
  return content;
}

std::string Trimmed(std::string text) {
  static constexpr char kSpace[] = " \t\r\n";
  text.erase(text.find_last_not_of(kSpace) + 1);
  text.erase(0, text.find_first_not_of(kSpace));
  return text;
}

}  // namespace podcache::kube
