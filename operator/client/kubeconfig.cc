// KubeconfigConfig of rest_config.h, on yaml-cpp.
#include <openssl/evp.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "operator/client/file_util.h"
#include "operator/client/rest_config.h"

namespace podcache::kube {
namespace {

// An entry of clusters, users or contexts, and the folder that its relative paths start from.
struct Entry {
  YAML::Node value;
  std::filesystem::path folder;
};

struct File {
  YAML::Node root;
  std::filesystem::path folder;
};

std::string Text(const YAML::Node& node, const char* key) {
  if (!node.IsMap()) return "";
  const YAML::Node value = node[key];
  return value && value.IsScalar() ? value.Scalar() : "";
}

absl::StatusOr<Entry> Find(const std::vector<File>& files, const char* list, const char* member,
                           const std::string& name) {
  for (const File& file : files) {
    const YAML::Node entries = file.root[list];
    if (!entries || !entries.IsSequence()) continue;
    for (const YAML::Node& entry : entries) {
      if (Text(entry, "name") == name && entry[member]) return Entry{entry[member], file.folder};
    }
  }
  return NotFound(std::string("no \"") + name + "\" under " + list);
}

absl::StatusOr<std::string> DecodeBase64(const std::string& encoded) {
  std::string text;
  for (const char c : encoded) {
    if (c != '\n' && c != '\r' && c != ' ') text.push_back(c);
  }
  if (text.empty() || text.size() % 4 != 0) return InvalidArgument("is not base64");
  std::string decoded(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0) return InvalidArgument("is not base64");
  std::size_t padding = 0;
  while (padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
  decoded.resize(static_cast<std::size_t>(size) - padding);
  return decoded;
}

// "<key>-data" in base64, or "<key>" as a path.
absl::StatusOr<TextOrFile> ReadPem(const Entry& entry, const std::string& key) {
  TextOrFile result;
  const std::string data_key = key + "-data";
  if (const std::string data = Text(entry.value, data_key.c_str()); !data.empty()) {
    absl::StatusOr<std::string> decoded = DecodeBase64(data);
    if (!decoded.ok()) return WithContext(decoded.status(), data_key);
    result.text = *std::move(decoded);
  } else if (const std::string path = Text(entry.value, key.c_str()); !path.empty()) {
    result.file = (entry.folder / path).string();
  }
  return result;
}

absl::Status ReadCluster(const Entry& cluster, RestConfig& config) {
  config.server = Text(cluster.value, "server");
  while (!config.server.empty() && config.server.back() == '/') config.server.pop_back();
  if (config.server.empty()) return InvalidArgument("the cluster has no server");
  PODCACHE_ASSIGN_OR_RETURN(config.ca, ReadPem(cluster, "certificate-authority"));
  config.insecure = Text(cluster.value, "insecure-skip-tls-verify") == "true";
  config.tls_server_name = Text(cluster.value, "tls-server-name");
  config.proxy_url = Text(cluster.value, "proxy-url");
  return absl::OkStatus();
}

absl::Status ReadUser(const Entry& user, RestConfig& config) {
  for (const char* unsupported : {"exec", "auth-provider", "username", "password"}) {
    if (user.value.IsMap() && user.value[unsupported]) {
      return FailedPrecondition(std::string("the user's \"") + unsupported +
                                "\" is not supported: use a token or a client certificate");
    }
  }
  config.token.text = Text(user.value, "token");
  if (const std::string path = Text(user.value, "tokenFile"); !path.empty()) {
    // As in kubectl the file wins over the text.
    config.token = {.text = "", .file = (user.folder / path).string()};
  }
  PODCACHE_ASSIGN_OR_RETURN(config.client_certificate, ReadPem(user, "client-certificate"));
  PODCACHE_ASSIGN_OR_RETURN(config.client_key, ReadPem(user, "client-key"));
  if (config.client_certificate.empty() != config.client_key.empty()) {
    return InvalidArgument("client-certificate and client-key go together");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<File>> Load(const std::vector<std::string>& paths) {
  std::vector<File> files;
  absl::Status failed = InvalidArgument("no kubeconfig given");
  for (const std::string& path : paths) {
    absl::StatusOr<std::string> text = ReadSmallFile(path);
    if (!text.ok()) {
      failed = text.status();
      continue;  // As kubectl does with $KUBECONFIG: what is not there is skipped.
    }
    YAML::Node root = YAML::Load(*text);
    if (!root.IsMap()) return InvalidArgument(path + " is no kubeconfig");
    files.push_back({std::move(root), std::filesystem::path(path).parent_path()});
  }
  if (files.empty()) return failed;
  return files;
}

absl::StatusOr<RestConfig> Read(const std::vector<std::string>& paths, std::string context) {
  PODCACHE_ASSIGN_OR_RETURN(const std::vector<File> files, Load(paths));
  for (std::size_t i = 0; context.empty() && i < files.size(); ++i) {
    context = Text(files[i].root, "current-context");
  }
  if (context.empty()) return InvalidArgument("no current-context in the kubeconfig");
  RestConfig config;
  PODCACHE_ASSIGN_OR_RETURN(const Entry chosen, Find(files, "contexts", "context", context));
  PODCACHE_ASSIGN_OR_RETURN(const Entry cluster,
                            Find(files, "clusters", "cluster", Text(chosen.value, "cluster")));
  PODCACHE_RETURN_IF_ERROR(ReadCluster(cluster, config));
  if (const std::string name = Text(chosen.value, "user"); !name.empty()) {
    PODCACHE_ASSIGN_OR_RETURN(const Entry user, Find(files, "users", "user", name));
    PODCACHE_RETURN_IF_ERROR(ReadUser(user, config));
  }
  if (std::string ns = Text(chosen.value, "namespace"); !ns.empty()) {
    config.default_namespace = std::move(ns);
  }
  return config;
}

}  // namespace

absl::StatusOr<RestConfig> KubeconfigConfig(const std::vector<std::string>& paths,
                                            const std::string& context) {
  try {
    absl::StatusOr<RestConfig> config = Read(paths, context);
    if (!config.ok()) return WithContext(config.status(), "kubeconfig");
    return config;
  } catch (const YAML::Exception& error) {
    return InvalidArgument(std::string("kubeconfig: ") + error.what());
  }
}

}  // namespace podcache::kube
