// Structured logs of the control plane: one JSON object a line on standard error, a constant
// message plus key/value pairs, as kubernetes.md section 8 asks.
//
//   const Logger log = root.With({{"controller", "cachesidecar"}});
//   log.Info("Resized pod", {{"pod", key}, {"limitBytes", bytes}});
//
// Threads: any; lines never mix. Ownership: copies are cheap and share the sink.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace podcache {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Text is borrowed for the call only.
struct LogField {
  using Value = std::variant<std::string_view, std::int64_t, double, bool>;

  LogField(std::string_view name, std::string_view text) : key(name), value(text) {}
  LogField(std::string_view name, const std::string& text)
      : key(name), value(std::string_view(text)) {}
  LogField(std::string_view name, const char* text) : key(name), value(std::string_view(text)) {}
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  LogField(std::string_view name, T number) : key(name) {
    if constexpr (std::is_same_v<T, bool>) {
      value = number;
    } else if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<double>(number);
    } else {
      value = static_cast<std::int64_t>(number);
    }
  }

  std::string_view key;
  Value value;
};

class Logger {
 public:
  using Fields = std::initializer_list<LogField>;

  // Writes lines of `level` and above to standard error.
  static Logger ToStderr(LogLevel level);
  // Writes nothing; for tests.
  static Logger Null();

  // A logger whose lines also carry `fields`.
  Logger With(Fields fields) const;

  void Debug(std::string_view message, Fields fields = {}) const;
  void Info(std::string_view message, Fields fields = {}) const;
  void Warning(std::string_view message, Fields fields = {}) const;
  void Error(std::string_view message, Fields fields = {}) const;

 private:
  class Sink;
  explicit Logger(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}
  void Write(LogLevel level, std::string_view message, Fields fields) const;

  // Shared: every component keeps its own copy of the logger and all write to the same stream. Null
  // writes nothing.
  std::shared_ptr<Sink> sink_;
  std::string bound_;  // Rendered fields of With(), each with a leading comma.
};

}  // namespace podcache
