// How answers look: aligned text for people, JSON for programs.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace google::protobuf {
class Message;
}
namespace podcache::admin::v1 {
class Config;
class ResizeProgress;
class ServerInfo;
class Stats;
}  // namespace podcache::admin::v1

namespace podcache::control {

// "256Mi", "1.5Gi", "17": short, for reading; exact values are in the JSON.
std::string ShortBytes(std::uint64_t bytes);
// "3d 4h", "5m 12s".
std::string ShortDuration(std::int64_t seconds);

// One line a row, values in one column.
std::string Columns(const std::vector<std::pair<std::string, std::string>>& rows);

std::string RenderInfo(const admin::v1::ServerInfo& info);
std::string RenderStats(const admin::v1::Stats& stats);
std::string RenderMemory(const admin::v1::Config& config);
std::string RenderThreads(const admin::v1::Config& config);
// One line, without its end.
std::string RenderProgress(const admin::v1::ResizeProgress& progress);

// Field names as in the .proto file; numbers as numbers; durations in seconds; times in RFC 3339;
// every field, also zero.
std::string RenderJson(const google::protobuf::Message& message, bool pretty);

}  // namespace podcache::control
