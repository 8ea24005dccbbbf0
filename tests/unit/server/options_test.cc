#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/listen_spec.h"
#include "server/option_table.h"

namespace podcache::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Parsed {
  bool ok = false;
  Options options;
  std::string error;
};

Parsed Parse(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"podcached"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  Parsed parsed;
  parsed.ok =
      ParseOptions(static_cast<int>(argv.size()), argv.data(), parsed.options, parsed.error) &&
      ValidateOptions(parsed.options, parsed.error);
  EXPECT_EQ(parsed.ok, parsed.error.empty()) << parsed.error;
  EXPECT_EQ(parsed.error.find('\n'), std::string::npos) << parsed.error;
  return parsed;
}

TEST(Options, DefaultsAreMemcacheds) {
  const Options options = Parse({}).options;
  EXPECT_FALSE(options.port);
  EXPECT_FALSE(options.memory_bytes);
  EXPECT_FALSE(options.threads);
  EXPECT_EQ(options.settings.maxconns, 1024U);
  EXPECT_EQ(options.settings.item_size_max, 1U << 20);
  EXPECT_EQ(options.settings.tcp_backlog, 1024);
  EXPECT_EQ(options.settings.umask, 0700U);
  EXPECT_TRUE(options.settings.evictions);
  EXPECT_TRUE(options.settings.cas_enabled);
  EXPECT_TRUE(options.settings.flush_enabled);
  EXPECT_FALSE(options.settings.shutdown_command);
  EXPECT_TRUE(options.settings.maxconns_fast);
  EXPECT_EQ(options.settings.idle_timeout, 0U);
  EXPECT_EQ(options.http_listen, "*:9150");
  EXPECT_THAT(options.admin_listen, ElementsAre("127.0.0.1:9151"));
}

TEST(Options, ShortAndLongNamesAreTheSame) {
  const std::vector<std::vector<std::string>> forms = {
      {"-p", "1", "-m", "100", "-t", "3", "-c", "7", "-b", "5", "-R", "9", "-I", "2m", "-a", "660"},
      {"-p1", "-m100", "-t3", "-c7", "-b5", "-R9", "-I2048k", "-a0660"},
      {"--port=1", "--memory-limit=100", "--threads=3", "--conn-limit=7", "--listen-backlog=5",
       "--max-reqs-per-event=9", "--max-item-size=2097152", "--unix-mask=660"},
      {"--port", "1", "--memory-limit", "100", "--threads", "3", "--conn-limit", "7",
       "--listen-backlog", "5", "--max-reqs-per-event", "9", "--max-item-size", "2M", "--unix-mask",
       "660"},
  };
  for (const auto& form : forms) {
    const Parsed parsed = Parse(form);
    ASSERT_TRUE(parsed.ok) << parsed.error;
    EXPECT_EQ(parsed.options.port, 1);
    EXPECT_EQ(parsed.options.memory_bytes, 100ULL << 20);
    EXPECT_EQ(parsed.options.threads, 3U);
    EXPECT_EQ(parsed.options.settings.maxconns, 7U);
    EXPECT_EQ(parsed.options.settings.tcp_backlog, 5);
    EXPECT_EQ(parsed.options.settings.reqs_per_event, 9U);
    EXPECT_EQ(parsed.options.settings.item_size_max, 2U << 20);
    EXPECT_EQ(parsed.options.settings.umask, 0660U);
  }
}

TEST(Options, SwitchesMayBeBundledAndVerbosityCounts) {
  const Parsed parsed = Parse({"-dMvv", "-CFA", "--verbose"});
  ASSERT_TRUE(parsed.ok) << parsed.error;
  EXPECT_TRUE(parsed.options.daemonize);
  EXPECT_FALSE(parsed.options.settings.evictions);
  EXPECT_FALSE(parsed.options.settings.cas_enabled);
  EXPECT_FALSE(parsed.options.settings.flush_enabled);
  EXPECT_TRUE(parsed.options.settings.shutdown_command);
  EXPECT_EQ(parsed.options.settings.verbosity, 3);
}

