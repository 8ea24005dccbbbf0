#include "server/protocol/verbs.h"

#include <cstdint>
#include <cstring>

namespace podcache::protocol {

namespace {

constexpr std::size_t kWordBytes = 8;

// A word of up to eight letters as one number, so that a switch finds it with one compare.
constexpr std::uint64_t Pack(std::string_view word) noexcept {
  std::uint64_t packed = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    packed |= static_cast<std::uint64_t>(static_cast<unsigned char>(word[i])) << (8 * i);
  }
  return packed;
}

std::optional<Verb> FindLongVerb(std::string_view word) noexcept {
  if (word == "flush_all") return Verb::kFlushAll;
  if (word == "verbosity") return Verb::kVerbosity;
  if (word == "cache_memlimit") return Verb::kCacheMemlimit;
  if (word == "lru_crawler") return Verb::kLruCrawler;
  if (word == "refresh_certs") return Verb::kRefreshCerts;
  if (word == "debugtime") return Verb::kDebugtime;
  return std::nullopt;
}

}  // namespace

std::string_view StorageWord(Verb verb) noexcept {
  switch (verb) {
    case Verb::kAdd:
      return "add";
    case Verb::kReplace:
      return "replace";
    case Verb::kAppend:
      return "append";
    case Verb::kPrepend:
      return "prepend";
    case Verb::kCas:
      return "cas";
    default:
      return "set";
  }
}

std::optional<Verb> FindVerb(std::string_view word) noexcept {
  if (word.size() > kWordBytes) return FindLongVerb(word);
  switch (Pack(word)) {
    case Pack("get"):
      return Verb::kGet;
    case Pack("gets"):
      return Verb::kGets;
    case Pack("gat"):
      return Verb::kGat;
    case Pack("gats"):
      return Verb::kGats;
    case Pack("set"):
      return Verb::kSet;
    case Pack("add"):
      return Verb::kAdd;
    case Pack("replace"):
      return Verb::kReplace;
    case Pack("append"):
      return Verb::kAppend;
    case Pack("prepend"):
      return Verb::kPrepend;
    case Pack("cas"):
      return Verb::kCas;
    case Pack("delete"):
      return Verb::kDelete;
    case Pack("incr"):
      return Verb::kIncr;
    case Pack("decr"):
      return Verb::kDecr;
    case Pack("touch"):
      return Verb::kTouch;
    case Pack("watch"):
      return Verb::kWatch;
    case Pack("version"):
      return Verb::kVersion;
    case Pack("stats"):
      return Verb::kStats;
    case Pack("quit"):
      return Verb::kQuit;
    case Pack("shutdown"):
      return Verb::kShutdown;
    case Pack("lru"):
      return Verb::kLru;
    case Pack("slabs"):
      return Verb::kSlabs;
    default:
      return std::nullopt;
  }
}

std::optional<MetaVerb> FindMetaVerb(std::string_view word) noexcept {
  if (word.size() != 2 || word[0] != 'm') return std::nullopt;
  switch (word[1]) {
    case 'g':
      return MetaVerb::kGet;
    case 's':
      return MetaVerb::kSet;
    case 'd':
      return MetaVerb::kDelete;
    case 'a':
      return MetaVerb::kArithmetic;
    case 'n':
      return MetaVerb::kNoop;
    case 'e':
      return MetaVerb::kDebug;
    default:
      return std::nullopt;
  }
}

}  // namespace podcache::protocol
