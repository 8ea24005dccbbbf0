// K07: memory stays bounded for 10 000 objects and an hour of events, here 10 a second.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "operator/cache/informer.h"
#include "operator/client/http_api_client.h"

namespace podcache::kube {
namespace {

constexpr int kObjects = 10'000;
constexpr int kPage = 500;
constexpr int kEvents = 36'000;

// Some 600 bytes, so that the hour passes in seconds.
std::string PodText(int number, int version) {
  return R"({"metadata":{"namespace":"shop","name":"p)" + std::to_string(number) +
         R"(","resourceVersion":")" + std::to_string(version) +
         R"(","managedFields":[{"manager":"kubelet","fields":")" + std::string(300, 'm') +
         R"("}],"annotations":{"note":")" + std::string(200, 'n') + R"("}}})";
}

// Makes its answers while they are read, so that they take no memory of their own.
class EndlessTransport final : public HttpTransport {
 public:
  absl::StatusOr<HttpResponse> Send(const HttpRequest&) override {
    std::string items;
    for (int i = 0; i < kPage; ++i) {
      items += (i == 0 ? "" : ",") + PodText(next_listed_++, 1);
    }
    const std::string more = next_listed_ < kObjects ? "more" : "";
    return HttpResponse{.code = 200,
                        .body = R"({"metadata":{"resourceVersion":"1","continue":")" + more +
                                R"("},"items":[)" + items + "]}"};
  }
  absl::StatusOr<HttpResponse> Stream(const HttpRequest&, const StartHandler& on_start,
                                      const DataHandler& on_data, std::stop_token) override {
    on_start(200);
    for (int i = 0; i < kEvents / 10; ++i) {
      ++version_;
      const std::string line =
          R"({"type":"MODIFIED","object":)" + PodText(version_ * 7919 % kObjects, version_) + "}\n";
      const std::string_view bytes = line;
      // Cut somewhere, differently each time.
      const std::size_t cut = static_cast<std::size_t>(version_ * 31) % bytes.size();
      if (!on_data(bytes.substr(0, cut)) || !on_data(bytes.substr(cut))) break;
    }
    return HttpResponse{.code = 200};
  }
  std::string_view host() const override { return "api:443"; }

 private:
  int next_listed_ = 0;
  int version_ = 1;
};

std::size_t ResidentBytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(ReflectorMemoryTest, AnHourOfEventsOnTenThousandObjects) {
  ManualClock clock;
  EndlessTransport transport;
  HttpApiClient client(transport, clock, nullptr);
  Informer informer(client, kPods, {}, {}, clock, 1, Logger::Null());
  int changes = 0;
  informer.AddHandler([&](const InformerEvent&) { ++changes; });
  informer.StepForTest();
  ASSERT_EQ(informer.store().size(), static_cast<std::size_t>(kObjects));
  // The first tenth of the hour lets the heap find its shape.
  informer.StepForTest();
  const std::size_t before = ResidentBytes();
  for (int i = 1; i < 10; ++i) informer.StepForTest();
  const std::size_t after = ResidentBytes();
  EXPECT_EQ(changes, kObjects + kEvents);
  EXPECT_EQ(informer.store().size(), static_cast<std::size_t>(kObjects));
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer keeps freed memory, so RSS says nothing";
#endif
  const std::size_t growth = after > before ? after - before : 0;
  // The events carry 20 MB of JSON; the store holds as much as before.
  EXPECT_LT(growth, std::size_t{4} << 20);
}

}  // namespace
}  // namespace podcache::kube
