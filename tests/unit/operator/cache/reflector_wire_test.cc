// The table of watch faults (K07) at byte level: a scripted server, the real transport, a manual
// clock. No step waits in real time; what the reflector would wait is what Step returns.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operator/cache/informer.h"
#include "operator/client/curl_transport.h"
#include "operator/client/http_api_client.h"
#include "tests/unit/operator/client/scripted_server.h"

namespace podcache::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using Strings = std::vector<std::string>;

std::string PodText(const std::string& name, const std::string& version,
                    const std::string& note = "") {
  return R"({"metadata":{"namespace":"shop","name":")" + name + R"(","uid":"u-)" + name +
         R"(","resourceVersion":")" + version + R"(","annotations":{"note":")" + note + R"("}}})";
}

std::string EventText(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

std::string BookmarkText(const std::string& version, const std::string& annotations = "{}") {
  return EventText("BOOKMARK", R"({"kind":"Pod","metadata":{"resourceVersion":")" + version +
                                   R"(","annotations":)" + annotations + "}}");
}

ScriptedReply ListReply(const std::string& version, const Strings& pods,
                        const std::string& next = "") {
  std::string items;
  for (const std::string& pod : pods) items += (items.empty() ? "" : ",") + pod;
  return {.chunks = {R"({"metadata":{"resourceVersion":")" + version + R"(","continue":")" + next +
                     R"("},"items":[)" + items + "]}"}};
}

ScriptedReply Fault(int code, const std::string& reason, const std::string& details = "{}") {
  return {.code = code,
          .chunks = {R"({"kind":"Status","code":)" + std::to_string(code) + R"(,"reason":")" +
                     reason + R"(","details":)" + details + "}"}};
}

class ReflectorWireTest : public testing::Test {
 protected:
  ReflectorWireTest() { Build({}); }

  void Build(ReflectorOptions options) {
    RestConfig config;
    config.server = server_.url();
    transport_ = *CurlTransport::Create(config, "test", clock_, std::stop_token());
    client_ = std::make_unique<HttpApiClient>(*transport_, clock_, nullptr);
    informer_ = std::make_unique<Informer>(*client_, kPods, std::move(options), InformerOptions{},
                                           clock_, 7, Logger::Null());
    informer_->AddHandler([this](const InformerEvent& event) {
      const char* kind = event.before == nullptr ? "+" : event.after == nullptr ? "-" : "~";
      events_.push_back(kind + std::string(event.object().name()));
    });
  }
  nanoseconds Step() { return informer_->StepForTest(); }
  nanoseconds Step(ScriptedReply reply) {
    server_.Script(std::move(reply));
    return Step();
  }
  Strings TakeEvents() { return std::exchange(events_, {}); }
  std::string LastTarget() const { return server_.requests().back().target; }
  bool LastWasWatchFrom(const std::string& version) const {
    return LastTarget().find("watch=true") != std::string::npos &&
           LastTarget().find("resourceVersion=" + version + "&") != std::string::npos;
  }
  bool LastWasList() const { return LastTarget().find("watch=true") == std::string::npos; }

  ManualClock clock_;
  ScriptedServer server_;
  std::unique_ptr<CurlTransport> transport_;
  std::unique_ptr<HttpApiClient> client_;
  std::unique_ptr<Informer> informer_;
  Strings events_;
};

constexpr nanoseconds kAtOnce{0};

TEST_F(ReflectorWireTest, A_410AtTheStartOfAWatchListsAgain) {
  EXPECT_EQ(Step(ListReply("10", {PodText("a", "5")})), kAtOnce);
  EXPECT_EQ(TakeEvents(), Strings{"+a"});
  EXPECT_EQ(Step(Fault(410, "Expired")), kAtOnce);
  EXPECT_TRUE(LastWasWatchFrom("10"));
  EXPECT_EQ(Step(ListReply("20", {PodText("a", "5"), PodText("b", "15")})), kAtOnce);
  EXPECT_TRUE(LastWasList());
  EXPECT_EQ(TakeEvents(), Strings{"+b"});  // No gap, and no noise about what did not change.
  Step({});
  EXPECT_TRUE(LastWasWatchFrom("20"));
}

TEST_F(ReflectorWireTest, A_AServerThatExpiresEveryListIsNotHammered) {
  Step(ListReply("10", {}));
  EXPECT_EQ(Step(Fault(410, "Gone")), kAtOnce);
  Step(ListReply("10", {}));
  EXPECT_GE(Step(Fault(410, "Gone")), milliseconds(800));
  Step(ListReply("10", {}));
  EXPECT_GE(Step(Fault(410, "Gone")), milliseconds(1600));
}

TEST_F(ReflectorWireTest, B_AnErrorEventThatSaysExpiredListsAgain) {
  Step(ListReply("10", {}));
  EXPECT_EQ(
      Step({.chunks = {EventText("ADDED", PodText("a", "11")) +
                       EventText("ERROR", R"({"kind":"Status","code":410,"reason":"Expired"})")}}),
      kAtOnce);
  EXPECT_EQ(TakeEvents(), Strings{"+a"});
  Step(ListReply("20", {PodText("a", "11")}));
  EXPECT_TRUE(LastWasList());
  EXPECT_TRUE(TakeEvents().empty());
}

