// The rows of -o.
#include <limits>
#include <string_view>

#include "server/option_table.h"
#include "server/option_values.h"

namespace podcache::server {

namespace {

using std::string;

constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();

template <auto kSet, std::int64_t kLow, std::int64_t kHigh>
bool Number(Options& options, const string& text, string& error) {
  std::int64_t value = 0;
  if (!ReadInteger(text, kLow, kHigh, value)) {
    error = NotANumber(text, kLow, kHigh);
    return false;
  }
  kSet(options.settings, value);
  return true;
}

template <auto kSet>
bool Decimal(Options& options, const string& text, string& error) {
  double value = 0;
  if (!ReadDecimal(text, value) || value <= 0) {
    error = "\"" + text + "\" is not a number greater than 0";
    return false;
  }
  kSet(options.settings, value);
  return true;
}

template <auto kSet>
bool Switch(Options& options, const string&, string&) {
  kSet(options.settings);
  return true;
}

bool Nothing(Options&, const string&, string&) { return true; }

bool SetHashAlgorithm(Options& options, const string& text, string& error) {
  if (text != "jenkins" && text != "murmur3" && text != "xxh3") {
    error = "\"" + text + "\" is not one of jenkins, murmur3, xxh3";
    return false;
  }
  options.settings.hash_algorithm = text;
  return true;
}

// Sizes joined by '-', as memcached wants them: from the smallest chunk to the largest, each more
// than a step above the one before.
bool CheckSlabSizes(Options& options, const string& text, string& error) {
  constexpr std::int64_t kStep = 8;
  const auto most = static_cast<std::int64_t>(options.settings.slab_chunk_max);
  auto least = static_cast<std::int64_t>(options.settings.chunk_size);
  std::string_view rest = text;
  while (true) {
    const std::size_t dash = rest.find('-');
    std::int64_t size = 0;
    if (!ReadInteger(rest.substr(0, dash), least, most, size)) {
      error = "\"" + text + "\" is not a list of sizes joined by '-', from " +
              std::to_string(options.settings.chunk_size) + " to " + std::to_string(most) +
              ", each more than 8 above the one before";
      return false;
    }
    if (dash == std::string_view::npos) return true;
    least = size + kStep + 1;
    rest.remove_prefix(dash + 1);
  }
}

bool SetEvictionPolicy(Options& options, const string& text, string& error) {
  if (text == "s3fifo") {
    options.eviction = store::EvictionKind::kS3Fifo;
  } else if (text == "second_chance") {
    options.eviction = store::EvictionKind::kSecondChance;
  } else if (text == "fifo") {
    options.eviction = store::EvictionKind::kFifo;
  } else {
    error = "\"" + text + "\" is not one of s3fifo, second_chance, fifo";
    return false;
  }
  return true;
}

// Whether it divides -I is seen when all options are known.
bool SetSlabChunkMax(Options& options, const string& text, string& error) {
  constexpr std::int64_t kMost = 1024;
  std::int64_t kib = 0;
  if (!ReadInteger(text, 1, kMost, kib)) {
    error = NotANumber(text, 1, kMost);
    return false;
  }
  options.settings.slab_chunk_max = static_cast<std::uint64_t>(kib) << 10;
  options.slab_chunk_max_given = true;
  return true;
}

// What memcached shows as the largest chunk where a chunk may be a whole page.
constexpr std::uint64_t kWholePageBytes = std::uint64_t{1} << 20;

bool SetSlabAutomoveRatio(Options& options, const string& text, string& error) {
  double ratio = 0;
  if (!ReadDecimal(text, ratio) || ratio <= 0 || ratio > 1) {
    error = "\"" + text + "\" is not a number above 0 and up to 1";
    return false;
  }
  options.settings.slab_automove_ratio = ratio;
  return true;
}

// memcached's old defaults. A chunk size that was asked for stays.
bool NoModern(Options& options, const string&, string&) {
  command::SettingsReport& settings = options.settings;
  settings.slab_reassign = false;
  settings.slab_automove = 0;
  settings.maxconns_fast = false;
  settings.lru_segmented = false;
  settings.lru_maintainer = false;
  settings.lru_crawler = false;
  settings.hash_algorithm = "jenkins";
  if (!options.slab_chunk_max_given) settings.slab_chunk_max = kWholePageBytes;
  return true;
}

// Without a value: 1.
bool SetSlabAutomove(Options& options, const string& text, string& error) {
  std::int64_t level = 1;
  if (!text.empty() && !ReadInteger(text, 0, 2, level)) {
    error = NotANumber(text, 0, 2);
    return false;
  }
  options.settings.slab_automove = static_cast<int>(level);
  return true;
}

using Settings = command::SettingsReport;
constexpr const char* kNoEffect = "accepted for compatibility, without effect";

constexpr SuboptionRow kRows[] = {
    {"maxconns_fast", nullptr, nullptr,
     "turn clients above -c away at once (on by default); off: let them wait",
     Switch<[](Settings& s) { s.maxconns_fast = true; }>},
    {"no_maxconns_fast", nullptr, nullptr, nullptr,
     Switch<[](Settings& s) { s.maxconns_fast = false; }>},
    {"idle_timeout", "s", "0, never", "close connections that were silent for so many seconds",
     Number<[](Settings& s, std::int64_t v) { s.idle_timeout = static_cast<std::uint64_t>(v); }, 0,
            kMaxInt>},
    {"read_buf_mem_limit", "MB", "0, unlimited",
     "half-received requests together; beyond it their clients are closed (they count against -m "
     "in any case)",
     Number<[](Settings& s, std::int64_t v) {
       s.read_buf_mem_limit = static_cast<std::uint64_t>(v) << 20;
     },
            0, kMaxInt>},
    {"watcher_logbuf_size", "KB", "256", "lines kept for a watching client that reads slowly",
     Number<[](Settings& s, std::int64_t v) {
       s.watcher_logbuf_size = static_cast<std::uint64_t>(v) << 10;
     },
            1, kMaxInt>},
    {"worker_logbuf_size", "KB", "64", "lines a worker keeps until they are collected for watchers",
     Number<[](Settings& s, std::int64_t v) {
       s.worker_logbuf_size = static_cast<std::uint64_t>(v) << 10;
     },
            1, kMaxInt>},
    {"lru_crawler", nullptr, nullptr, "show the crawler's figures (on by default)",
     Switch<[](Settings& s) { s.lru_crawler = true; }>},
    {"no_lru_crawler", nullptr, nullptr, nullptr,
     Switch<[](Settings& s) { s.lru_crawler = false; }>},
    {"lru_maintainer", nullptr, nullptr, "show the maintainer's figures (on by default)",
     Switch<[](Settings& s) {
       s.lru_maintainer = true;
       s.lru_segmented = true;
     }>},
    {"no_lru_maintainer", nullptr, nullptr, nullptr, Switch<[](Settings& s) {
       s.lru_maintainer = false;
       s.lru_segmented = false;
     }>},
    {"eviction_policy", "name", "s3fifo",
     "who leaves a full cache: s3fifo (what is not used again, soon), second_chance or fifo (the "
     "oldest, with and without regard to use)",
     SetEvictionPolicy},
    {"hot_lru_pct", "percent", "20", kNoEffect,
     Number<[](Settings& s, std::int64_t v) { s.hot_lru_pct = static_cast<unsigned>(v); }, 1, 80>},
    {"warm_lru_pct", "percent", "40", kNoEffect,
     Number<[](Settings& s, std::int64_t v) { s.warm_lru_pct = static_cast<unsigned>(v); }, 1, 80>},
    {"hot_max_factor", "num", "0.2", kNoEffect,
     Decimal<[](Settings& s, double v) { s.hot_max_factor = v; }>},
    {"warm_max_factor", "num", "2.0", kNoEffect,
     Decimal<[](Settings& s, double v) { s.warm_max_factor = v; }>},
    {"temporary_ttl", "s", "61", kNoEffect,
     Number<[](Settings& s, std::int64_t v) {
       s.temp_lru = true;
       s.temporary_ttl = static_cast<std::uint64_t>(v);
     },
            0, kMaxInt>},
    {"lru_crawler_sleep", "us", "100", kNoEffect,
     Number<[](Settings& s, std::int64_t v) {
       s.lru_crawler_sleep = static_cast<std::uint64_t>(v);
     },
            0, 1'000'000>},
    {"lru_crawler_tocrawl", "num", "0, unlimited", kNoEffect,
     Number<[](Settings& s, std::int64_t v) {
       s.lru_crawler_tocrawl = static_cast<std::uint64_t>(v);
     },
            0, std::numeric_limits<std::uint32_t>::max()>},
    {"hashpower", "num", "grows by itself", kNoEffect,
     Number<[](Settings& s, std::int64_t v) { s.hashpower_init = static_cast<int>(v); }, 12, 32>},
    {"no_hashexpand", nullptr, nullptr, nullptr, Nothing},
    {"hash_algorithm", "name", "xxh3",
     "jenkins, murmur3 or xxh3; accepted for compatibility, without effect", SetHashAlgorithm},
    {"tail_repair_time", "s", "0, off", kNoEffect,
     Number<[](Settings& s, std::int64_t v) { s.tail_repair_time = static_cast<std::uint64_t>(v); },
            10, kMaxInt>},
    {"slab_reassign", nullptr, nullptr, kNoEffect,
     Switch<[](Settings& s) { s.slab_reassign = true; }>},
    {"no_slab_reassign", nullptr, nullptr, nullptr,
     Switch<[](Settings& s) { s.slab_reassign = false; }>},
    {"slab_automove", nullptr, nullptr, "[=0-2]: accepted for compatibility, without effect",
     SetSlabAutomove},
    {"no_slab_automove", nullptr, nullptr, nullptr,
     Switch<[](Settings& s) { s.slab_automove = 0; }>},
    {"slab_automove_ratio", "num", "0.8", kNoEffect, SetSlabAutomoveRatio},
    {"slab_automove_window", "s", "10", kNoEffect,
     Number<[](Settings& s, std::int64_t v) { s.slab_automove_window = static_cast<unsigned>(v); },
            3, 1800>},
    {"slab_automove_freeratio", "num", "0.01", kNoEffect, Decimal<[](Settings&, double) {}>},
    {"slab_chunk_max", "KB", "512", kNoEffect, SetSlabChunkMax},
    {"slab_sizes", "list", "none", kNoEffect, CheckSlabSizes},
    {"resp_obj_mem_limit", nullptr, nullptr, kNoEffect, Nothing},
    {"inline_ascii_resp", nullptr, nullptr, kNoEffect, Nothing},
    {"no_inline_ascii_resp", nullptr, nullptr, nullptr, Nothing},
    {"no_chunked_items", nullptr, nullptr, nullptr,
     Switch<[](Settings& s) { s.slab_chunk_max = kWholePageBytes; }>},
    {"modern", nullptr, nullptr, kNoEffect, Nothing},
    {"no_modern", nullptr, nullptr, nullptr, NoModern},
    {"relaxed_privileges", nullptr, nullptr, kNoEffect, Nothing},
    // The test for options that must not be named in --help looks for this one too.
    {"no_drop_privileges", nullptr, nullptr, nullptr, Nothing},
    {"drop_privileges", nullptr, nullptr, nullptr, Never},
    {"sock_cookie_id", "num", nullptr, nullptr, Never},
    {"track_sizes", nullptr, nullptr, "let stats sizes count the items of each size",
     Switch<[](Settings& s) { s.track_sizes = true; }>},
    {"ssl_chain_cert", "file", nullptr, nullptr, Later},
    {"ssl_key", "file", nullptr, nullptr, Later},
    {"ssl_keyformat", "name", nullptr, nullptr, Later},
    {"ssl_verify_mode", "0-3", nullptr, nullptr, Later},
    {"ssl_ciphers", "list", nullptr, nullptr, Later},
    {"ssl_ca_cert", "file", nullptr, nullptr, Later},
    {"ssl_wbuf_size", "KB", nullptr, nullptr, Later},
    {"ssl_session_cache", nullptr, nullptr, nullptr, Later},
    {"ssl_kernel_tls", nullptr, nullptr, nullptr, Later},
    {"ssl_min_version", "0-3", nullptr, nullptr, Later},
};

const SuboptionRow* Find(std::string_view name) {
  for (const SuboptionRow& row : kRows) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

bool ApplyOne(Options& options, std::string_view text, string& error) {
  const std::size_t equals = text.find('=');
  const string name(text.substr(0, equals));
  const bool has_value = equals != std::string_view::npos;
  const SuboptionRow* const row = Find(name);
  if (row == nullptr) {
    error = "Illegal suboption \"" + name + "\"";
    if (name.rfind("ext_", 0) == 0 || name.rfind("proxy_", 0) == 0)
      error += ": not part of Podcache";
    return false;
  }
  const string value = has_value ? string(text.substr(equals + 1)) : "";
  if (row->value != nullptr && value.empty()) {
    error = name + ": the value is missing";
    return false;
  }
  // A value for a switch is passed over, as memcached does (slab_reassign=1).
  if (row->apply(options, value, error)) return true;
  error = name + ": " + error;
  return false;
}

}  // namespace

std::span<const SuboptionRow> SuboptionRows() { return kRows; }

bool ApplySuboptions(Options& options, const string& list, string& error) {
  // A comma at the end is passed over, an empty name in front of one is none, as in memcached.
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (!ApplyOne(options, rest.substr(0, comma), error)) return false;
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return true;
}

}  // namespace podcache::server
