#include <algorithm>
#include <cstring>
#include <string_view>

#include "tests/benchmark/load/reply_reader.h"

namespace podcache::bench {

namespace {

constexpr std::string_view kValue = "VALUE ";
constexpr std::string_view kEnd = "END\r\n";
constexpr std::string_view kStored = "STORED\r\n";
constexpr std::size_t kLineEndBytes = 2;

class ReplyScanner final : public ReplyReader {
 public:
  void Expect(const Batch&) override {}
  ReplyCounts Feed(std::span<const char> received) override;
  const std::string& complaint() const noexcept override { return complaint_; }

 private:
  void OnLine(std::string_view line, ReplyCounts& counts);

  std::size_t skip_bytes_ = 0;  // Left of a value and its line end.
  std::string cut_line_;        // Its beginning, until the rest has come.
  std::string complaint_;
};

ReplyCounts ReplyScanner::Feed(std::span<const char> received) {
  ReplyCounts counts;
  std::string_view rest(received.data(), received.size());
  while (true) {
    const std::size_t skipped = std::min(skip_bytes_, rest.size());
    skip_bytes_ -= skipped;
    rest.remove_prefix(skipped);
    if (rest.empty()) return counts;
    if (cut_line_.empty() && rest.starts_with(kEnd)) {
      ++counts.replies;
      rest.remove_prefix(kEnd.size());
      continue;
    }
    const void* const newline = std::memchr(rest.data(), '\n', rest.size());
    if (newline == nullptr) {
      cut_line_ += rest;
      return counts;
    }
    const auto bytes =
        static_cast<std::size_t>(static_cast<const char*>(newline) - rest.data()) + 1;
    if (cut_line_.empty()) {
      OnLine(rest.substr(0, bytes), counts);
    } else {
      cut_line_ += rest.substr(0, bytes);
      OnLine(cut_line_, counts);
      cut_line_.clear();
    }
    rest.remove_prefix(bytes);
  }
}

void ReplyScanner::OnLine(std::string_view line, ReplyCounts& counts) {
  if (line.starts_with(kValue)) {
    ++counts.values;
    line.remove_suffix(std::min(line.size(), kLineEndBytes));
    skip_bytes_ = AnnouncedBytes(line) + kLineEndBytes;
    return;
  }
  ++counts.replies;
  if (line == kStored) {
    ++counts.stored;
  } else if (line != kEnd) {
    ++counts.errors;
    if (complaint_.empty()) complaint_ = std::string("the server answered ") + std::string(line);
  }
}

}  // namespace

std::size_t AnnouncedBytes(std::string_view value_line) noexcept {
  std::size_t bytes = 0;
  std::size_t place = 1;
  for (std::size_t i = value_line.size(); i > 0; --i) {
    const char digit = value_line[i - 1];
    if (digit < '0' || digit > '9') return digit == ' ' ? bytes : 0;
    bytes += static_cast<std::size_t>(digit - '0') * place;
    place *= 10;
  }
  return 0;
}

std::unique_ptr<ReplyReader> NewReplyScanner() { return std::make_unique<ReplyScanner>(); }

}  // namespace podcache::bench
