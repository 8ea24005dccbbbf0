#include "operator/webhook/admission_server.h"

#include <curl/curl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace podcache::control {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Reply {
  CURLcode result = CURLE_OK;
  long code = 0;
  std::string body;
};

std::size_t Append(char* data, std::size_t size, std::size_t count, void* out) {
  static_cast<std::string*>(out)->append(data, size * count);
  return size * count;
}

class CountingObserver : public AdmissionObserver {
 public:
  void OnRequestStart() override { ++started; }
  void OnRequestEnd(int http_code, std::chrono::nanoseconds) override { last_code = http_code; }
  std::atomic<int> started{0};
  std::atomic<int> last_code{0};
};

class AdmissionServerTest : public ::testing::Test {
 protected:
  AdmissionServerTest() { StartWith({}); }

  void StartWith(AdmissionServerOptions options) {
    options.listen = "127.0.0.1:0";
    server_ = std::make_unique<AdmissionServer>(
        options, [this](const AdmissionRequest& request) { return handler_(request); }, &observer_,
        clock_, Logger::Null());
    ca_ = *tls::MakeCa("test", Validity(), nullptr);
    EXPECT_TRUE(server_->UseCertificate(Leaf(ca_)).ok());
    EXPECT_TRUE(server_->Start().ok());
  }

  static tls::Validity Validity() {
    return tls::ValidFrom(SystemClock().WallSeconds(), std::chrono::hours(1));
  }
  static tls::KeyPair Leaf(const tls::KeyPair& ca) {
    tls::LeafRequest request;
    request.common_name = "webhook";
    request.ip_addresses = {"127.0.0.1"};
    request.validity = Validity();
    return *tls::IssueLeaf(ca, request, nullptr);
  }

  Reply Send(const std::string& body, const std::string& path = "/mutate",
             const std::string& type = "application/json", const std::string& method = "POST") {
    Reply reply;
    CURL* curl = curl_easy_init();
    const std::string url = "https://127.0.0.1:" + std::to_string(server_->port()) + path;
    curl_blob ca{ca_.certificate_pem.data(), ca_.certificate_pem.size(), CURL_BLOB_COPY};
    curl_slist* headers = curl_slist_append(nullptr, ("Content-Type: " + type).c_str());
    headers = curl_slist_append(headers, "Expect:");
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &ca);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Append);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply.body);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 20L);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    if (method == "POST") {
      curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
      curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.c_str());
    }
    reply.result = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.code);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return reply;
  }

  static std::string Review() {
    return json{{"apiVersion", "admission.k8s.io/v1"},
                {"kind", "AdmissionReview"},
                {"request",
                 {{"uid", "u-1"},
                  {"operation", "CREATE"},
                  {"namespace", "shop"},
                  {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
                  {"object", {{"metadata", {{"name", "web"}}}}}}}}
        .dump();
  }

  SystemClock clock_;
  CountingObserver observer_;
  std::function<AdmissionResponse(const AdmissionRequest&)> handler_ = [](const AdmissionRequest&) {
    return AdmissionResponse{};
  };
  tls::KeyPair ca_;
  std::unique_ptr<AdmissionServer> server_;
};

TEST_F(AdmissionServerTest, AnswersAReviewWithPatchAndWarnings) {
  std::string ns;
  handler_ = [&](const AdmissionRequest& request) {
    ns = request.ns;
    AdmissionResponse response;
    response.patch = R"([{"op":"add","path":"/a","value":1}])";
    response.warnings = {"careful"};
    return response;
  };
  const Reply reply = Send(Review());
  ASSERT_EQ(reply.code, 200);
  const json review = json::parse(reply.body);
  EXPECT_EQ(review["kind"], "AdmissionReview");
  EXPECT_EQ(review["apiVersion"], "admission.k8s.io/v1");
  EXPECT_EQ(review["response"]["uid"], "u-1");
  EXPECT_EQ(review["response"]["allowed"], true);
  EXPECT_EQ(review["response"]["patchType"], "JSONPatch");
  // Base64 by the coreutils of the same text.
  EXPECT_EQ(review["response"]["patch"], "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2EiLCJ2YWx1ZSI6MX1d");
  EXPECT_EQ(review["response"]["warnings"], json::array({"careful"}));
  EXPECT_EQ(ns, "shop");
  EXPECT_EQ(observer_.last_code, 200);
}

