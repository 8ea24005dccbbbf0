#include "common/cgroup/cgroup.h"

#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

namespace podcache::cgroup {

namespace {

// "No limit" on v1 is the largest number of pages, so its value depends on the page size; no
// machine has this much.
constexpr std::uint64_t kUnlimitedFrom = 1ULL << 62;
// A group tree deeper than this is not walked further.
constexpr int kMaxDepth = 64;

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream content;
  content << file.rdbuf();
  if (file.bad()) return std::nullopt;
  return content.str();
}

std::optional<std::uint64_t> ParseNumber(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> ReadNumber(const std::string& path) {
  const auto text = ReadFile(path);
  return text ? ParseNumber(*text) : std::nullopt;
}

// The value of one line "key value" of a flat-keyed file.
std::optional<std::uint64_t> ReadKeyed(const std::string& path, std::string_view key) {
  const auto text = ReadFile(path);
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  std::string name;
  std::string value;
  while (lines >> name >> value) {
    if (name == key) return ParseNumber(value);
  }
  return std::nullopt;
}

bool ListHas(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == wanted) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

// mountinfo writes space, tab, newline and backslash as three octal digits.
std::string Unescape(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr ==
            text.data() + i + 4) {
      plain.push_back(static_cast<char>(code));
      i += 3;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

bool IsFolder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::optional<std::uint64_t> Smaller(std::optional<std::uint64_t> a,
                                     std::optional<std::uint64_t> b) {
  if (!a) return b;
  if (!b) return a;
  return std::min(*a, *b);
}

std::optional<std::uint64_t> Finite(std::optional<std::uint64_t> value) {
  return value && *value < kUnlimitedFrom ? value : std::nullopt;
}

std::optional<std::uint64_t> Milli(std::uint64_t quota_us, std::uint64_t period_us) {
  if (period_us == 0 || quota_us >= kUnlimitedFrom / 1000) return std::nullopt;
  return std::max<std::uint64_t>(quota_us * 1000 / period_us, 1);
}

std::optional<std::uint64_t> GroupCpuLimitMilli(Version version, const std::string& folder) {
  if (version == Version::kV1) {
    const auto quota = ReadNumber(folder + "/cpu.cfs_quota_us");  // "-1" (none) is no number.
    const auto period = ReadNumber(folder + "/cpu.cfs_period_us");
    return quota && period ? Milli(*quota, *period) : std::nullopt;
  }
  const auto text = ReadFile(folder + "/cpu.max");
  if (!text) return std::nullopt;
  std::istringstream words(*text);
  std::string quota_word;
  std::string period_word;
  words >> quota_word >> period_word;
  const auto quota = ParseNumber(quota_word);  // "max" is no number.
  return quota ? Milli(*quota, ParseNumber(period_word).value_or(100'000)) : std::nullopt;
}

std::optional<std::uint64_t> GroupMemoryLimitBytes(Version version, const std::string& folder) {
  // "max" is no number.
  const char* const file = version == Version::kV1 ? "/memory.limit_in_bytes" : "/memory.max";
  return Finite(ReadNumber(folder + file));
}

// The smallest value of `read` over a group and its visible ancestors.
template <class Read>
std::optional<std::uint64_t> SmallestUpwards(const std::string& top, std::string relative,
                                             Read&& read) {
  std::optional<std::uint64_t> smallest = read(top);
  for (int depth = 0; !relative.empty() && depth < kMaxDepth; ++depth) {
    smallest = Smaller(smallest, read(top + relative));
    relative.resize(relative.rfind('/'));
  }
  return smallest;
}

}  // namespace

Reader::Reader(std::string file_system_root) : file_system_root_(std::move(file_system_root)) {
  std::ifstream lines(file_system_root_ + "/proc/self/mountinfo");
  std::string line;
  while (std::getline(lines, line)) {
    // id parent major:minor root point options [optional fields] - type source super-options
    std::istringstream words(line);
    std::string skipped;
    std::string root;
    std::string point;
    words >> skipped >> skipped >> skipped >> root >> point;
    while (words >> skipped && skipped != "-") {
    }
    std::string type;
    std::string super_options;
    words >> type >> skipped >> super_options;
    if (type != "cgroup" && type != "cgroup2") continue;
    mounts_.push_back(Mount{type == "cgroup2" ? Version::kV2 : Version::kV1, super_options,
                            Unescape(root), Unescape(point)});
  }
}

Reader::Location Reader::LocateIn(const Mount& mount, const std::string& group_path) const {
  // Inside a container the mount often shows the group itself as its root, while /proc may name the
  // path from the host's root. What cannot be related to the mount (a path with "..", or of another
  // namespace) means the mount point itself.
  std::string relative = group_path;
  if (mount.root != "/" && relative.compare(0, mount.root.size(), mount.root) == 0 &&
      (relative.size() == mount.root.size() || relative[mount.root.size()] == '/')) {
    relative.erase(0, mount.root.size());
  }
  if (relative == "/" || relative.find("/..") != std::string::npos) relative.clear();
  const std::string top = file_system_root_ + mount.point;
  if (!relative.empty() && (relative.front() != '/' || !IsFolder(top + relative))) relative.clear();
  return Location{mount.version, top, relative};
}

Reader::Location Reader::Locate(const std::string& controller) const {
  std::ifstream lines(file_system_root_ + "/proc/self/cgroup");
  std::string line;
  std::optional<std::string> unified_path;
  while (std::getline(lines, line)) {
    // hierarchy:controllers:path
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) unified_path = path;
    if (!ListHas(controllers, controller)) continue;
    for (const Mount& mount : mounts_) {
      if (mount.version == Version::kV1 && ListHas(mount.controllers, controller)) {
        return LocateIn(mount, path);
      }
    }
  }
  if (!unified_path) return {};
  for (const Mount& mount : mounts_) {
    if (mount.version == Version::kV2) return LocateIn(mount, *unified_path);
  }
  return {};
}

Version Reader::memory_version() const { return Locate("memory").version; }

Version Reader::cpu_version() const { return Locate("cpu").version; }

std::optional<std::uint64_t> Reader::MemoryLimitBytes() const {
  const Location at = Locate("memory");
  if (at.version == Version::kNone) return std::nullopt;
  const auto visible = SmallestUpwards(at.top, at.relative, [&](const std::string& folder) {
    return GroupMemoryLimitBytes(at.version, folder);
  });
  if (at.version == Version::kV2) return visible;
  return Smaller(visible, Finite(ReadKeyed(at.top + at.relative + "/memory.stat",
                                           "hierarchical_memory_limit")));
}

std::optional<std::uint64_t> Reader::MemoryUsageBytes() const {
  const Location at = Locate("memory");
  if (at.version == Version::kNone) return std::nullopt;
  const char* file = at.version == Version::kV1 ? "/memory.usage_in_bytes" : "/memory.current";
  return ReadNumber(at.top + at.relative + file);
}

std::optional<std::uint64_t> Reader::CpuLimitMilli() const {
  const Location at = Locate("cpu");
  if (at.version == Version::kNone) return std::nullopt;
  return SmallestUpwards(at.top, at.relative, [&](const std::string& folder) {
    return GroupCpuLimitMilli(at.version, folder);
  });
}

std::optional<std::chrono::nanoseconds> Reader::CpuThrottledTime() const {
  const Location at = Locate("cpu");
  if (at.version == Version::kNone) return std::nullopt;
  const std::string file = at.top + at.relative + "/cpu.stat";
  const bool v1 = at.version == Version::kV1;
  const auto value = ReadKeyed(file, v1 ? "throttled_time" : "throttled_usec");
  if (!value) return std::nullopt;
  return std::chrono::nanoseconds(v1 ? *value : *value * 1000);
}

std::uint32_t UsableCpus() noexcept {
  // The mask of a large machine does not fit the fixed cpu_set_t: grow until the kernel is content.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 4) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(cpus), [](cpu_set_t* memory) { CPU_FREE(memory); });
    if (!set) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    if (sched_getaffinity(0, bytes, set.get()) == 0) {
      return static_cast<std::uint32_t>(std::max(CPU_COUNT_S(bytes, set.get()), 1));
    }
  }
  return 1;
}

}  // namespace podcache::cgroup