TEST_F(ReflectorWireTest, C_AnotherErrorEventBacksOffAndWatchesAgain) {
  Step(ListReply("10", {}));
  const nanoseconds wait =
      Step({.chunks = {
                EventText("ADDED", PodText("a", "11")) +
                EventText("ERROR", R"({"kind":"Status","code":500,"message":"etcd is unwell"})")}});
  EXPECT_GE(wait, milliseconds(800));
  EXPECT_LE(wait, milliseconds(1200));
  Step({});
  EXPECT_TRUE(LastWasWatchFrom("11"));
}

TEST_F(ReflectorWireTest, D_ABookmarkMovesTheVersionOn) {
  Step(ListReply("10", {PodText("a", "5")}));
  TakeEvents();
  EXPECT_GE(Step({.chunks = {BookmarkText("99")}}), milliseconds(800));
  EXPECT_TRUE(TakeEvents().empty());
  Step({});
  EXPECT_TRUE(LastWasWatchFrom("99"));
}

TEST_F(ReflectorWireTest, D_AlsoWhenTheConnectionIsCut) {
  Step(ListReply("10", {}));
  Step({.chunks = {BookmarkText("99"), R"({"type":"ADD)"}, .end = ScriptedReply::End::kCut});
  Step({});
  EXPECT_TRUE(LastWasWatchFrom("99"));
}

TEST_F(ReflectorWireTest, E_EofTenTimesBacksOffTo30Seconds) {
  Step(ListReply("10", {}));
  nanoseconds least = milliseconds(800);
  for (int i = 0; i < 10; ++i) {
    const nanoseconds wait = Step({});
    EXPECT_GE(wait, std::min<nanoseconds>(least, seconds(20))) << i;
    EXPECT_LE(wait, seconds(30)) << i;
    clock_.Advance(wait);
    least *= 2;
  }
  EXPECT_EQ(server_.requests().size(), 11u);
  // Two healthy minutes later it starts over.
  clock_.Advance(std::chrono::minutes(2));
  EXPECT_LE(Step({}), milliseconds(1200));
}

// One stream with characters of two to four bytes and both line ends.
std::string SplitStream() {
  const auto with_crlf = [](std::string event) { return event.insert(event.size() - 1, "\r"); };
  return EventText("ADDED", PodText("a", "11", "één")) +
         with_crlf(EventText("MODIFIED", PodText("a", "12", "€"))) +
         with_crlf(EventText("ADDED", PodText("b", "13", "😀"))) +
         EventText("DELETED", PodText("a", "14"));
}

TEST_F(ReflectorWireTest, F_EverySplitGivesTheSameEvents) {
  const std::string stream = SplitStream();
  const Strings expected = {"+a", "~a", "+b", "-a"};
  for (std::size_t cut = 1; cut < stream.size(); ++cut) {
    Build({});
    Step(ListReply("10", {}));
    Step({.chunks = {stream.substr(0, cut), stream.substr(cut)}});
    ASSERT_EQ(TakeEvents(), expected) << "cut at " << cut;
    ASSERT_EQ(informer_->store().Get({"shop", "b"})->annotation("note"), "😀");
  }
  Strings bytes;
  for (const char c : stream) bytes.emplace_back(1, c);
  Build({});
  Step(ListReply("10", {}));
  Step({.chunks = bytes});
  EXPECT_EQ(TakeEvents(), expected);
}

TEST_F(ReflectorWireTest, G_ALineOf4MiB) {
  const std::string note(std::size_t{4} << 20, 'x');
  const std::string stream =
      EventText("ADDED", PodText("big", "11", note)) + EventText("ADDED", PodText("small", "12"));
  Strings chunks;
  for (std::size_t at = 0; at < stream.size(); at += 10'007) {
    chunks.push_back(stream.substr(at, 10'007));
  }
  Step(ListReply("10", {}));
  Step({.chunks = chunks});
  EXPECT_EQ(TakeEvents(), (Strings{"+big", "+small"}));
  EXPECT_EQ(informer_->store().Get({"shop", "big"})->annotation("note")->size(), note.size());
}

constexpr char kMarker[] = R"({"k8s.io/initial-events-end":"true"})";

TEST_F(ReflectorWireTest, H_AWatchListIsSyncedOnlyAfterTheMarker) {
  Build({.use_watch_list = true});
  // Without the marker nothing counts.
  EXPECT_GE(Step({.chunks = {EventText("ADDED", PodText("a", "5")), BookmarkText("6")}}),
            milliseconds(800));
  EXPECT_NE(LastTarget().find("sendInitialEvents=true"), std::string::npos);
  EXPECT_NE(LastTarget().find("resourceVersionMatch=NotOlderThan"), std::string::npos);
  EXPECT_FALSE(informer_->HasSynced());
  EXPECT_EQ(informer_->store().size(), 0u);
  EXPECT_TRUE(TakeEvents().empty());

  Step({.chunks = {EventText("ADDED", PodText("a", "5")) + EventText("ADDED", PodText("b", "6")) +
                   EventText("DELETED", PodText("b", "7")) + BookmarkText("8", kMarker) +
                   EventText("ADDED", PodText("c", "9"))}});
  EXPECT_TRUE(informer_->HasSynced());
  EXPECT_EQ(TakeEvents(), (Strings{"+a", "+c"}));
  Step({});
  EXPECT_TRUE(LastWasWatchFrom("9"));
}

TEST_F(ReflectorWireTest, H_AServerWithoutWatchListIsListed) {
  const ScriptedReply refusals[] = {
      Fault(422, "Invalid"),
      // As Kubernetes 1.35 answers on etcd 3.4.23.
      {.chunks = {EventText("ERROR", R"({"kind":"Status","code":500,"reason":"InternalError"})")}}};
  for (const ScriptedReply& refusal : refusals) {
    Build({.use_watch_list = true});
    EXPECT_EQ(Step(refusal), kAtOnce);
    EXPECT_EQ(Step(ListReply("10", {PodText("a", "5")})), kAtOnce);
    EXPECT_TRUE(LastWasList());
    EXPECT_TRUE(informer_->HasSynced());
  }
}

TEST_F(ReflectorWireTest, H_ABusyServerIsAskedForAWatchListAgain) {
  Build({.use_watch_list = true});
  ScriptedReply busy = Fault(429, "TooManyRequests");
  busy.headers = {"Retry-After: 3"};
  EXPECT_EQ(Step(busy), seconds(3));
  Step({.chunks = {BookmarkText("8", kMarker)}});
  EXPECT_NE(LastTarget().find("sendInitialEvents=true"), std::string::npos);
  EXPECT_TRUE(informer_->HasSynced());
}

TEST_F(ReflectorWireTest, I_TooLargeResourceVersionWaitsAsTold) {
  constexpr char kCause[] =
      R"({"retryAfterSeconds":2,"causes":[{"reason":"ResourceVersionTooLarge"}]})";
  constexpr char kNoTime[] = R"({"causes":[{"reason":"ResourceVersionTooLarge"}]})";
  Step(ListReply("10", {}));
  EXPECT_EQ(Step(Fault(504, "Timeout", kCause)), seconds(2));
  EXPECT_EQ(Step(Fault(504, "Timeout", kNoTime)), seconds(1));
  Step({});
  EXPECT_TRUE(LastWasWatchFrom("10"));
}

TEST_F(ReflectorWireTest, J_TooManyRequestsWaitsRetryAfter) {
  ScriptedReply busy = Fault(429, "TooManyRequests");
  busy.headers = {"Retry-After: 3"};
  EXPECT_EQ(Step(busy), seconds(3));  // Of a list …
  Step(ListReply("10", {}));
  EXPECT_EQ(Step(busy), seconds(3));  // … and of a watch.
  Step({});
  EXPECT_TRUE(LastWasWatchFrom("10"));
}

TEST_F(ReflectorWireTest, K_AMissedDeleteIsFoundByTheNextList) {
  Step(ListReply("10", {PodText("a", "5"), PodText("b", "6")}));
  TakeEvents();
  Step(Fault(410, "Expired"));
  Step(ListReply("20", {PodText("b", "6")}));
  EXPECT_EQ(TakeEvents(), Strings{"-a"});
  EXPECT_EQ(informer_->store().Get({"shop", "a"}), nullptr);
}

TEST_F(ReflectorWireTest, AListThatExpiresBetweenPagesIsReadWhole) {
  server_.Script(ListReply("10", {PodText("a", "5")}, "next"));
  EXPECT_EQ(Step(Fault(410, "Expired")), kAtOnce);
  EXPECT_FALSE(informer_->HasSynced());
  EXPECT_EQ(Step(ListReply("20", {PodText("b", "6")})), kAtOnce);
  EXPECT_EQ(LastTarget(), "/api/v1/pods");  // No limit.
  EXPECT_EQ(TakeEvents(), Strings{"+b"});
}

TEST_F(ReflectorWireTest, GarbageOnAWatchBacksOff) {
  Step(ListReply("10", {}));
  EXPECT_GE(Step({.chunks = {"<html>busy</html>\n"}}), milliseconds(800));
  EXPECT_GE(Step({.chunks = {EventText("ADDED", PodText("a", "11")), "{\"type\":\xff\xfe}\n"}}),
            milliseconds(1600));
  EXPECT_EQ(TakeEvents(), Strings{"+a"});
  Step({});
  EXPECT_TRUE(LastWasWatchFrom("11"));
}

TEST_F(ReflectorWireTest, AKindThatDisappearsIsListedWhenItComesBack) {
  Step(ListReply("10", {PodText("a", "5")}));
  EXPECT_GE(Step(Fault(404, "NotFound")), milliseconds(800));
  EXPECT_GE(Step(Fault(404, "NotFound")), milliseconds(1600));
  EXPECT_TRUE(LastWasList());
  TakeEvents();
  Step(ListReply("2", {}));
  EXPECT_EQ(TakeEvents(), Strings{"-a"});
}

}  // namespace
}  // namespace podcache::kube
