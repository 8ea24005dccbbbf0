// The names, types and labels that dashboards and alerts of prometheus/memcached_exporter 0.16 rely
// on: the tables below are that exporter's documentation and the memcached mixin of
// grafana/jsonnet-libs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <fstream>
#include <map>
#include <set>
#include <string>

#include "server/metrics/collector/metrics_collector.h"

namespace podcache::metrics {
namespace {

using prometheus::MetricType;

constexpr MetricType kC = MetricType::Counter;
constexpr MetricType kG = MetricType::Gauge;

struct Row {
  const char* name;
  MetricType type;
};

constexpr Row kGeneral[] = {
    {"up", kG},
    {"uptime_seconds", kC},
    {"time_seconds", kG},
    {"version", kG},
    {"process_user_cpu_seconds_total", kC},
    {"process_system_cpu_seconds_total", kC},
    {"read_bytes_total", kC},
    {"written_bytes_total", kC},
    {"current_connections", kG},
    {"max_connections", kG},
    {"connections_total", kC},
    {"connections_rejected_total", kC},
    {"connections_yielded_total", kC},
    {"connections_listener_disabled_total", kC},
    {"accepting_connections", kG},
    {"current_bytes", kG},
    {"limit_bytes", kG},
    {"malloced_bytes", kG},
    {"current_items", kG},
    {"items_total", kC},
    {"items_evicted_total", kC},
    {"items_reclaimed_total", kC},
    {"item_too_large_total", kC},
    {"item_no_memory_total", kC},
    {"direct_reclaims_total", kC},
    {"commands_total", kC},
    {"lru_crawler_enabled", kG},
    {"lru_crawler_sleep", kG},
    {"lru_crawler_to_crawl", kG},
    {"lru_crawler_maintainer_thread", kG},
    {"lru_crawler_hot_percent", kG},
    {"lru_crawler_warm_percent", kG},
    {"lru_crawler_hot_max_factor", kG},
    {"lru_crawler_warm_max_factor", kG},
    {"lru_crawler_starts_total", kC},
    {"lru_crawler_reclaimed_total", kC},
    {"lru_crawler_items_checked_total", kC},
    {"lru_crawler_moves_to_cold_total", kC},
    {"lru_crawler_moves_to_warm_total", kC},
    {"lru_crawler_moves_within_lru_total", kC},
    // The one of the per-class table that an alert needs.
    {"slab_items_outofmemory_total", kC},
    // Process.
    {"process_cpu_seconds_total", kC},
    {"process_max_fds", kG},
    {"process_open_fds", kG},
    {"process_resident_memory_bytes", kG},
    {"process_start_time_seconds", kG},
    {"process_virtual_memory_bytes", kG},
};

// Every metric in an expression of the mixin's alerts and of its dashboard "Memcached Overview".
constexpr const char* kMixin[] = {
    "memcached_up",
    "memcached_current_connections",
    "memcached_max_connections",
    "memcached_slab_items_outofmemory_total",
    "memcached_commands_total",
    "memcached_items_evicted_total",
    "memcached_items_total",
    "memcached_process_user_cpu_seconds_total",
    "memcached_process_system_cpu_seconds_total",
    "memcached_current_bytes",
    "memcached_current_items",
    "memcached_connections_total",
    "memcached_read_bytes_total",
    "memcached_written_bytes_total",
    "memcached_version",
    "memcached_uptime_seconds",
};

class MetricsTableTest : public ::testing::Test {
 protected:
  MetricsTableTest() {
    for (auto& family : MetricsCollector(registry_, [] { return ServerSnapshot(); }).Collect()) {
      const std::string name = family.name;
      EXPECT_TRUE(families_.emplace(name, std::move(family)).second) << name << " twice";
    }
  }

