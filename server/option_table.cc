#include "server/option_table.h"

#include <limits>

#include "server/net/worker_pool.h"
#include "server/option_values.h"

namespace podcache::server {

namespace {

using std::string;

constexpr std::int64_t kMaxMegabytes = std::int64_t{1} << 24;  // 16 TiB.
constexpr std::int64_t kMaxConnections = 1'000'000;
constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kMinItemSize = 1ULL << 10;
constexpr std::uint64_t kMaxItemSize = 1ULL << 30;

// The setters of most rows: a number in a range, or a switch.
template <auto kSet, std::int64_t kLow, std::int64_t kHigh>
bool Number(Options& options, const string& text, string& error) {
  std::int64_t value = 0;
  if (!ReadInteger(text, kLow, kHigh, value)) {
    error = NotANumber(text, kLow, kHigh);
    return false;
  }
  kSet(options, value);
  return true;
}

template <auto kSet>
bool Switch(Options& options, const string&, string&) {
  kSet(options);
  return true;
}

template <auto kSet>
bool Text(Options& options, const string& text, string& error) {
  if (text.empty()) {
    error = "the value is empty";
    return false;
  }
  kSet(options, text);
  return true;
}

bool SetUnixMode(Options& options, const string& text, string& error) {
  if (ReadOctalMode(text, options.settings.umask)) return true;
  error = "\"" + text + "\" is not an octal file mode up to 777";
  return false;
}

bool SetMaxItemSize(Options& options, const string& text, string& error) {
  std::uint64_t bytes = 0;
  if (!ReadSize(text, bytes) || bytes < kMinItemSize || bytes > kMaxItemSize) {
    error = "\"" + text + "\" is not a size between 1k and 1024m";
    return false;
  }
  options.settings.item_size_max = bytes;
  options.max_item_size_given = true;
  return true;
}

bool SetProtocol(Options& options, const string& text, string& error) {
  options.given_protocol = text;
  if (text == "ascii") {
    options.protocol = WireProtocol::kText;
  } else if (text == "binary") {
    options.protocol = WireProtocol::kBinary;
  } else if (text == "auto") {
    options.protocol = WireProtocol::kNegotiating;
  } else {
    error = "\"" + text + "\" is not one of ascii, binary, auto";
    return false;
  }
  options.settings.binding_protocol = text == "auto" ? "auto-negotiate" : text;
  return true;
}

bool SetGrowthFactor(Options& options, const string& text, string& error) {
  double factor = 0;
  if (!ReadDecimal(text, factor) || factor <= 1.0) {
    error = "\"" + text + "\" is not a number greater than 1";
    return false;
  }
  options.settings.growth_factor = factor;
  return true;
}

bool SetDelimiter(Options& options, const string& text, string& error) {
  if (text.empty()) {
    error = "the character is missing";
    return false;
  }
  // Of more than one character memcached takes the first.
  options.settings.stat_key_prefix = text.substr(0, 1);
  options.settings.detail_enabled = true;
  return true;
}

bool SetHttpListen(Options& options, const string& text, string&) {
  options.http_listen = text == "off" ? "" : text;
  options.http_listen_is_default = false;
  return true;
}

bool AddAdminListen(Options& options, const string& text, string&) {
  if (options.admin_listen_is_default) options.admin_listen.clear();
  options.admin_listen_is_default = false;
  if (text != "off") options.admin_listen.push_back(text);
  return true;
}

constexpr OptionRow kRows[] = {
    {"-p,--port", "num", "11211", "TCP port to listen on; -1: any free port, 0: none",
     Number<[](Options& o, std::int64_t v) { o.port = static_cast<int>(v); }, -1, 65535>},
    {"-U,--udp-port", "num", "0",
     "UDP port to listen on; -1: any free port, 0: none. TCP takes it too, unless -p is given",
     Number<[](Options& o, std::int64_t v) { o.settings.udpport = static_cast<int>(v); }, -1,
            65535>},
    {"-s,--unix-socket", "file", "none", "Unix socket to listen on, instead of TCP",
     Text<[](Options& o, const string& v) { o.unix_socket = v; }>},
    {"-a,--unix-mask", "mode", "700", "access mode of Unix sockets, octal", SetUnixMode},
    {"-l,--listen", "addr", "all",
     "addresses to listen on, comma-separated and repeatable: host, host:port, [v6]:port",
     Text<[](Options& o, const string& v) { o.listen.push_back(v); }>},
    {"--loopback", nullptr, nullptr, "listen on 127.0.0.1 and ::1 only",
     Switch<[](Options& o) { o.loopback = true; }>},
    {"--extra-unix-socket", "file", "none", "Unix socket to listen on, beside TCP",
     Text<[](Options& o, const string& v) { o.extra_unix_socket = v; }>},
    {"--http-listen", "addr", "*:9150",
     "address of /metrics, /healthz and /readyz, host:port; off: none", SetHttpListen},
    {"--admin-listen", "addr", "127.0.0.1:9151",
     "address of the gRPC admin API, host:port or unix:PATH, repeatable; off: none",
     AddAdminListen},
    {"-m,--memory-limit", "MB", "from the cgroup, else 64",
     "memory for everything: items, index, buffers; in megabytes",
     Number<[](Options& o, std::int64_t v) {
       o.memory_bytes = static_cast<std::uint64_t>(v) << 20;
     },
            1, kMaxMegabytes>},
    {"-M,--disable-evictions", nullptr, nullptr,
     "answer with an error instead of evicting when memory is full",
     Switch<[](Options& o) { o.settings.evictions = false; }>},
    {"-I,--max-item-size", "size", "1m",
     "largest item in bytes, or with k or m; 1k to 1024m, at most half of -m", SetMaxItemSize},
    {"-t,--threads", "num", "from the cgroup, else at most 4", "worker threads",
     Number<[](Options& o, std::int64_t v) { o.threads = static_cast<std::uint32_t>(v); }, 1,
            net::kMaxThreads>},
    {"-c,--conn-limit", "num", "1024", "clients at the same time",
     Number<[](Options& o, std::int64_t v) {
       o.settings.maxconns = static_cast<std::uint64_t>(v);
       o.max_connections_given = true;
     },
            1, kMaxConnections>},
    {"-b,--listen-backlog", "num", "1024", "clients the kernel keeps waiting for each socket",
     Number<[](Options& o, std::int64_t v) { o.settings.tcp_backlog = static_cast<int>(v); }, 1,
            kMaxInt>},
    {"-R,--max-reqs-per-event", "num", "500",
     "requests of one connection before the others get their turn",
     Number<[](Options& o, std::int64_t v) {
       o.settings.reqs_per_event = static_cast<std::uint64_t>(v);
     },
            1, kMaxInt>},
    {"-C,--disable-cas", nullptr, nullptr, "store no CAS values",
     Switch<[](Options& o) { o.settings.cas_enabled = false; }>},
    {"-F,--disable-flush-all", nullptr, nullptr, "refuse flush_all",
     Switch<[](Options& o) { o.settings.flush_enabled = false; }>},
    {"-X,--disable-dumping", nullptr, nullptr, "refuse to list keys",
     Switch<[](Options& o) { o.settings.dump_enabled = false; }>},
    {"-W,--disable-watch", nullptr, nullptr, "refuse watch",
     Switch<[](Options& o) { o.watch_enabled = false; }>},
    {"-A,--enable-shutdown", nullptr, nullptr, "allow the shutdown command",
     Switch<[](Options& o) { o.settings.shutdown_command = true; }>},
    {"-B,--protocol", "name", "auto", "ascii, binary, or auto: each client's first byte tells",
     SetProtocol},
    {"-d,--daemon", nullptr, nullptr, "run in the background",
     Switch<[](Options& o) { o.daemonize = true; }>},
    {"-P,--pidfile", "file", "none", "write the process id to this file",
     Text<[](Options& o, const string& v) { o.pid_file = v; }>},
    {"-u,--user", "name", "none", "user to run as; required when started as root",
     Text<[](Options& o, const string& v) { o.user = v; }>},
    {"-r,--enable-coredumps", nullptr, nullptr, "raise the limit of core files",
     Switch<[](Options& o) { o.core_dumps = true; }>},
    {"-k,--lock-memory", nullptr, nullptr, "keep all memory from being paged out",
     Switch<[](Options& o) { o.lock_memory = true; }>},
    {"-L,--enable-largepages", nullptr, nullptr,
     "use large memory pages; from 256 MB on, where the kernel offers them",
     Switch<[](Options& o) { o.large_pages = true; }>},
    {"-e,--memory-file", "file", "none",
     "keep items in this file, on a tmpfs, so that a restart after a graceful stop finds them",
     Text<[](Options& o, const string& v) { o.settings.memory_file = v; }>},
    {"-f,--slab-growth-factor", "num", "1.25",
     "accepted for compatibility, without effect (there are no slab classes)", SetGrowthFactor},
    {"-n,--slab-min-size", "bytes", "48",
     "accepted for compatibility, without effect (there are no slab classes)",
     Number<[](Options& o, std::int64_t v) {
       o.settings.chunk_size = static_cast<std::uint64_t>(v);
     },
            1, kMaxInt>},
    {"-v,--verbose", nullptr, nullptr, "say more on standard error; -vv and -vvv even more",
     Switch<[](Options& o) { ++o.settings.verbosity; }>},
    {"-h,--help", nullptr, nullptr, "print this and exit",
     Switch<[](Options& o) { o.help = true; }>},
    {"-i,--license", nullptr, nullptr, "print the licence and exit",
     Switch<[](Options& o) { o.license = true; }>},
    {"-V,--version", nullptr, nullptr, "print the version and exit",
     Switch<[](Options& o) { o.version = true; }>},
    {"-o,--extended", "list", "none", "comma-separated list of the options below, repeatable",
     ApplySuboptions},
    {"-D,--delimiter", "char", ":",
     "count requests by the part of the key before this character, for stats detail dump",
     SetDelimiter},
    {"-Y,--auth-file", "file", "none",
     "clients must authenticate as one of its lines, user:password; text protocol only",
     Text<[](Options& o, const string& v) {
       o.settings.auth_file = v;
       o.settings.binding_protocol = "ascii";
     }>},
    {"-Z,--enable-ssl", nullptr, nullptr, nullptr, Later},
    {"-S,--enable-sasl", nullptr, nullptr, nullptr, Never},
    {"-N,--napi-ids,--napi_ids", "num", nullptr, nullptr, Never},
};

void AppendRow(string& text, const string& left, const char* help, const char* default_text) {
  constexpr std::size_t kColumn = 34;
  text += left;
  text.append(left.size() + 1 < kColumn ? kColumn - left.size() : 1, ' ');
  text += help;
  if (default_text != nullptr) text += string(" (default: ") + default_text + ")";
  text += '\n';
}

}  // namespace

std::span<const OptionRow> OptionRows() { return kRows; }

string HelpText() {
  string text = "Usage: podcached [options]\n\n";
  for (const OptionRow& row : OptionRows()) {
    if (row.help == nullptr) continue;
    string left = row.names;
    const std::size_t comma = left.find(',');
    if (comma != string::npos) left.insert(comma + 1, " ");
    if (left.front() == '-' && left[1] == '-') left.insert(0, "    ");
    if (row.value != nullptr) left += string("=<") + row.value + ">";
    AppendRow(text, left, row.help, row.default_text);
  }
  text += "\nOptions of -o; those without a value have a form with no_ in front:\n";
  for (const SuboptionRow& row : SuboptionRows()) {
    if (row.help == nullptr) continue;
    string left = string("  ") + row.name;
    if (row.value != nullptr) left += string("=<") + row.value + ">";
    AppendRow(text, left, row.help, row.default_text);
  }
  return text;
}

}  // namespace podcache::server