TEST(Options, TheLastOfAValueWins) { EXPECT_EQ(Parse({"-t", "2", "-t", "5"}).options.threads, 5U); }

TEST(Options, SuboptionsAreListsAndRepeat) {
  const Parsed parsed = Parse({"-o", "idle_timeout=5,no_maxconns_fast", "-o", "no_lru_crawler",
                               "--extended=hashpower=20,relaxed_privileges"});
  ASSERT_TRUE(parsed.ok) << parsed.error;
  EXPECT_EQ(parsed.options.settings.idle_timeout, 5U);
  EXPECT_FALSE(parsed.options.settings.maxconns_fast);
  EXPECT_FALSE(parsed.options.settings.lru_crawler);
  EXPECT_EQ(parsed.options.settings.hashpower_init, 20);
  EXPECT_TRUE(Parse({"-o", ""}).ok);
  EXPECT_TRUE(Parse({"-o", "modern,"}).ok);
}

TEST(Options, OurOwnLongOptions) {
  const Parsed parsed = Parse({"--loopback", "--extra-unix-socket=/run/x.sock", "--http-listen=off",
                               "--admin-listen=*:1", "--admin-listen=unix:/run/a.sock"});
  ASSERT_TRUE(parsed.ok) << parsed.error;
  EXPECT_TRUE(parsed.options.loopback);
  EXPECT_EQ(parsed.options.extra_unix_socket, "/run/x.sock");
  EXPECT_EQ(parsed.options.http_listen, "");
  EXPECT_FALSE(parsed.options.http_listen_is_default);
  EXPECT_THAT(parsed.options.admin_listen, ElementsAre("*:1", "unix:/run/a.sock"));
  EXPECT_TRUE(Parse({"--admin-listen=off"}).options.admin_listen.empty());
}

struct Refusal {
  std::vector<std::string> arguments;
  std::string message;
};

