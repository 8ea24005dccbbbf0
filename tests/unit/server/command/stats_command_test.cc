// `stats`: exactly the keys of protocol.md 6, and values that follow what happened.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/server/session/session_harness.h"

namespace podcache {
namespace {

using testing::Harness;

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// The keys of one answer in order; fails on a line that is no STAT line, or without an END.
std::vector<std::string> Keys(const std::string& answer,
                              std::map<std::string, std::string>* values) {
  std::istringstream stream(answer);
  std::vector<std::string> keys;
  std::string line;
  while (std::getline(stream, line) && line != "END\r") {
    const std::vector<std::string> words = Words(line);
    if (words.size() != 3 || line != "STAT " + words[1] + " " + words[2] + "\r") {
      ADD_FAILURE() << line;
      continue;
    }
    keys.push_back(words[1]);
    if (values != nullptr) (*values)[words[1]] = words[2];
  }
  EXPECT_EQ(line, "END\r");
  return keys;
}

// Digits, or seconds with six digits behind the dot.
bool IsNumber(const std::string& text) {
  constexpr const char* kDigits = "0123456789";
  const std::size_t dot = text.find_first_not_of(kDigits);
  if (text.empty() || dot == 0) return false;
  if (dot == std::string::npos) return true;
  return text[dot] == '.' && text.size() == dot + 7 &&
         text.find_first_not_of(kDigits, dot + 1) == std::string::npos;
}

std::vector<std::string> Sorted(std::vector<std::string> words) {
  std::ranges::sort(words);
  return words;
}

std::map<std::string, std::string> Stats(Harness& harness, const std::string& family = "") {
  std::map<std::string, std::string> values;
  Keys(harness.Ask("stats" + family + "\r\n"), &values);
  return values;
}

// Copied from protocol.md 6.
constexpr const char* kGeneral =
    "pid uptime time version libevent pointer_size rusage_user rusage_system max_connections "
    "curr_connections total_connections rejected_connections connection_structures "
    "response_obj_oom "
    "response_obj_count response_obj_bytes read_buf_count read_buf_bytes read_buf_bytes_free "
    "read_buf_oom reserved_fds cmd_get cmd_set cmd_flush cmd_touch cmd_meta get_hits get_misses "
    "get_expired get_flushed delete_misses delete_hits incr_misses incr_hits decr_misses decr_hits "
    "cas_misses cas_hits cas_badval touch_hits touch_misses store_too_large store_no_memory "
    "auth_cmds "
    "auth_errors bytes_read bytes_written limit_maxbytes accepting_conns listen_disabled_num "
    "time_in_listen_disabled_us threads conn_yields hash_power_level hash_bytes hash_is_expanding "
    "slab_reassign_rescues slab_reassign_chunk_rescues slab_reassign_inline_reclaim "
    "slab_reassign_busy_items slab_reassign_busy_deletes slab_reassign_busy_nomem "
    "slab_reassign_last_busy_status slab_reassign_running slabs_moved malloc_fails "
    "log_worker_dropped "
    "log_worker_written log_watcher_skipped log_watcher_sent log_watchers unexpected_napi_ids "
    "round_robin_fallback bytes curr_items total_items slab_global_page_pool expired_unfetched "
    "evicted_unfetched evictions reclaimed crawler_reclaimed crawler_items_checked "
    "lrutail_reflocked";
constexpr const char* kCrawler = " lru_crawler_running lru_crawler_starts";
constexpr const char* kMaintainer =
    " lru_maintainer_juggles evicted_active moves_to_cold moves_to_warm moves_within_lru "
    "direct_reclaims lru_bumps_dropped";
constexpr const char* kSettings =
    "maxbytes maxconns tcpport udpport inter verbosity oldest evictions domain_socket umask "
    "shutdown_command growth_factor chunk_size num_threads num_threads_per_udp stat_key_prefix "
    "detail_enabled reqs_per_event cas_enabled tcp_backlog binding_protocol auth_enabled_sasl "
    "auth_enabled_ascii item_size_max maxconns_fast hashpower_init slab_reassign slab_automove "
    "slab_automove_ratio slab_automove_window slab_chunk_max lru_crawler lru_crawler_sleep "
    "lru_crawler_tocrawl tail_repair_time flush_enabled dump_enabled hash_algorithm "
    "lru_maintainer_thread lru_segmented hot_lru_pct warm_lru_pct hot_max_factor warm_max_factor "
    "temp_lru temporary_ttl idle_timeout watcher_logbuf_size worker_logbuf_size read_buf_mem_limit "
    "track_sizes inline_ascii_response num_napi_ids memory_file client_flags_size";
constexpr const char* kItems =
    "number number_hot number_warm number_cold age_hot age_warm age mem_requested evicted "
    "evicted_nonzero evicted_time outofmemory tailrepairs reclaimed expired_unfetched "
    "evicted_unfetched evicted_active crawler_reclaimed crawler_items_checked lrutail_reflocked "
    "moves_to_cold moves_to_warm moves_within_lru direct_reclaims hits_to_hot hits_to_warm "
    "hits_to_cold hits_to_temp";
constexpr const char* kSlabs =
    "chunk_size chunks_per_page total_pages total_chunks used_chunks free_chunks free_chunks_end "
    "get_hits cmd_set delete_hits incr_hits decr_hits cas_hits cas_badval touch_hits";

TEST(StatsCommandTest, ExactlyTheKeysOfTheGeneralFamily) {
  Harness harness;
  harness.context.settings.lru_crawler = false;
  harness.context.settings.lru_maintainer = false;
  const std::string all = harness.Ask("stats\r\n");
  EXPECT_EQ(Keys(all, nullptr).size(), 84U);
  EXPECT_EQ(Sorted(Keys(all, nullptr)), Sorted(Words(kGeneral)));

  harness.context.settings.lru_crawler = true;
  EXPECT_EQ(Sorted(Keys(harness.Ask("stats\r\n"), nullptr)),
            Sorted(Words(std::string(kGeneral) + kCrawler)));
  harness.context.settings.lru_maintainer = true;
  harness.context.settings.idle_timeout = 5;
  EXPECT_EQ(Sorted(Keys(harness.Ask("stats\r\n"), nullptr)),
            Sorted(Words(std::string(kGeneral) + kCrawler + kMaintainer + " idle_kicks")));
}

TEST(StatsCommandTest, ExactlyTheKeysOfTheSettingsInOrder) {
  Harness harness;
  EXPECT_EQ(Keys(harness.Ask("stats settings\r\n"), nullptr), Words(kSettings));
}

// The defaults as memcached 1.6.45 prints them.
TEST(StatsCommandTest, OfShortenedFamiliesSettingsComeFirst) {
  Harness harness;
  EXPECT_EQ(harness.Ask("stats s\r\n"), harness.Ask("stats settings\r\n"));
}

TEST(StatsCommandTest, SettingsAreWrittenLikeMemcacheds) {
  Harness harness;
  auto settings = Stats(harness, " settings");
  EXPECT_EQ(settings["maxbytes"], "67108864");
  EXPECT_EQ(settings["inter"], "NULL");
  EXPECT_EQ(settings["domain_socket"], "NULL");
  EXPECT_EQ(settings["memory_file"], "NULL");
  EXPECT_EQ(settings["umask"], "700");
  EXPECT_EQ(settings["evictions"], "on");
  EXPECT_EQ(settings["growth_factor"], "1.25");
  EXPECT_EQ(settings["slab_automove_ratio"], "0.80");
  EXPECT_EQ(settings["slab_chunk_max"], "524288");
  EXPECT_EQ(settings["hot_max_factor"], "0.20");
  EXPECT_EQ(settings["warm_max_factor"], "2.00");
  EXPECT_EQ(settings["binding_protocol"], "auto-negotiate");
  EXPECT_EQ(settings["lru_crawler"], "yes");
  EXPECT_EQ(settings["lru_maintainer_thread"], "yes");
  EXPECT_EQ(settings["flush_enabled"], "yes");
  EXPECT_EQ(settings["shutdown_command"], "no");
  EXPECT_EQ(settings["client_flags_size"], "4");
  harness.context.settings.evictions = false;
  harness.context.settings.inter = "127.0.0.1";
  harness.context.settings.tcpport = -1;
  settings = Stats(harness, " settings");
  EXPECT_EQ(settings["evictions"], "off");
  EXPECT_EQ(settings["inter"], "127.0.0.1");
  EXPECT_EQ(settings["tcpport"], "-1");
}

TEST(StatsCommandTest, FiguresOfTheServer) {
  Harness harness;
  command::ServerStats& server = harness.context.stats;
  server.pid = 42;
  server.uptime_seconds = 7;
  server.unix_time_seconds = 1'700'000'007;
  server.libevent_version = "2.1.12-stable";
  server.user_cpu_us = 3'000'042;
  server.system_cpu_us = 999'999;
  server.max_connections = 1024;
  server.accepting_connections = false;
  server.threads = 3;
  auto stats = Stats(harness);
  EXPECT_EQ(stats["pid"], "42");
  EXPECT_EQ(stats["time"], "1700000007");
  EXPECT_EQ(stats["libevent"], "2.1.12-stable");
  // Exporters divide the second part by a million: always six digits.
  EXPECT_EQ(stats["rusage_user"], "3.000042");
  EXPECT_EQ(stats["rusage_system"], "0.999999");
  EXPECT_EQ(stats["pointer_size"], "64");
  EXPECT_EQ(stats["accepting_conns"], "0");
  EXPECT_EQ(stats["threads"], "3");
  EXPECT_EQ(stats["limit_maxbytes"], std::to_string(64 << 20));
}

TEST(StatsCommandTest, EveryOtherValueIsANumber) {
  Harness harness;
  harness.context.stats.libevent_version = "2.1.12-stable";
  harness.Ask("set a 0 0 1\r\nx\r\n");
  const std::set<std::string> words = {"version", "libevent", "slab_reassign_last_busy_status"};
  for (const char* family : {"", " items", " slabs"}) {
    for (const auto& [key, value] : Stats(harness, family)) {
      EXPECT_TRUE(words.contains(key) || IsNumber(value)) << key << " " << value;
    }
  }
}

TEST(StatsCommandTest, FiguresFollowWhatHappens) {
  Harness harness;
  harness.Ask("set a 0 0 1\r\n5\r\nget a b c\r\nincr a 1\r\ndelete b\r\ncas a 0 0 1 0\r\nx\r\n");
  auto stats = Stats(harness);
  EXPECT_EQ(stats["cmd_get"], "3");
  EXPECT_EQ(stats["get_hits"], "1");
  EXPECT_EQ(stats["get_misses"], "2");
  EXPECT_EQ(stats["cmd_set"], "2");
  EXPECT_EQ(stats["cas_badval"], "1");
  EXPECT_EQ(stats["incr_hits"], "1");
  EXPECT_EQ(stats["delete_misses"], "1");
  EXPECT_EQ(stats["curr_items"], "1");
  EXPECT_NE(stats["bytes"], "0");
}

TEST(StatsCommandTest, ItemsAndSlabsShowOneClass) {
  Harness harness;
  EXPECT_EQ(harness.Ask("stats items\r\n"), "END\r\n");
  EXPECT_EQ(Keys(harness.Ask("stats slabs\r\n"), nullptr),
            (std::vector<std::string>{"active_slabs", "total_malloced"}));
  harness.Ask("set a 0 0 1\r\n5\r\nget a\r\ncas z 0 0 1 0\r\nx\r\n");
  std::vector<std::string> items;
  for (const std::string& key : Words(kItems)) items.push_back("items:1:" + key);
  EXPECT_EQ(Keys(harness.Ask("stats items\r\n"), nullptr), items);
  std::vector<std::string> slabs;
  for (const std::string& key : Words(kSlabs)) slabs.push_back("1:" + key);
  slabs.insert(slabs.end(), {"active_slabs", "total_malloced"});
  EXPECT_EQ(Keys(harness.Ask("stats slabs\r\n"), nullptr), slabs);
  auto values = Stats(harness, " slabs");
  EXPECT_EQ(values["1:get_hits"], "1");
  EXPECT_EQ(values["1:cmd_set"], "1");  // The cas that found nothing is not counted here.
  EXPECT_EQ(values["active_slabs"], "1");
  values = Stats(harness, " items");
  EXPECT_EQ(values["items:1:number"], "1");
}

// A full cache: half of it is used, time passes, more comes.
TEST(StatsCommandTest, FiguresOfEvictionFollowWhatHappens) {
  store::StoreOptions options = Harness::DefaultStore();
  options.memory_limit_bytes = 2 << 20;
  options.background_maintenance = false;
  Harness harness({}, options);
  int next = 0;
  const auto set_until = [&](const std::string& key) {
    do {
      for (int i = 0; i < 100; ++i, ++next) {
        harness.Ask("set key" + std::to_string(next) + " 0 0 100 noreply\r\n" +
                    std::string(100, 'v') + "\r\n");
      }
    } while (Stats(harness, " items")["items:1:" + key] == "0");
  };
  set_until("number");
  EXPECT_EQ(Stats(harness, " items")["items:1:age"], "0");
  set_until("evicted");
  harness.clock.Advance(std::chrono::seconds(50));
  for (int i = 0; i < next; i += 2) harness.Ask("get key" + std::to_string(i) + "\r\n");
  auto items = Stats(harness, " items");
  EXPECT_EQ(items["items:1:age"], "50");
  EXPECT_EQ(items["items:1:age_hot"], "50");
  EXPECT_EQ(items["items:1:moves_within_lru"], "0");
  EXPECT_EQ(items["items:1:evicted_active"], "0");
  set_until("moves_within_lru");
  items = Stats(harness, " items");
  auto stats = Stats(harness);
  EXPECT_EQ(items["items:1:evicted_time"], "50");
  EXPECT_NE(items["items:1:direct_reclaims"], "0");
  for (const char* key :
       {"evicted_active", "moves_within_lru", "direct_reclaims", "evicted_unfetched"}) {
    EXPECT_EQ(stats[key], items[std::string("items:1:") + key]) << key;
  }
  EXPECT_EQ(harness.Ask("stats reset\r\n"), "RESET\r\n");
  stats = Stats(harness);
  for (const char* key : {"evicted_active", "moves_within_lru", "direct_reclaims", "evictions"}) {
    EXPECT_EQ(stats[key], "0") << key;
  }
}

TEST(StatsCommandTest, ResetZeroesCountersAndNotGauges) {
  Harness harness;
  harness.context.stats.total_connections = 10;
  harness.context.stats.current_connections = 4;
  harness.Ask("set a 0 0 1\r\nx\r\nget a\r\nget b\r\n");
  EXPECT_EQ(harness.Ask("stats reset\r\n"), "RESET\r\n");
  auto stats = Stats(harness);
  for (const char* counter :
       {"cmd_get", "cmd_set", "get_hits", "get_misses", "total_items", "total_connections"}) {
    EXPECT_EQ(stats[counter], "0") << counter;
  }
  EXPECT_EQ(stats["curr_items"], "1");
  EXPECT_EQ(stats["curr_connections"], "4");
  harness.context.stats.total_connections = 12;
  harness.Ask("get a\r\n");
  stats = Stats(harness);
  EXPECT_EQ(stats["cmd_get"], "1");
  EXPECT_EQ(stats["total_connections"], "2");
  // What the metrics endpoint reads never falls.
  EXPECT_EQ(harness.Count(metrics::Counter::kCmdGet), 3U);
}

TEST(StatsCommandTest, OtherFamilies) {
  Harness harness;
  EXPECT_EQ(harness.Ask("stats sizes\r\n"), "STAT sizes_status disabled\r\nEND\r\n");
  EXPECT_EQ(harness.Ask("stats conns\r\n"), "END\r\n");
  for (const char* family : {"foo", "noreply", "extstore", "proxy", "Settings"}) {
    EXPECT_EQ(harness.Ask(std::string("stats ") + family + "\r\n"), "ERROR\r\n") << family;
  }
}

}  // namespace
}  // namespace podcache
