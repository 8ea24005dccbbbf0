// Options of podcache-operator: one struct, read from the command line once.
//
// Threads: a value.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/logging/logger.h"

namespace podcache::control {

struct Options {
  std::string server_image = "podcached:latest";
  std::string ns;  // Of the operator itself: Secret, Lease, webhook Service.
  std::vector<std::string> watch_namespaces;  // Empty: all.
  std::uint32_t max_concurrent_resizes = 10;
  bool leader_elect = true;
  bool read_nodes = false;

  std::string webhook_service = "podcache-webhook";
  std::string webhook_configuration = "podcache-injector";
  std::vector<std::string> webhook_hosts;  // More names or addresses in its certificate.
  std::uint16_t webhook_port = 9443;
  std::string metrics_listen = "*:8080";
  std::string health_listen = "*:8081";

  std::uint16_t cache_admin_port = 9151;
  std::string kubeconfig;
  std::string context;
  LogLevel log_level = LogLevel::kInfo;
};

enum class ParseResult : std::uint8_t { kRun, kExitOk, kExitUsage };

// Reads the command line; prints help, version or what is wrong.
ParseResult ParseOptions(int argc, const char* const* argv, Options& options);

}  // namespace podcache::control