TEST(Options, RefusesInOneLineThatNamesTheOption) {
  const std::vector<Refusal> refusals = {
      {{"-t", "0"}, "-t, --threads: \"0\" is not a number between 1 and 256"},
      {{"-t", "257"}, "-t"},
      {{"-t", "two"}, "-t"},
      {{"-t", "2x"}, "-t"},
      {{"-c", "0"}, "-c"},
      {{"-c", "-1"}, "-c"},
      {{"-m", "0"}, "-m"},
      {{"-m", "99999999999999999999"}, "-m"},
      {{"-p", "65536"}, "-p"},
      {{"-p", "-2"}, "-p"},
      {{"-R", "0"}, "-R"},
      {{"-b", "0"}, "-b"},
      {{"-f", "1.0"}, "-f"},
      {{"-f", "nan"}, "-f"},
      {{"-n", "0"}, "-n"},
      {{"-I", "1023"}, "-I"},
      {{"-I", "1025m"}, "-I"},
      {{"-I", "1g"}, "-I"},
      {{"-I", "33m", "-m", "64"}, "half"},
      {{"-a", "8"}, "-a"},
      {{"-a", "1777"}, "-a"},
      {{"-U", "65536"}, "-U"},
      {{"-U", "-2"}, "-U"},
      {{"-U", "x"}, "-U"},
      {{"-U", "1", "-Y", "/x"}, "UDP"},
      {{"-l", "proto[binary]:127.0.0.1", "-Y", "/x"}, "proto[binary]"},
      {{"-B", "proto"}, "one of ascii, binary, auto"},
      {{"-Y", ""}, "-Y"},
      {{"-Y", "/x", "-B", "auto"}, "-Y and -B auto exclude each other"},
      {{"-B", "auto", "-Y", "/x"}, "-Y and -B auto exclude each other"},
      {{"-Z"}, "not supported by this release"},
      {{"-D", ""}, "-D, --delimiter: the character is missing"},
      {{"-S"}, "not part of Podcache"},
      {{"-N", "1"}, "not part of Podcache"},
      {{"-o", "nonsense"}, "Illegal suboption \"nonsense\""},
      {{"-o", "modern,,no_lru_crawler"}, "Illegal suboption \"\""},
      {{"-o", ","}, "Illegal suboption \"\""},
      {{"-o", "ext_path=/x:1G"}, "Illegal suboption \"ext_path\""},
      {{"-o", "proxy_config=x"}, "Illegal suboption \"proxy_config\""},
      {{"-o", "drop_privileges"}, "not part of Podcache"},
      {{"-o", "sock_cookie_id=1"}, "not part of Podcache"},
      {{"-o", "idle_timeout"}, "idle_timeout: the value is missing"},
      {{"-o", "idle_timeout=x"}, "idle_timeout"},
      {{"-o", "hashpower=11"}, "hashpower"},
      {{"-o", "hashpower=33"}, "hashpower"},
      {{"-o", "hash_algorithm=md5"}, "hash_algorithm"},
      {{"-o", "tail_repair_time=9"}, "tail_repair_time"},
      {{"-o", "eviction_policy=lru"}, "\"lru\" is not one of s3fifo, second_chance, fifo"},
      {{"-o", "slab_automove=3"}, "slab_automove"},
      {{"-o", "slab_automove_window=2"}, "slab_automove_window"},
      {{"-o", "slab_chunk_max=1025"}, "slab_chunk_max"},
      {{"-o", "slab_chunk_max=768"}, "slab_chunk_max: 786432 bytes are no even part of -I"},
      {{"-o", "slab_chunk_max=1024", "-I", "512k"}, "no even part of -I"},
      {{"-o", "slab_sizes=100-50"}, "slab_sizes"},
      {{"-o", "slab_sizes=100-108"}, "slab_sizes"},
      {{"-o", "slab_sizes=47"}, "from 48 to 524288"},
      {{"-o", "slab_sizes=100-524289"}, "from 48 to 524288"},
      {{"-o", "slab_automove=x"}, "slab_automove"},
      {{"-o", "hot_lru_pct=50,warm_lru_pct=31"}, "more than 80"},
      {{"-o", "temporary_ttl=5,no_lru_maintainer"}, "temporary_ttl"},
      {{"-o", "ssl_key=/x"}, "not supported by this release"},
      {{"-l", "host:99999"}, "-l"},
      {{"-l", ","}, "-l"},
      {{"-l", "proto[proxy]:127.0.0.1"}, "proxy"},
      {{"-l", "mtls:127.0.0.1"}, "mtls"},
      {{"-l", "127.0.0.1", "--loopback"}, "exclude"},
      {{"-s", std::string(200, 'x')}, "too long"},
      {{"--http-listen=nowhere"}, "--http-listen"},
      {{"--admin-listen=unix:"}, "--admin-listen"},
      {{"--no-such-option"}, "--no-such-option"},
      {{"stray"}, "stray"},
      {{"-t"}, "-t"},
  };
  for (const Refusal& refusal : refusals) {
    const Parsed parsed = Parse(refusal.arguments);
    EXPECT_FALSE(parsed.ok) << refusal.arguments[0] << " " << refusal.arguments.back();
    EXPECT_THAT(parsed.error, HasSubstr(refusal.message));
  }
}

TEST(Options, ProtocolOfTheSockets) {
  EXPECT_EQ(Parse({}).options.protocol, WireProtocol::kNegotiating);
  EXPECT_EQ(Parse({}).options.settings.binding_protocol, "auto-negotiate");
  const Parsed binary = Parse({"-B", "binary"});
  EXPECT_EQ(binary.options.tcp_defaults().protocol, WireProtocol::kBinary);
  EXPECT_EQ(binary.options.settings.binding_protocol, "binary");
  const Parsed text = Parse({"--protocol=ascii"});
  EXPECT_EQ(text.options.tcp_defaults().protocol, WireProtocol::kText);
  EXPECT_EQ(text.options.settings.binding_protocol, "ascii");
  EXPECT_EQ(Parse({"-B", "binary", "-B", "auto"}).options.protocol, WireProtocol::kNegotiating);
}

