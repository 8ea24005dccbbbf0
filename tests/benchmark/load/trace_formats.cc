#include <charconv>
#include <cstring>
#include <functional>

#include "tests/benchmark/load/client_socket.h"
#include "tests/benchmark/load/random.h"
#include "tests/benchmark/load/trace.h"

namespace podcache::bench {

namespace {

std::uint64_t HashOf(std::string_view text) noexcept {
  std::uint64_t hash = text.size();
  for (const char c : text) hash = Mix(hash ^ static_cast<unsigned char>(c));
  return hash;
}

std::vector<std::string_view> Split(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t end = line.find(separator);
    fields.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

template <class Number>
bool Read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// One request a line. parse(line, request) → what is in it; a header may stand first.
class TextTrace final : public Trace {
 public:
  enum class Line : std::uint8_t { kRequest, kOther, kBroken };
  using Parse = Line (*)(std::string_view line, TraceRequest& request);

  TextTrace(std::istream& input, Parse parse) : input_(input), parse_(parse) {}

  bool Next(TraceRequest& request) override {
    while (std::getline(input_, line_)) {
      ++number_;
      if (!line_.empty() && line_.back() == '\r') line_.pop_back();
      request = {};
      const Line kind = parse_(line_, request);
      if (kind == Line::kRequest) return true;
      if (kind == Line::kBroken && number_ > 1)
        throw Failure("line " + std::to_string(number_) + " of the trace: " + line_);
    }
    return false;
  }

 private:
  std::istream& input_;
  const Parse parse_;
  std::string line_;
  std::uint64_t number_ = 0;
};

using Line = TextTrace::Line;

// Twitter's cache clusters: timestamp, key, key size, value size, client, operation, TTL.
Line ParseTwitter(std::string_view line, TraceRequest& request) {
  const std::vector<std::string_view> f = Split(line, ',');
  if (f.size() != 7 || !Read(f[0], request.seconds) || !Read(f[2], request.key_bytes) ||
      !Read(f[3], request.value_bytes) || !Read(f[6], request.ttl_seconds))
    return Line::kBroken;
  request.key = HashOf(f[1]);
  const std::string_view verb = f[5];
  if (verb == "get" || verb == "gets") {
    request.verb = TraceVerb::kGet;
  } else if (verb == "delete") {
    request.verb = TraceVerb::kDelete;
  } else {
    request.verb = TraceVerb::kSet;
  }
  return Line::kRequest;
}

// CacheLib's kvcache traces: key, op, size, op count, key size; further columns are ignored.
Line ParseCacheLib(std::string_view line, TraceRequest& request) {
  const std::vector<std::string_view> f = Split(line, ',');
  if (f.size() < 5 || !Read(f[2], request.value_bytes) || !Read(f[4], request.key_bytes))
    return Line::kBroken;
  request.key = HashOf(f[0]);
  if (f[1] == "GET" || f[1] == "GET_LEASE") {
    request.verb = TraceVerb::kGet;
  } else if (f[1] == "SET" || f[1] == "SET_LEASE") {
    request.verb = TraceVerb::kSet;
  } else if (f[1] == "DELETE") {
    request.verb = TraceVerb::kDelete;
  } else {
    return Line::kBroken;
  }
  return Line::kRequest;
}

// MSR Cambridge block traces: time in 100 ns, host, disk, Read or Write, offset, size, response
// time. A block of its offset is the item.
Line ParseMsr(std::string_view line, TraceRequest& request) {
  const std::vector<std::string_view> f = Split(line, ',');
  std::uint64_t ticks = 0;
  std::uint64_t offset = 0;
  if (f.size() != 7 || !Read(f[0], ticks) || !Read(f[4], offset) ||
      !Read(f[5], request.value_bytes))
    return Line::kBroken;
  request.seconds = static_cast<double>(ticks) / 1e7;
  request.key = Mix(HashOf(f[1]) + HashOf(f[2])) ^ Mix(offset);
  request.verb = f[3] == "Write" ? TraceVerb::kSet : TraceVerb::kGet;
  return Line::kRequest;
}

// A key a line, and perhaps its value's size behind a comma.
Line ParseKeys(std::string_view line, TraceRequest& request) {
  if (line.empty()) return Line::kOther;
  constexpr std::uint32_t kUsualBytes = 128;
  const std::vector<std::string_view> f = Split(line, ',');
  request.value_bytes = kUsualBytes;
  if (f.size() > 2 || (f.size() == 2 && !Read(f[1], request.value_bytes))) return Line::kBroken;
  request.key = HashOf(f[0]);
  request.key_bytes = static_cast<std::uint32_t>(f[0].size());
  return Line::kRequest;
}

// libCacheSim's oracleGeneral: records of 24 bytes, little-endian: time 4, object 8, size 4, next
// access 8.
class OracleGeneral final : public Trace {
 public:
  explicit OracleGeneral(std::istream& input) : input_(input) {}

  bool Next(TraceRequest& request) override {
    char record[24];
    if (!input_.read(record, sizeof(record))) {
      if (input_.gcount() != 0) throw Failure("the trace ends within a record");
      return false;
    }
    std::uint32_t seconds = 0;
    request = {};
    std::memcpy(&seconds, record, sizeof(seconds));
    std::memcpy(&request.key, record + 4, sizeof(request.key));
    std::memcpy(&request.value_bytes, record + 12, sizeof(request.value_bytes));
    request.seconds = seconds;
    return true;
  }

 private:
  std::istream& input_;
};

template <TextTrace::Parse kParse>
std::unique_ptr<Trace> NewText(std::istream& input) {
  return std::make_unique<TextTrace>(input, kParse);
}

struct Format {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<Trace> (*open)(std::istream&);
};

constexpr Format kFormats[] = {
    {"twitter", "Twitter's cache clusters, CSV of seven columns", NewText<ParseTwitter>},
    {"cachelib", "CacheLib's kvcache traces, CSV: key, op, size, op_count, key_size",
     NewText<ParseCacheLib>},
    {"oracle-general", "libCacheSim's binary records",
     [](std::istream& input) -> std::unique_ptr<Trace> {
       return std::make_unique<OracleGeneral>(input);
     }},
    {"msr", "MSR Cambridge block traces, CSV of seven columns", NewText<ParseMsr>},
    {"keys", "a key a line, or key,size", NewText<ParseKeys>},
};

}  // namespace

std::string TraceFormatHelp() {
  std::string text = "Trace formats:\n";
  for (const Format& format : kFormats) {
    std::string name(format.name);
    name.resize(16, ' ');
    text += "  " + name + std::string(format.help) + "\n";
  }
  return text;
}

std::unique_ptr<Trace> OpenTrace(std::string_view format, std::istream& input) {
  for (const Format& known : kFormats) {
    if (known.name == format) return known.open(input);
  }
  throw Failure("no trace format is called " + std::string(format));
}

}  // namespace podcache::bench
