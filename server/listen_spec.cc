#include "server/listen_spec.h"

#include <cstdint>
#include <string_view>
#include <utility>

namespace podcache::server {

namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Takes "name[…]:" off the front and gives what stands in the brackets.
bool TakeBracketed(std::string_view& text, std::string_view name, std::string_view& content) {
  const std::size_t close = text.find("]:");
  if (!StartsWith(text, name) || close == std::string_view::npos) return false;
  content = text.substr(name.size(), close - name.size());
  text.remove_prefix(close + 2);
  return true;
}

bool ReadProtocol(std::string_view name, WireProtocol& protocol) {
  if (name == "ascii") {
    protocol = WireProtocol::kText;
  } else if (name == "binary") {
    protocol = WireProtocol::kBinary;
  } else if (name == "negotiating") {
    protocol = WireProtocol::kNegotiating;
  } else {
    return false;
  }
  return true;
}

// Takes memcached's prefixes off the front; false with a reason where one asks for what is not
// there.
bool TakePrefixes(std::string_view& text, ListenSpec& spec, std::string& error) {
  while (true) {
    std::string_view content;
    if (TakeBracketed(text, "tag[", content)) continue;
    if (StartsWith(text, "tag_")) {
      const std::size_t colon = text.find(':');
      if (colon == std::string_view::npos) return true;
      text.remove_prefix(colon + 1);
      continue;
    }
    if (TakeBracketed(text, "proto[", content)) {
      if (ReadProtocol(content, spec.protocol)) continue;
      error = "-l: the protocol \"" + std::string(content) +
              "\" is not one of ascii, binary, negotiating";
      return false;
    }
    for (const std::string_view tls : {"notls:", "btls:", "mtls:"}) {
      if (!StartsWith(text, tls)) continue;
      error = "-l: \"" + std::string(tls) + "\" is not supported by this release";
      return false;
    }
    return true;
  }
}

bool ParseOne(std::string_view text, const ListenDefaults& defaults, ListenSpec& spec,
              std::string& error) {
  const std::string whole(text);
  spec.port = defaults.port;
  spec.protocol = defaults.protocol;
  if (!TakePrefixes(text, spec, error)) return false;
  if (net::SplitHostPort(std::string(text), spec.host, spec.port)) return true;
  error = "-l: \"" + whole + "\" is not host, host:port or [v6]:port";
  return false;
}

std::uint16_t PortToBind(int port) { return static_cast<std::uint16_t>(port < 0 ? 0 : port); }

}  // namespace

bool ParseListenSpecs(const std::vector<std::string>& values, const ListenDefaults& defaults,
                      std::vector<ListenSpec>& specs, std::string& error) {
  for (const std::string& value : values) {
    std::string_view rest = value;
    while (true) {
      const std::size_t comma = rest.find(',');
      const std::string_view one = rest.substr(0, comma);
      ListenSpec spec;
      if (!one.empty()) {
        if (!ParseOne(one, defaults, spec, error)) return false;
        specs.push_back(std::move(spec));
      }
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  if (!values.empty() && specs.empty()) {
    error = "-l: there is no address in it";
    return false;
  }
  return true;
}

bool ResolveListenAddresses(const std::vector<ListenSpec>& specs, bool loopback,
                            const ListenDefaults& defaults, std::vector<ListenGroup>& groups,
                            std::string& error) {
  if (specs.empty()) {
    if (defaults.port == 0) return true;
    const std::uint16_t port = PortToBind(defaults.port);
    ListenGroup& group = groups.emplace_back(ListenGroup{{}, defaults.protocol});
    if (!loopback) return net::Resolve("*", port, group.addresses, error);
    group.addresses = net::LoopbackAddresses(port);
    return true;
  }
  for (const ListenSpec& spec : specs) {
    if (spec.port == 0) continue;  // Off, as with -p 0.
    ListenGroup& group = groups.emplace_back(ListenGroup{{}, spec.protocol});
    if (!net::Resolve(spec.host, PortToBind(spec.port), group.addresses, error)) {
      error = "-l: " + error;
      return false;
    }
  }
  return true;
}

}  // namespace podcache::server