  CounterRegistry registry_;
  std::map<std::string, prometheus::MetricFamily> families_;
};

TEST_F(MetricsTableTest, AFreshServerHasEveryNameOfTheTableWithItsType) {
  for (const Row& row : kGeneral) {
    const auto found = families_.find(std::string("memcached_") + row.name);
    ASSERT_NE(found, families_.end()) << row.name;
    EXPECT_EQ(found->second.type, row.type) << row.name;
    EXPECT_FALSE(found->second.metric.empty()) << row.name;
    EXPECT_FALSE(found->second.help.empty()) << row.name;
  }
}

TEST_F(MetricsTableTest, NothingElseIsCalledMemcached) {
  std::set<std::string> known;
  for (const Row& row : kGeneral) known.insert(std::string("memcached_") + row.name);
  for (const auto& [name, family] : families_) {
    if (name.starts_with("memcached_")) {
      EXPECT_TRUE(known.contains(name)) << name;
    } else {
      EXPECT_TRUE(name.starts_with("podcache_")) << name;
    }
  }
}

TEST_F(MetricsTableTest, EveryMetricOfTheMixinExists) {
  for (const char* name : kMixin) EXPECT_TRUE(families_.contains(name)) << name;
}

TEST_F(MetricsTableTest, CommandsHaveAllTheirLabelsAtZero) {
  std::set<std::string> series;
  for (const auto& metric : families_.at("memcached_commands_total").metric) {
    ASSERT_EQ(metric.label.size(), 2U);
    EXPECT_EQ(metric.label[0].name, "command");
    EXPECT_EQ(metric.label[1].name, "status");
    EXPECT_EQ(metric.counter.value, 0);
    series.insert(metric.label[0].value + "/" + metric.label[1].value);
  }
  EXPECT_THAT(series, ::testing::UnorderedElementsAre(
                          "get/hit", "get/miss", "delete/hit", "delete/miss", "incr/hit",
                          "incr/miss", "decr/hit", "decr/miss", "cas/hit", "cas/miss", "cas/badval",
                          "touch/hit", "touch/miss", "flush/hit", "set/hit"));
}

TEST_F(MetricsTableTest, LabelsOfTheOthers) {
  const auto& version = families_.at("memcached_version").metric;
  ASSERT_EQ(version.size(), 1U);
  ASSERT_EQ(version[0].label.size(), 1U);
  EXPECT_EQ(version[0].label[0].name, "version");
  EXPECT_EQ(version[0].gauge.value, 1);
  const auto& outofmemory = families_.at("memcached_slab_items_outofmemory_total").metric;
  ASSERT_EQ(outofmemory.size(), 1U);
  EXPECT_EQ(outofmemory[0].label, (std::vector<prometheus::ClientMetric::Label>{{"slab", "1"}}));
  EXPECT_EQ(families_.at("memcached_up").metric[0].gauge.value, 1);
}

// Conventions of Prometheus, and of the table's own general rules.
TEST_F(MetricsTableTest, OurOwnCountersEndInTotalAndOthersDoNot) {
  for (const auto& [name, family] : families_) {
    if (!name.starts_with("podcache_")) continue;
    EXPECT_EQ(name.ends_with("_total"), family.type == MetricType::Counter) << name;
    EXPECT_FALSE(family.help.empty()) << name;
  }
}

// The reference page lists what there is, and nothing else.
TEST_F(MetricsTableTest, TheReferencePageIsComplete) {
  std::ifstream file("docs/reference/metrics.md");
  ASSERT_TRUE(file) << "run from the top of the repository";
  std::set<std::string> documented;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `")) documented.insert(line.substr(3, line.find('`', 3) - 3));
  }
  ServerSnapshot snapshot;  // With everything that is absent where the system sets no limit.
  snapshot.cgroup.memory_limit_bytes = 1;
  snapshot.cgroup.memory_usage_bytes = 1;
  snapshot.cgroup.cpu_quota_cores = 1;
  std::set<std::string> published;
  for (const auto& family : MetricsCollector(registry_, [&] { return snapshot; }).Collect()) {
    published.insert(family.name);
  }
  EXPECT_EQ(documented, published);
}

}  // namespace
}  // namespace podcache::metrics