TEST(Options, UdpTakesTcpAlong) {
  const auto ports = [](const std::vector<std::string>& arguments) {
    const Parsed parsed = Parse(arguments);
    EXPECT_TRUE(parsed.ok) << parsed.error;
    return std::pair(parsed.options.tcp_defaults().port, parsed.options.udp_defaults().port);
  };
  EXPECT_EQ(ports({}), std::pair(11211, 0));
  EXPECT_EQ(ports({"-U", "0"}), std::pair(11211, 0));
  EXPECT_EQ(ports({"-U", "5"}), std::pair(5, 5));
  EXPECT_EQ(ports({"-U", "-1"}), std::pair(-1, -1));
  EXPECT_EQ(ports({"-U", "5", "-p", "6"}), std::pair(6, 5));
  EXPECT_EQ(ports({"-p", "0", "-U", "5"}), std::pair(0, 5));
  EXPECT_EQ(ports({"-p", "6"}), std::pair(6, 0));
  EXPECT_EQ(ports({"-p", "0"}), std::pair(0, 0));
}

// Every option that takes a number, with its lowest and highest value.
struct NumberOption {
  std::string name;  // "-t", or a suboption of -o.
  std::string low;
  std::string high;
  std::string below;  // Empty: nothing is too low but for a sign.
  std::string above;
};

std::vector<std::string> Given(const NumberOption& option, const std::string& value) {
  if (option.name.front() == '-') return {option.name, value};
  return {"-o", option.name + "=" + value};
}

TEST(Options, NumbersAtTheirEdgesAndWhatIsNone) {
  const std::vector<NumberOption> options = {
      {"-p", "-1", "65535", "-2", "65536"},
      {"-m", "1", "16777216", "0", "16777217"},
      {"-t", "1", "256", "0", "257"},
      {"-c", "1", "1000000", "0", "1000001"},
      {"-b", "1", "2147483647", "0", "2147483648"},
      {"-R", "1", "2147483647", "0", "2147483648"},
      {"-n", "1", "2147483647", "0", "2147483648"},
      {"-I", "1024", "1073741824", "1023", "1073741825"},
      {"-a", "0", "777", "-1", "1000"},
      {"idle_timeout", "0", "2147483647", "-1", "2147483648"},
      {"read_buf_mem_limit", "0", "2147483647", "-1", "2147483648"},
      {"watcher_logbuf_size", "1", "2147483647", "0", "2147483648"},
      {"worker_logbuf_size", "1", "2147483647", "0", "2147483648"},
      {"hot_lru_pct", "1", "40", "0", "81"},
      {"warm_lru_pct", "1", "60", "0", "81"},
      {"temporary_ttl", "0", "2147483647", "-1", "2147483648"},
      {"lru_crawler_sleep", "0", "1000000", "-1", "1000001"},
      {"lru_crawler_tocrawl", "0", "4294967295", "-1", "4294967296"},
      {"hashpower", "12", "32", "11", "33"},
      {"tail_repair_time", "10", "2147483647", "9", "2147483648"},
      {"slab_automove", "0", "2", "-1", "3"},
      {"slab_automove_window", "3", "1800", "2", "1801"},
      {"slab_chunk_max", "1", "1024", "0", "1025"},
  };
  for (const NumberOption& option : options) {
    for (const std::string& value : {option.low, option.high, "00" + option.high}) {
      const Parsed parsed = Parse(Given(option, value));
      EXPECT_TRUE(parsed.ok) << option.name << " " << value << ": " << parsed.error;
    }
    for (const std::string& value :
         {option.below, option.above, std::string("x"), option.low + "x", " " + option.low,
          option.low + " ", "+" + option.low, option.low + ".5", std::string("0x10"),
          std::string("99999999999999999999"), std::string("-99999999999999999999"),
          std::string("4294967297000000000"), std::string("1e3"), std::string("--5")}) {
      const Parsed parsed = Parse(Given(option, value));
      EXPECT_FALSE(parsed.ok) << option.name << " \"" << value << "\"";
      EXPECT_THAT(parsed.error, HasSubstr(option.name));
    }
  }
}