TEST_F(AdmissionServerTest, RefusalCarriesItsReason) {
  handler_ = [](const AdmissionRequest&) {
    AdmissionResponse response;
    response.allowed = false;
    response.message = "no CacheSidecar selects this pod";
    return response;
  };
  const json review = json::parse(Send(Review()).body);
  EXPECT_EQ(review["response"]["allowed"], false);
  EXPECT_EQ(review["response"]["status"]["message"], "no CacheSidecar selects this pod");
}

TEST_F(AdmissionServerTest, MalformedInputGetsAClear400AndTheServerLives) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {"[]", "not a JSON object"},
      {R"({"kind":"Pod"})", "kind is not AdmissionReview"},
      {R"({"kind":7})", "kind is not AdmissionReview"},
      {R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"})", "apiVersion"},
      {R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"})", "request is missing"},
      {R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":[]})",
       "request is missing"},
      {R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{}})", "uid"},
      {R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1"}})",
       "object is missing"},
      {R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","object":"x"}})",
       "object is missing"},
      {std::string(1'000'000, '['), "deeper"},
      {std::string(1'000'000, '[') + std::string(1'000'000, ']'), "deeper"},
      {std::string("\0\xff\xfe", 3), "not JSON"},
  };
  for (const auto& [body, text] : cases) {
    const Reply reply = Send(body);
    EXPECT_EQ(reply.code, 400) << body.substr(0, 100);
    EXPECT_THAT(reply.body, HasSubstr(text));
  }
  EXPECT_EQ(Send(Review()).code, 200);
}

TEST_F(AdmissionServerTest, OtherPathsMethodsAndTypes) {
  EXPECT_EQ(Send(Review(), "/other").code, 404);
  EXPECT_EQ(Send("", "/mutate", "application/json", "GET").code, 405);
  EXPECT_EQ(Send(Review(), "/mutate", "text/plain").code, 415);
  EXPECT_EQ(Send(Review(), "/mutate?timeout=3s").code, 200);
}

TEST_F(AdmissionServerTest, TooLargeABodyIsRefused) {
  const Reply reply = Send(std::string((3U << 20) + 1, ' '));
  EXPECT_TRUE(reply.code == 413 || reply.result != CURLE_OK);
  EXPECT_EQ(Send(Review()).code, 200);
}

TEST_F(AdmissionServerTest, AFailingHandlerCostsOneRequest) {
  handler_ = [](const AdmissionRequest&) -> AdmissionResponse { throw std::runtime_error("bad"); };
  EXPECT_EQ(Send(Review()).code, 500);
  handler_ = [](const AdmissionRequest&) { return AdmissionResponse{}; };
  EXPECT_EQ(Send(Review()).code, 200);
}

TEST_F(AdmissionServerTest, NewCertificateIsUsedWithoutRestart) {
  EXPECT_EQ(Send(Review()).code, 200);
  const tls::KeyPair other = *tls::MakeCa("other", Validity(), nullptr);
  ASSERT_TRUE(server_->UseCertificate(Leaf(other)).ok());
  EXPECT_NE(Send(Review()).result, CURLE_OK) << "still signed by the old CA";
  ca_ = other;
  EXPECT_EQ(Send(Review()).code, 200);
}

TEST_F(AdmissionServerTest, AKeyOfAnotherCertificateIsRefusedAndTheOldOneStays) {
  tls::KeyPair mixed = Leaf(ca_);
  mixed.private_key_pem = Leaf(ca_).private_key_pem;
  EXPECT_FALSE(server_->UseCertificate(mixed).ok());
  EXPECT_FALSE(server_->UseCertificate({"", ""}).ok());
  EXPECT_EQ(Send(Review()).code, 200);
}

TEST_F(AdmissionServerTest, ConnectionsAboveTheLimitWaitAndAreServedLater) {
  server_.reset();
  AdmissionServerOptions options;
  options.max_connections = 1;
  StartWith(options);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Send(Review()).code, 200);
}

TEST(AdmissionServerWithoutCertificateTest, DoesNotStart) {
  SystemClock clock;
  AdmissionServer server({.listen = "127.0.0.1:0"}, nullptr, nullptr, clock, Logger::Null());
  EXPECT_EQ(server.Start().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(server.serving());
}

}  // namespace
}  // namespace podcache::control
