// `stats settings`: memcached's keys in memcached's order.
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "server/command/stats_command.h"
#include "server/protocol/encoders.h"

namespace podcache::command {

using protocol::AppendStat;

namespace {

std::string_view YesNo(bool value) { return value ? "yes" : "no"; }
std::string_view OrNull(const std::string& text) {
  return text.empty() ? std::string_view("NULL") : std::string_view(text);
}

std::string Decimals(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string Octal(unsigned value) {
  char text[16];
  std::snprintf(text, sizeof text, "%o", value);
  return text;
}

void AppendNetwork(const SettingsReport& s, OutputBuffer& out) {
  AppendStat("maxbytes", s.maxbytes, out);
  AppendStat("maxconns", s.maxconns, out);
  AppendStat("tcpport", std::to_string(s.tcpport), out);
  AppendStat("udpport", std::to_string(s.udpport), out);
  AppendStat("inter", OrNull(s.inter), out);
  AppendStat("verbosity", std::to_string(s.verbosity), out);
  AppendStat("oldest", 0, out);
  AppendStat("evictions", s.evictions ? "on" : "off", out);
  AppendStat("domain_socket", OrNull(s.domain_socket), out);
  AppendStat("umask", Octal(s.umask), out);
  AppendStat("shutdown_command", YesNo(s.shutdown_command), out);
  AppendStat("growth_factor", Decimals(s.growth_factor), out);
  AppendStat("chunk_size", s.chunk_size, out);
  AppendStat("num_threads", s.num_threads, out);
  AppendStat("num_threads_per_udp", s.num_threads, out);
  AppendStat("stat_key_prefix", s.stat_key_prefix, out);
  AppendStat("detail_enabled", YesNo(s.detail_enabled), out);
  AppendStat("reqs_per_event", s.reqs_per_event, out);
  AppendStat("cas_enabled", YesNo(s.cas_enabled), out);
  AppendStat("tcp_backlog", std::to_string(s.tcp_backlog), out);
  AppendStat("binding_protocol", s.binding_protocol, out);
  AppendStat("auth_enabled_sasl", "no", out);
  AppendStat("auth_enabled_ascii", s.auth_file.empty() ? "no" : s.auth_file, out);
  AppendStat("item_size_max", s.item_size_max, out);
  AppendStat("maxconns_fast", YesNo(s.maxconns_fast), out);
}

void AppendMemory(const SettingsReport& s, OutputBuffer& out) {
  AppendStat("hashpower_init", std::to_string(s.hashpower_init), out);
  AppendStat("slab_reassign", YesNo(s.slab_reassign), out);
  AppendStat("slab_automove", std::to_string(s.slab_automove), out);
  AppendStat("slab_automove_ratio", Decimals(s.slab_automove_ratio), out);
  AppendStat("slab_automove_window", s.slab_automove_window, out);
  AppendStat("slab_chunk_max", s.slab_chunk_max, out);
  AppendStat("lru_crawler", YesNo(s.lru_crawler), out);
  AppendStat("lru_crawler_sleep", s.lru_crawler_sleep, out);
  AppendStat("lru_crawler_tocrawl", s.lru_crawler_tocrawl, out);
  AppendStat("tail_repair_time", s.tail_repair_time, out);
  AppendStat("flush_enabled", YesNo(s.flush_enabled), out);
  AppendStat("dump_enabled", YesNo(s.dump_enabled), out);
  AppendStat("hash_algorithm", s.hash_algorithm, out);
  AppendStat("lru_maintainer_thread", YesNo(s.lru_maintainer), out);
  AppendStat("lru_segmented", YesNo(s.lru_segmented), out);
  AppendStat("hot_lru_pct", s.hot_lru_pct, out);
  AppendStat("warm_lru_pct", s.warm_lru_pct, out);
  AppendStat("hot_max_factor", Decimals(s.hot_max_factor), out);
  AppendStat("warm_max_factor", Decimals(s.warm_max_factor), out);
  AppendStat("temp_lru", YesNo(s.temp_lru), out);
  AppendStat("temporary_ttl", s.temporary_ttl, out);
}

void AppendBuffers(const SettingsReport& s, OutputBuffer& out) {
  AppendStat("idle_timeout", s.idle_timeout, out);
  AppendStat("watcher_logbuf_size", s.watcher_logbuf_size, out);
  AppendStat("worker_logbuf_size", s.worker_logbuf_size, out);
  AppendStat("read_buf_mem_limit", s.read_buf_mem_limit, out);
  AppendStat("track_sizes", YesNo(s.track_sizes), out);
  AppendStat("inline_ascii_response", YesNo(false), out);  // As memcached, whatever was given.
  AppendStat("num_napi_ids", 0, out);
  AppendStat("memory_file", OrNull(s.memory_file), out);
  AppendStat("client_flags_size", sizeof(std::uint32_t), out);
}

}  // namespace

void AppendSettings(const SettingsReport& settings, OutputBuffer& output) {
  AppendNetwork(settings, output);
  AppendMemory(settings, output);
  AppendBuffers(settings, output);
}

}  // namespace podcache::command
