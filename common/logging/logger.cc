#include "common/logging/logger.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace podcache {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// Quoted and escaped; bytes that are not UTF-8 are replaced, so that the line stays valid JSON.
std::string Quote(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string Render(const LogField::Value& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) return Quote(*text);
  return std::visit([](const auto& v) { return nlohmann::json(v).dump(); }, value);
}

void Append(std::string& line, Logger::Fields fields) {
  for (const LogField& field : fields) {
    line.append(",").append(Quote(field.key)).append(":").append(Render(field.value));
  }
}

}  // namespace

class Logger::Sink {
 public:
  explicit Sink(LogLevel level)
      : logger_("podcache", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger_.set_level(ToSpdlog(level));
    logger_.flush_on(spdlog::level::debug);
    logger_.set_pattern(R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})",
                        spdlog::pattern_time_type::utc);
  }
  bool Wants(LogLevel level) const { return logger_.should_log(ToSpdlog(level)); }
  void Write(LogLevel level, const std::string& line) {
    logger_.log(ToSpdlog(level), spdlog::string_view_t(line));
  }

 private:
  spdlog::logger logger_;
};

Logger Logger::ToStderr(LogLevel level) { return Logger(std::make_shared<Sink>(level)); }
Logger Logger::Null() { return Logger(nullptr); }

Logger Logger::With(Fields fields) const {
  Logger child = *this;
  Append(child.bound_, fields);
  return child;
}

void Logger::Write(LogLevel level, std::string_view message, Fields fields) const {
  if (sink_ == nullptr || !sink_->Wants(level)) return;
  std::string line = "\"msg\":" + Quote(message) + bound_;
  Append(line, fields);
  sink_->Write(level, line);
}

void Logger::Debug(std::string_view message, Fields fields) const {
  Write(LogLevel::kDebug, message, fields);
}
void Logger::Info(std::string_view message, Fields fields) const {
  Write(LogLevel::kInfo, message, fields);
}
void Logger::Warning(std::string_view message, Fields fields) const {
  Write(LogLevel::kWarning, message, fields);
}
void Logger::Error(std::string_view message, Fields fields) const {
  Write(LogLevel::kError, message, fields);
}

}  // namespace podcache
