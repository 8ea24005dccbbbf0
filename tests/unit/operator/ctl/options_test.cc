#include "operator/ctl/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace podcache::control {
namespace {

using ::testing::HasSubstr;

CtlOptions Parsed(const std::vector<std::string>& arguments) {
  const ParsedOptions parsed = ParseOptions("podcachectl", arguments);
  EXPECT_TRUE(parsed.run) << parsed.text;
  return parsed.options;
}

std::string Refused(const std::vector<std::string>& arguments,
                    const char* program = "podcachectl") {
  const ParsedOptions parsed = ParseOptions(program, arguments);
  EXPECT_FALSE(parsed.run);
  EXPECT_EQ(parsed.exit_code, 2);
  return parsed.text;
}

TEST(CtlOptionsTest, Defaults) {
  const CtlOptions options = Parsed({"info"});
  EXPECT_EQ(options.verb, Verb::kInfo);
  EXPECT_EQ(options.address, "127.0.0.1:9151");
  EXPECT_EQ(options.container, "podcache");
  EXPECT_FALSE(options.json);
  EXPECT_EQ(Parsed({"top"}).interval, std::chrono::seconds(1));
  EXPECT_TRUE(Parsed({"set", "threads", "2"}).wait);
}

TEST(CtlOptionsTest, EveryCommand) {
  EXPECT_EQ(Parsed({"stats"}).verb, Verb::kStats);
  EXPECT_EQ(Parsed({"get", "memory"}).verb, Verb::kGetMemory);
  EXPECT_EQ(Parsed({"get", "threads"}).verb, Verb::kGetThreads);
  EXPECT_EQ(Parsed({"set", "memory", "256Mi"}).verb, Verb::kSetMemory);
  EXPECT_EQ(Parsed({"set", "threads", "3"}).threads, 3U);
  EXPECT_EQ(Parsed({"top", "--interval", "0.25", "--once"}).interval,
            std::chrono::milliseconds(250));
  EXPECT_EQ(Parsed({"flush", "--delay", "60"}).delay, std::chrono::seconds(60));
  EXPECT_TRUE(Parsed({"status", "-A"}).all_namespaces);
}

TEST(CtlOptionsTest, SizesAreThoseOfKubernetes) {
  const auto bytes = [](const char* size) { return Parsed({"set", "memory", size}).memory_bytes; };
  EXPECT_EQ(bytes("256Mi"), 268435456U);
  EXPECT_EQ(bytes("1.5Gi"), 1610612736U);
  EXPECT_EQ(bytes("500M"), 500000000U);
  EXPECT_EQ(bytes("1073741824"), 1073741824U);
  for (const char* size : {"0", "-1Gi", "1GB", "1e3Ei", "abc", ""}) {
    EXPECT_THAT(Refused({"set", "memory", size}), HasSubstr("no size above 0")) << size;
  }
}

TEST(CtlOptionsTest, CommonOptionsMayStandBehindTheCommand) {
  const CtlOptions options =
      Parsed({"get", "memory", "--pod", "web-0", "-n", "shop", "-c", "cache", "-o", "json"});
  EXPECT_EQ(options.pod, "web-0");
  EXPECT_EQ(options.name_space, "shop");
  EXPECT_EQ(options.container, "cache");
  EXPECT_TRUE(options.json);
}

TEST(CtlOptionsTest, NonsenseIsRefused) {
  EXPECT_THAT(Refused({}), HasSubstr("subcommand"));
  EXPECT_THAT(Refused({"get"}), HasSubstr("subcommand"));
  EXPECT_THAT(Refused({"set", "memory"}), HasSubstr("size"));
  EXPECT_THAT(Refused({"set", "threads", "0"}), HasSubstr("count"));
  EXPECT_THAT(Refused({"info", "--no-such"}), HasSubstr("--no-such"));
  EXPECT_THAT(Refused({"top", "--interval", "0.01"}), HasSubstr("interval"));
  EXPECT_THAT(Refused({"flush", "--delay", "-1"}), HasSubstr("delay"));
  EXPECT_THAT(Refused({"info", "-o", "yaml"}), HasSubstr("yaml"));
  EXPECT_THAT(Refused({"info", "--pod", "a", "--address", "b:1"}), HasSubstr("excludes"));
  EXPECT_THAT(Refused({"status", "--pod", "a"}), HasSubstr("whole namespace"));
}

TEST(CtlOptionsTest, HelpNamesDefaultsUnitsAndExitCodes) {
  const ParsedOptions help = ParseOptions("podcachectl", {"--help"});
  EXPECT_FALSE(help.run);
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.text, HasSubstr("127.0.0.1:9151"));
  EXPECT_THAT(help.text,
              HasSubstr("Exit codes: 0 done, 1 refused, 2 wrong usage, 3 nobody answered"));
  const ParsedOptions top = ParseOptions("podcachectl", {"top", "--help"});
  EXPECT_THAT(top.text, HasSubstr("in seconds"));
}

TEST(CtlOptionsTest, ThePluginOfKubectlWantsAPod) {
  EXPECT_THAT(Refused({"info"}, "/usr/local/bin/kubectl-podcache"), HasSubstr("which pod?"));
  EXPECT_TRUE(ParseOptions("kubectl-podcache", {"info", "--pod", "web-0"}).run);
  EXPECT_TRUE(ParseOptions("kubectl-podcache", {"status"}).run);
  EXPECT_THAT(ParseOptions("kubectl-podcache", {"--help"}).text, HasSubstr("kubectl podcache"));
}

// What runs in the container does the same as what was asked for here: parsing its arguments gives
// the same options.
TEST(CtlOptionsTest, ArgumentsInContainerMeanTheSame) {
  const std::vector<std::vector<std::string>> commands = {{"info"},
                                                          {"stats", "-o", "json"},
                                                          {"get", "memory"},
                                                          {"get", "threads"},
                                                          {"set", "memory", "1.5Gi", "--no-wait"},
                                                          {"set", "threads", "4", "--timeout", "7"},
                                                          {"top", "--interval", "0.5"},
                                                          {"top", "--once"},
                                                          {"flush", "--delay", "9"}};
  for (const auto& command : commands) {
    const CtlOptions here = Parsed(command);
    const CtlOptions there = Parsed(ArgumentsInContainer(here));
    EXPECT_EQ(there.address, "unix:/run/podcache/admin.sock");
    EXPECT_EQ(there.verb, here.verb);
    EXPECT_EQ(there.json, here.json);
    EXPECT_EQ(there.memory_bytes, here.memory_bytes);
    EXPECT_EQ(there.threads, here.threads);
    EXPECT_EQ(there.wait, here.wait);
    EXPECT_EQ(there.timeout, here.timeout);
    EXPECT_EQ(there.interval, here.interval);
    EXPECT_EQ(there.once, here.once);
    EXPECT_EQ(there.delay, here.delay);
    EXPECT_EQ(there.pod, "");
  }
}

}  // namespace
}  // namespace podcache::control
