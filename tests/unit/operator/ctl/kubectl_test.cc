#include "operator/ctl/kubectl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace podcache::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(KubectlTest, RunsTheToolInTheCacheContainer) {
  CtlOptions options;
  options.verb = Verb::kGetMemory;
  options.pod = "web-7d9-x2k";
  options.name_space = "shop";
  EXPECT_THAT(
      ExecInPodCommand(options, false),
      ElementsAre("kubectl", "--namespace=shop", "exec", "web-7d9-x2k", "-c", "podcache", "--",
                  "/podcachectl", "--address", "unix:/run/podcache/admin.sock", "get", "memory"));
}

TEST(KubectlTest, PassesContextConfigurationAndTerminalOn) {
  CtlOptions options;
  options.pod = "pod/web-0";
  options.container = "cache";
  options.context = "staging";
  options.kubeconfig = "/tmp/a config";
  EXPECT_THAT(ExecInPodCommand(options, true),
              ElementsAre("kubectl", "--kubeconfig=/tmp/a config", "--context=staging", "exec",
                          "-it", "pod/web-0", "-c", "cache", "--", "/podcachectl", "--address",
                          "unix:/run/podcache/admin.sock", "info"));
}

TEST(KubectlTest, ReadsSidecarsOfOneOrAllNamespaces) {
  CtlOptions options;
  options.name_space = "shop";
  EXPECT_THAT(GetSidecarsCommand(options), ElementsAre("kubectl", "--namespace=shop", "get",
                                                       "cachesidecars.podcache.dev", "-o", "json"));
  options.all_namespaces = true;
  EXPECT_EQ(GetSidecarsCommand(options).back(), "--all-namespaces");
}

TEST(RunAndReadTest, ReturnsTheOutputWithoutAShell) {
  const auto text = RunAndRead({"printf", "%s|", "a b", "$HOME", "'c'"});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "a b|$HOME|'c'|");
}

TEST(RunAndReadTest, FailuresAreErrors) {
  EXPECT_EQ(RunAndRead({"false"}).status().code(), absl::StatusCode::kFailedPrecondition);
  const auto missing = RunAndRead({"no-such-program-here"});
  EXPECT_THAT(std::string(MessageOf(missing.status())), HasSubstr("no-such-program-here"));
  EXPECT_THAT(std::string(MessageOf(missing.status())), HasSubstr("in the PATH?"));
}

TEST(RunAndReadTest, ReadsNoMoreThanAllowed) {
  const auto text = RunAndRead({"head", "-c", "1000000", "/dev/zero"}, 100'000);
  // Cut off, the program fails on its closed pipe or is done already; either way nothing endless is
  // read.
  if (text.ok()) {
    EXPECT_LT(text->size(), 100'000U + 16'384U);
  }
}

constexpr char kSidecars[] = R"({"kind": "List", "items": [
  {"metadata": {"name": "web-l1", "namespace": "shop"}, "spec": {"memory": {"size": "256Mi"}},
   "status": {"matchedPods": 12, "injectedPods": 12, "resizedPods": 11, "pendingPods": 1,
     "pods": [{"name": "web-7d9-x2k", "state": "Deferred", "message": "node is full"}],
     "conditions": [{"type": "Ready", "status": "True", "reason": "AllPodsSized"},
                    {"type": "Resizing", "status": "True", "reason": "Deferred"}]}},
  {"metadata": {"name": "new", "namespace": "shop"}, "spec": {"memory": {"percentOfLimit": 80}}}]})";

TEST(RenderSidecarsTest, ShowsCountsConditionsAndPodsNotAtTheirSize) {
  EXPECT_EQ(*RenderSidecars(kSidecars, false),
            "NAME     MEMORY   MATCHED   INJECTED   RESIZED   PENDING   READY   RESIZING\n"
            "web-l1   256Mi    12        12         11        1         True    True/Deferred\n"
            "new      -        -         -          -         -         -       -\n"
            "\n"
            "Pods not at their size:\n"
            "  web-l1  web-7d9-x2k  Deferred: node is full\n");
  EXPECT_THAT(*RenderSidecars(kSidecars, true), HasSubstr("shop/web-l1"));
}

TEST(RenderSidecarsTest, AnythingElseIsAnErrorOrEmpty) {
  EXPECT_FALSE(RenderSidecars("not json", false).ok());
  EXPECT_FALSE(RenderSidecars("[]", false).ok());
  EXPECT_EQ(*RenderSidecars("{}", false), "No CacheSidecars found.\n");
  EXPECT_EQ(
      *RenderSidecars(
          R"({"items": [{"status": {"pods": [1], "conditions": [2, {}], "matchedPods": "x"}}]})",
          false),
      "NAME   MEMORY   MATCHED   INJECTED   RESIZED   PENDING   READY   RESIZING\n"
      "       -        -         -          -         -         -       -\n");
}

}  // namespace
}  // namespace podcache::control
