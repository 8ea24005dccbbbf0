#include "server/options.h"

#include <CLI/CLI.hpp>

#include "common/http/listen_address.h"
#include "server/listen_spec.h"
#include "server/net/listen_socket.h"
#include "server/option_table.h"

namespace podcache::server {

namespace {

// Carries a row's complaint out of the parser.
class BadValue : public CLI::ParseError {
 public:
  explicit BadValue(const std::string& message)
      : CLI::ParseError("BadValue", message, CLI::ExitCodes::ValidationError) {}
};

void AddRow(CLI::App& app, const OptionRow& row, Options& options) {
  const auto apply = [&row, &options](const std::string& value) {
    std::string error;
    if (row.apply(options, value, error)) return;
    // "-t,--threads" → "-t, --threads".
    std::string name = row.names;
    const std::size_t comma = name.find(',');
    if (comma != std::string::npos) name.insert(comma + 1, " ");
    throw BadValue(name + ": " + error);
  };
  if (row.value == nullptr) {
    app.add_flag_function(row.names, [apply](std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) apply("");
    });
    return;
  }
  app.add_option(row.names,
                 [apply](const CLI::results_t& values) {
                   for (const std::string& value : values) apply(value);
                   return true;
                 })
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

// One line, whatever the library says.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

bool CheckListenAddress(const char* option, const std::string& text, std::string& error) {
  std::string reason;
  if (http::ParseListenAddress(text, &reason)) return true;
  error = std::string(option) + ": " + reason;
  return false;
}

bool CheckUnixPath(const char* option, const std::string& path, std::string& error) {
  if (path.empty() || net::IsValidUnixPath(path)) return true;
  error = std::string(option) + ": the path is too long for a Unix socket";
  return false;
}

bool CheckLru(const command::SettingsReport& settings, std::string& error) {
  if (settings.hot_lru_pct + settings.warm_lru_pct > 80) {
    error = "-o: hot_lru_pct and warm_lru_pct are more than 80 together";
  } else if (settings.temp_lru && !settings.lru_maintainer) {
    error = "-o: temporary_ttl needs lru_maintainer";
  }
  return error.empty();
}

// A binary connection could not authenticate, nor could a datagram.
bool CheckAuthentication(const Options& options, std::string& error) {
  if (options.settings.auth_file.empty()) return true;
  if (!options.given_protocol.empty() && options.given_protocol != "ascii") {
    error = "-Y and -B " + options.given_protocol +
            " exclude each other: only the text protocol authenticates";
  } else if (options.settings.udpport != 0) {
    error = "-Y and UDP exclude each other: a datagram cannot authenticate";
  }
  return error.empty();
}

bool CheckSpecs(const Options& options, std::string& error) {
  std::vector<ListenSpec> specs;
  if (!ParseListenSpecs(options.listen, options.tcp_defaults(), specs, error)) return false;
  for (const ListenSpec& spec : specs) {
    if (options.settings.auth_file.empty() || spec.protocol != WireProtocol::kBinary) continue;
    error = "-Y and -l proto[binary] exclude each other: only the text protocol authenticates";
    return false;
  }
  return true;
}

bool CheckListening(const Options& options, std::string& error) {
  if (!options.unix_socket.empty() && !options.extra_unix_socket.empty()) {
    error = "-s and --extra-unix-socket exclude each other";
  } else if (options.loopback && !options.listen.empty()) {
    error = "-l and --loopback exclude each other";
  }
  return error.empty() && CheckSpecs(options, error) &&
         CheckUnixPath("-s", options.unix_socket, error) &&
         CheckUnixPath("--extra-unix-socket", options.extra_unix_socket, error);
}

}  // namespace

ListenDefaults Options::tcp_defaults() const {
  constexpr int kDefaultPort = 11211;
  return {port.value_or(settings.udpport != 0 ? settings.udpport : kDefaultPort), protocol};
}

bool ParseOptions(int argc, const char* const* argv, Options& options, std::string& error) {
  CLI::App app;
  app.set_help_flag();
  for (const OptionRow& row : OptionRows()) AddRow(app, row, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    error = OneLine(failure.what());
    return false;
  }
  return true;
}

bool ValidateOptions(const Options& options, std::string& error) {
  const command::SettingsReport& settings = options.settings;
  if (options.memory_bytes && options.max_item_size_given &&
      settings.item_size_max > *options.memory_bytes / 2) {
    error = "-I: an item of " + std::to_string(settings.item_size_max) +
            " bytes is more than half of the memory of " + std::to_string(*options.memory_bytes) +
            " bytes";
    return false;
  }
  if (options.slab_chunk_max_given && settings.item_size_max % settings.slab_chunk_max != 0) {
    error = "-o slab_chunk_max: " + std::to_string(settings.slab_chunk_max) +
            " bytes are no even part of -I, " + std::to_string(settings.item_size_max) + " bytes";
    return false;
  }
  if (!CheckLru(settings, error) || !CheckListening(options, error) ||
      !CheckAuthentication(options, error))
    return false;
  if (!options.http_listen.empty() &&
      !CheckListenAddress("--http-listen", options.http_listen, error))
    return false;
  for (const std::string& address : options.admin_listen) {
    if (!CheckListenAddress("--admin-listen", address, error)) return false;
  }
  return true;
}

}  // namespace podcache::server
