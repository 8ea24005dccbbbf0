#include "server/protocol/dump_lines.h"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstring>

#include "server/protocol/base64.h"
#include "server/protocol/encoders.h"
#include "server/protocol/limits.h"
#include "server/protocol/uri.h"

namespace podcache::protocol {

namespace {

constexpr std::size_t kMaxEncodedKeyBytes = MaxUriBytes(kMaxKeyBytes);
// Words, numbers and line ends beside the key; the longest such line has seven numbers.
constexpr std::size_t kMaxOtherBytes = 256;

bool IsTextKey(std::string_view key) noexcept {
  return std::ranges::none_of(
      key, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; });
}

// Writes into room that was reserved for the whole line.
class LineWriter {
 public:
  LineWriter(std::size_t key_bytes, OutputBuffer& output)
      : output_(output), start_(output.Reserve(key_bytes + kMaxOtherBytes)), at_(start_) {}
  ~LineWriter() { output_.Commit(static_cast<std::size_t>(at_ - start_)); }
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  LineWriter& operator<<(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }
  LineWriter& operator<<(std::integral auto number) {
    constexpr std::size_t kMaxDigits = 20;
    at_ = std::to_chars(at_, at_ + kMaxDigits, number).ptr;
    return *this;
  }
  LineWriter& Uri(std::string_view text) {
    at_ = WriteUri(at_, text);
    return *this;
  }
  LineWriter& Base64(std::string_view text) {
    at_ = EncodeBase64(text, at_);
    return *this;
  }

 private:
  OutputBuffer& output_;
  char* const start_;
  char* at_;
};

}  // namespace

void AppendMetadumpLine(const MetadumpLine& line, OutputBuffer& output) {
  LineWriter writer(kMaxEncodedKeyBytes, output);
  writer << "key=";
  writer.Uri(line.key) << " exp=" << line.exptime << " la=" << line.last_access
                       << " cas=" << line.cas << " fetch=" << (line.fetched ? "yes" : "no")
                       << " cls=1 size=" << line.size << " flags=" << line.client_flags << " \n";
}

void AppendMgdumpLine(std::string_view key, OutputBuffer& output) {
  LineWriter writer(kMaxEncodedKeyBytes, output);
  writer << "mg ";
  if (IsTextKey(key)) {
    writer << key;
  } else {
    writer.Base64(key) << " b";
  }
  writer << kLineEnd;
}

void AppendCachedumpLine(std::string_view key, std::uint64_t value_bytes, std::int64_t exptime,
                         OutputBuffer& output) {
  LineWriter(kMaxEncodedKeyBytes, output)
      << "ITEM " << key << " " << CachedumpText(value_bytes, exptime) << kLineEnd;
}

std::string CachedumpText(std::uint64_t value_bytes, std::int64_t exptime) {
  return "[" + std::to_string(value_bytes) + " b; " + std::to_string(exptime) + " s]";
}

void AppendPrefixLine(std::string_view prefix, std::uint64_t gets, std::uint64_t hits,
                      std::uint64_t sets, std::uint64_t deletes, OutputBuffer& output) {
  LineWriter(kMaxEncodedKeyBytes, output)
      << "PREFIX " << prefix << " get " << gets << " hit " << hits << " set " << sets << " del "
      << deletes << kLineEnd;
}

}  // namespace podcache::protocol