TEST(Options, DecimalsAtTheirEdges) {
  for (const char* const name : {"-f", "slab_automove_ratio", "slab_automove_freeratio",
                                 "hot_max_factor", "warm_max_factor"}) {
    const NumberOption option{name, "", "", "", ""};
    const bool is_share = option.name == "slab_automove_ratio";
    for (const char* const value : {"1.01", "2", "1e2"}) {
      EXPECT_EQ(Parse(Given(option, value)).ok, !is_share) << name << " " << value;
    }
    for (const char* const value : {"0.01", "1", "1.0"}) {
      EXPECT_EQ(Parse(Given(option, value)).ok, option.name != "-f") << name << " " << value;
    }
    for (const char* const value :
         {"0", "-1", "x", "1.5x", " 2", "2 ", "nan", "inf", "1e999", "1,5"}) {
      EXPECT_FALSE(Parse(Given(option, value)).ok) << name << " " << value;
    }
  }
}

TEST(Options, DelimiterSwitchesDetailOn) {
  const Parsed parsed = Parse({"-D", "/", "-o", "track_sizes"});
  ASSERT_TRUE(parsed.ok) << parsed.error;
  EXPECT_EQ(parsed.options.settings.stat_key_prefix, "/");
  EXPECT_TRUE(parsed.options.settings.detail_enabled);
  EXPECT_TRUE(parsed.options.settings.track_sizes);
  // Of several characters memcached takes the first.
  EXPECT_EQ(Parse({"--delimiter=::"}).options.settings.stat_key_prefix, ":");
}

TEST(Options, AcceptsWhatIsWithoutEffect) {
  const Parsed parsed = Parse(
      {"-f", "1.5", "-n", "96", "-W", "-X", "-L", "-k", "-r", "-U", "0", "-B", "auto", "-o",
       "slab_reassign=1,slab_automove=2,no_hashexpand,modern,resp_obj_mem_limit,"
       "inline_ascii_resp,no_inline_ascii_resp,resp_obj_mem_limit=5,slab_sizes=96-105-524288,"
       "no_drop_privileges,hash_algorithm=jenkins,lru_crawler_sleep=5,slab_automove_ratio=0.5"});
  ASSERT_TRUE(parsed.ok) << parsed.error;
  EXPECT_DOUBLE_EQ(parsed.options.settings.growth_factor, 1.5);
  EXPECT_EQ(parsed.options.settings.chunk_size, 96U);
  EXPECT_EQ(parsed.options.settings.slab_automove, 2);
  EXPECT_EQ(parsed.options.settings.hash_algorithm, "jenkins");
}

TEST(Options, TheEvictionPolicy) {
  EXPECT_EQ(Parse({}).options.eviction, store::EvictionKind::kS3Fifo);
  const auto with = [](const std::string& name) {
    return Parse({"-o", "eviction_policy=" + name}).options.eviction;
  };
  EXPECT_EQ(with("second_chance"), store::EvictionKind::kSecondChance);
  EXPECT_EQ(with("fifo"), store::EvictionKind::kFifo);
  EXPECT_EQ(with("s3fifo"), store::EvictionKind::kS3Fifo);
}

// Several settings by one word; what is given behind it wins. Values as memcached 1.6.45 shows
// them.
TEST(Options, WordsForSeveralSettings) {
  const command::SettingsReport old = Parse({"-o", "no_modern,slab_reassign"}).options.settings;
  EXPECT_TRUE(old.slab_reassign);
  EXPECT_EQ(old.slab_automove, 0);
  EXPECT_FALSE(old.maxconns_fast);
  EXPECT_FALSE(old.lru_crawler);
  EXPECT_FALSE(old.lru_maintainer);
  EXPECT_FALSE(old.lru_segmented);
  EXPECT_EQ(old.hash_algorithm, "jenkins");
  EXPECT_EQ(old.slab_chunk_max, 1048576U);
  const auto chunks = [](const char* list) {
    return Parse({"-o", list}).options.settings.slab_chunk_max;
  };
  EXPECT_EQ(chunks("slab_chunk_max=16,no_modern"), 16384U);
  EXPECT_EQ(chunks("no_modern,slab_chunk_max=16"), 16384U);
  EXPECT_EQ(Parse({"-o", "no_chunked_items"}).options.settings.slab_chunk_max, 1048576U);
  EXPECT_EQ(Parse({"-o", "no_slab_automove,slab_automove"}).options.settings.slab_automove, 1);
  const auto again = Parse({"-o", "no_lru_maintainer", "-o", "lru_maintainer"}).options.settings;
  EXPECT_TRUE(again.lru_maintainer);
  EXPECT_TRUE(again.lru_segmented);
}

