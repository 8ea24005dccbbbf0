#include "server/protocol/watch_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <iterator>
#include <utility>

#include "server/protocol/scan.h"

namespace podcache::protocol {

namespace {

constexpr std::size_t kMaxDigits = 20;
constexpr std::int64_t kPerSecond = 1'000'000;
constexpr int kMicrosecondDigits = 6;

// Everything is one class here (stats items); what is not there has none.
constexpr std::string_view kNoClass = "0";
constexpr std::string_view kClass = "1";

constexpr std::pair<std::string_view, Streams> kStreamNames[] = {
    {"rawcmds", kRawCommands},   {"evictions", kEvictions},     {"fetchers", kFetchers},
    {"mutations", kMutations},   {"sysevents", kSystemEvents},  {"connevents", kConnectionEvents},
    {"proxyreqs", kProxyEvents}, {"proxyevents", kProxyEvents}, {"proxyuser", kProxyEvents},
    {"deletions", kDeletions},
};

constexpr std::array<std::string_view, 4> kLookups = {"not_found", "found", "flushed", "expired"};
constexpr std::array<std::string_view, 6> kOutcomes = {"not_stored", "stored",    "exists",
                                                       "not_found",  "too_large", "no_memory"};

constexpr std::array<std::string_view, 4> kEnds = {"error", "normal", "idle_timeout", "shutdown"};

// Writes a line from left to right.
class Line {
 public:
  Line(char* at, const WatchStamp& stamp, std::string_view type) noexcept : at_(at) {
    Text("ts=").Number(stamp.unix_microseconds / kPerSecond).Text(".");
    std::int64_t rest = stamp.unix_microseconds % kPerSecond;
    for (int i = kMicrosecondDigits; i > 0; --i, rest /= 10) {
      at_[i - 1] = static_cast<char>('0' + rest % 10);
    }
    at_ += kMicrosecondDigits;
    Text(" gid=").Number(stamp.gid).Text(" type=").Text(type);
  }
  Line& Text(std::string_view text) noexcept {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }
  template <class Integer>
  Line& Number(Integer number) noexcept {
    at_ = std::to_chars(at_, at_ + kMaxDigits, number).ptr;
    return *this;
  }
  Line& Key(std::string_view key) noexcept {
    Text(" key=");
    at_ = WriteUri(at_, key);
    return *this;
  }
  char* End() noexcept {
    *at_++ = '\n';
    return at_;
  }

 private:
  char* at_;
};

Line& Append(Line& line, const WatchedConnection& who) noexcept {
  return line.Text(" rip=")
      .Text(who.ip.empty() ? std::string_view("unix") : who.ip)
      .Text(" rport=")
      .Number(who.port)
      .Text(" transport=")
      .Text(who.transport);
}

}  // namespace

std::optional<Streams> ParseStreams(std::string_view arguments) noexcept {
  Streams streams = 0;
  for (std::string_view word = TakeToken(arguments); !word.empty(); word = TakeToken(arguments)) {
    const auto* const found = std::ranges::find_if(
        kStreamNames, [&](const auto& stream) { return StandsFor(word, stream.first); });
    if (found == std::end(kStreamNames)) return std::nullopt;
    streams |= found->second;
  }
  return streams == 0 ? kFetchers : streams;
}

char* WriteItemGet(char* at, const WatchStamp& stamp, std::string_view key, LookupStatus status,
                   std::uint64_t connection, std::uint64_t value_bytes) noexcept {
  return Line(at, stamp, "item_get")
      .Key(key)
      .Text(" status=")
      .Text(kLookups[static_cast<std::size_t>(status)])
      .Text(" clsid=")
      .Text(status == LookupStatus::kFound ? kClass : kNoClass)
      .Text(" cfd=")
      .Number(connection)
      .Text(" size=")
      .Number(value_bytes)
      .End();
}

char* WriteItemStore(char* at, const WatchStamp& stamp, std::string_view key, StoreOutcome outcome,
                     std::string_view command, std::int64_t ttl, std::uint64_t connection,
                     std::uint64_t value_bytes) noexcept {
  return Line(at, stamp, "item_store")
      .Key(key)
      .Text(" status=")
      .Text(kOutcomes[static_cast<std::size_t>(outcome)])
      .Text(" cmd=")
      .Text(command)
      .Text(" ttl=")
      .Number(ttl)
      .Text(" clsid=")
      .Text(kClass)
      .Text(" cfd=")
      .Number(connection)
      .Text(" size=")
      .Number(value_bytes)
      .End();
}

char* WriteEviction(char* at, const WatchStamp& stamp, std::string_view key, bool fetched,
                    std::int64_t ttl, std::uint32_t idle_seconds,
                    std::uint64_t value_bytes) noexcept {
  return Line(at, stamp, "eviction")
      .Key(key)
      .Text(" fetch=")
      .Text(fetched ? "yes" : "no")
      .Text(" ttl=")
      .Number(ttl)
      .Text(" la=")
      .Number(idle_seconds)
      .Text(" clsid=")
      .Text(kClass)
      .Text(" size=")
      .Number(value_bytes)
      .End();
}

char* WriteDeleted(char* at, const WatchStamp& stamp, std::string_view key,
                   std::string_view command, std::uint64_t value_bytes) noexcept {
  return Line(at, stamp, "deleted")
      .Key(key)
      .Text(" cmd=")
      .Text(command)
      .Text(" clsid=")
      .Text(kClass)
      .Text(" size=")
      .Number(value_bytes)
      .End();
}

char* WriteConnNew(char* at, const WatchStamp& stamp, const WatchedConnection& who) noexcept {
  Line line(at, stamp, "conn_new");
  return Append(line, who).Text(" cfd=").Number(who.id).End();
}

char* WriteConnClose(char* at, const WatchStamp& stamp, const WatchedConnection& who,
                     ConnectionEnd reason) noexcept {
  Line line(at, stamp, "conn_close");
  return Append(line, who)
      .Text(" reason=")
      .Text(kEnds[static_cast<std::size_t>(reason)])
      .Text(" cfd=")
      .Number(who.id)
      .End();
}

char* WriteSkipped(char* at, std::uint64_t lines) noexcept {
  constexpr std::string_view kName = "skipped=";
  std::memcpy(at, kName.data(), kName.size());
  at = std::to_chars(at + kName.size(), at + kName.size() + kMaxDigits, lines).ptr;
  *at++ = '\n';
  return at;
}

}  // namespace podcache::protocol