TEST(Options, HelpListsEveryOptionWithItsDefault) {
  const std::string help = HelpText();
  for (const OptionRow& row : OptionRows()) {
    if (row.help == nullptr) continue;
    EXPECT_THAT(help, HasSubstr(row.help));
    EXPECT_EQ(row.value != nullptr, row.default_text != nullptr) << row.names;
    if (row.default_text == nullptr) continue;
    EXPECT_THAT(help, HasSubstr(std::string("(default: ") + row.default_text + ")"));
  }
  for (const SuboptionRow& row : SuboptionRows()) {
    if (row.help == nullptr) continue;
    EXPECT_THAT(help, HasSubstr(std::string("  ") + row.name));
  }
  // What memcached's own tests look for to choose what they run.
  EXPECT_THAT(help, HasSubstr("unix-socket"));
  for (const char* const word :
       {"enable-ssl", "ext_path", "proxy_config", "no_drop_privileges", "sasl", "SASL"}) {
    EXPECT_THAT(help, Not(HasSubstr(word)));
  }
}

TEST(ListenSpecs, ReadsEveryForm) {
  std::vector<ListenSpec> specs;
  std::string error;
  ASSERT_TRUE(ParseListenSpecs(
      {"127.0.0.1,[::1]:5", "::1", "tag_x_:10.0.0.1:7,tag[a b]:h", "proto[ascii]:tag_y:[::]:9"},
      {11211}, specs, error))
      << error;
  std::vector<std::string> seen;
  for (const ListenSpec& spec : specs) seen.push_back(spec.host + " " + std::to_string(spec.port));
  EXPECT_THAT(
      seen, ElementsAre("127.0.0.1 11211", "::1 5", "::1 11211", "10.0.0.1 7", "h 11211", ":: 9"));
}

TEST(ListenSpecs, EachHasItsProtocol) {
  std::vector<ListenSpec> specs;
  std::string error;
  ASSERT_TRUE(ParseListenSpecs({"a,proto[ascii]:b,proto[negotiating]:c,tag_x:proto[binary]:d"},
                               {5, WireProtocol::kBinary}, specs, error))
      << error;
  std::vector<WireProtocol> seen;
  for (const ListenSpec& spec : specs) seen.push_back(spec.protocol);
  EXPECT_THAT(seen, ElementsAre(WireProtocol::kBinary, WireProtocol::kText,
                                WireProtocol::kNegotiating, WireProtocol::kBinary));
  EXPECT_FALSE(ParseListenSpecs({"proto[x]:a"}, {}, specs, error));
  EXPECT_THAT(error, HasSubstr("\"x\""));
}

TEST(ListenSpecs, LoopbackAndEverywhere) {
  std::vector<ListenGroup> groups;
  std::string error;
  ASSERT_TRUE(ResolveListenAddresses({}, true, {5, WireProtocol::kText}, groups, error));
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].addresses[0].ToString(), "127.0.0.1:5");
  EXPECT_EQ(groups[0].addresses[1].ToString(), "[::1]:5");
  EXPECT_EQ(groups[0].protocol, WireProtocol::kText);
  groups.clear();
  ASSERT_TRUE(ResolveListenAddresses({}, false, {0}, groups, error));
  EXPECT_TRUE(groups.empty());
  EXPECT_FALSE(ResolveListenAddresses({{"no-such-host.invalid", 1}}, false, {5}, groups, error));
  EXPECT_THAT(error, HasSubstr("no-such-host.invalid"));
}

}  // namespace
}  // namespace podcache::server
