#include "operator/client/http_api_client.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "operator/client/api_error.h"
#include "operator/client/watch_stream.h"

namespace podcache::kube {
namespace {

constexpr char kJson[] = "application/json";
// The server ends a watch after its timeout; a client that hears nothing for so much longer ends it
// too.
constexpr std::chrono::seconds kWatchGrace{30};

std::string Flag(bool value) { return value ? "true" : ""; }

std::string WriteQuery(const WriteOptions& options) {
  return QueryString(
      {{"fieldManager", options.field_manager}, {"dryRun", options.dry_run ? "All" : ""}});
}

const char* ContentTypeOf(PatchType type) {
  switch (type) {
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kStrategicMerge:
      return "application/strategic-merge-patch+json";
    case PatchType::kJson:
      return "application/json-patch+json";
  }
  return kJson;
}

std::string DumpBody(const nlohmann::json& body) {
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The object with apiVersion and kind, as the API server wants it.
Object Complete(const ResourceType& type, const Object& object) {
  Object complete = object;
  nlohmann::json& value = complete.mutable_json();
  if (object.api_version().empty()) value["apiVersion"] = type.ApiVersion();
  if (object.kind().empty()) value["kind"] = type.kind;
  return complete;
}

// … and with name and namespace, which apply wants in the body too.
Object Complete(const ObjectRef& ref, const Object& object) {
  Object complete = Complete(ref.type, object);
  nlohmann::json& metadata = complete.mutable_json()["metadata"];
  if (object.name().empty()) metadata["name"] = ref.name;
  if (ref.type.namespaced && object.ns().empty()) metadata["namespace"] = ref.ns;
  return complete;
}

absl::Status CheckNamespace(const ResourceType& type, std::string_view ns) {
  if (!type.namespaced || IsPathSegment(ns)) return absl::OkStatus();
  return InvalidArgument("\"" + std::string(ns) + "\" is no name of a namespace");
}

absl::Status CheckRef(const ObjectRef& ref) {
  PODCACHE_RETURN_IF_ERROR(CheckNamespace(ref.type, ref.ns));
  if (!IsPathSegment(ref.name))
    return InvalidArgument("\"" + ref.name + "\" is no name of an object");
  if (ref.subresource.empty() || IsPathSegment(ref.subresource)) return absl::OkStatus();
  return InvalidArgument("\"" + ref.subresource + "\" is no subresource");
}

absl::StatusOr<nlohmann::json> ParseAnswer(const std::string& body) {
  nlohmann::json value = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) {
    return MakeStatus(absl::StatusCode::kDataLoss, "the API server's answer is no JSON object");
  }
  return value;
}

std::string TextMember(const nlohmann::json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_string() ? found->get<std::string>() : "";
}

absl::StatusOr<ListPage> ReadPage(const ResourceType& type, const std::string& body) {
  PODCACHE_ASSIGN_OR_RETURN(nlohmann::json list, ParseAnswer(body));
  ListPage page;
  if (const auto metadata = list.find("metadata"); metadata != list.end()) {
    page.resource_version = TextMember(*metadata, "resourceVersion");
    page.continue_token = TextMember(*metadata, "continue");
  }
  const auto items = list.find("items");
  if (items == list.end() || (!items->is_array() && !items->is_null())) {
    return MakeStatus(absl::StatusCode::kDataLoss, "the API server's answer is no list");
  }
  page.items.reserve(items->size());
  for (nlohmann::json& item : *items) {
    if (!item.is_object()) return MakeStatus(absl::StatusCode::kDataLoss, "list item is no object");
    // Items of a list come without them.
    item["apiVersion"] = type.ApiVersion();
    item["kind"] = type.kind;
    Object& object = page.items.emplace_back(std::move(item));
    object.StripManagedFields();
  }
  return page;
}

absl::Status Describe(const absl::Status& status, const HttpRequest& request) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  return WithContext(status, request.method + " " + path);
}

bool IsSuccess(int code) { return code >= 200 && code < 300; }

}  // namespace

void HttpApiClient::Observe(std::string_view verb, std::string_view method, int code,
                            std::chrono::nanoseconds started) const {
  if (observer_ == nullptr) return;
  observer_->OnRequest(verb, method, transport_.host(), code, clock_.MonotonicNow() - started);
}

absl::StatusOr<std::string> HttpApiClient::Exchange(std::string_view verb, HttpRequest request) {
  request.timeout = verb == "list" ? timeout_ * 2 : timeout_;
  const std::chrono::nanoseconds started = clock_.MonotonicNow();
  absl::StatusOr<HttpResponse> response = transport_.Send(request);
  Observe(verb, request.method, response.ok() ? response->code : 0, started);
  if (!response.ok()) return Describe(response.status(), request);
  if (!IsSuccess(response->code)) {
    return Describe(ErrorFromResponse(response->code, response->body, response->retry_after),
                    request);
  }
  return std::move(response->body);
}

absl::StatusOr<Object> HttpApiClient::ExchangeObject(std::string_view verb, HttpRequest request) {
  const HttpRequest described{.method = request.method, .target = request.target};
  PODCACHE_ASSIGN_OR_RETURN(const std::string body, Exchange(verb, std::move(request)));
  absl::StatusOr<Object> object = Object::Parse(body);
  if (!object.ok()) {
    return Describe(MakeStatus(absl::StatusCode::kDataLoss, MessageOf(object.status())), described);
  }
  return object;
}

absl::StatusOr<Object> HttpApiClient::Get(const ObjectRef& ref) {
  PODCACHE_RETURN_IF_ERROR(CheckRef(ref));
  return ExchangeObject("get", {.method = "GET", .target = ObjectPath(ref)});
}

absl::StatusOr<ListPage> HttpApiClient::List(const ResourceType& type, std::string_view ns,
                                             const ListOptions& options) {
  if (!ns.empty()) PODCACHE_RETURN_IF_ERROR(CheckNamespace(type, ns));
  const std::string query =
      QueryString({{"labelSelector", options.label_selector},
                   {"fieldSelector", options.field_selector},
                   {"limit", options.limit > 0 ? std::to_string(options.limit) : ""},
                   {"continue", options.continue_token},
                   {"resourceVersion", options.resource_version},
                   {"resourceVersionMatch", options.resource_version_match}});
  const HttpRequest request{.method = "GET", .target = CollectionPath(type, ns) + query};
  PODCACHE_ASSIGN_OR_RETURN(const std::string body, Exchange("list", request));
  absl::StatusOr<ListPage> page = ReadPage(type, body);
  if (!page.ok()) return Describe(page.status(), request);
  return page;
}

absl::StatusOr<Object> HttpApiClient::Create(const ResourceType& type, const Object& object,
                                             const WriteOptions& options) {
  PODCACHE_RETURN_IF_ERROR(CheckNamespace(type, object.ns()));
  return ExchangeObject("create",
                        {.method = "POST",
                         .target = CollectionPath(type, object.ns()) + WriteQuery(options),
                         .content_type = kJson,
                         .body = Complete(type, object).Dump()});
}

absl::StatusOr<Object> HttpApiClient::CreateSubresource(const ObjectRef& ref, const Object& body,
                                                        const WriteOptions& options) {
  PODCACHE_RETURN_IF_ERROR(CheckRef(ref));
  return ExchangeObject("create", {.method = "POST",
                                   .target = ObjectPath(ref) + WriteQuery(options),
                                   .content_type = kJson,
                                   .body = body.Dump()});
}

absl::StatusOr<Object> HttpApiClient::Update(const ObjectRef& ref, const Object& object,
                                             const WriteOptions& options) {
  PODCACHE_RETURN_IF_ERROR(CheckRef(ref));
  return ExchangeObject("update", {.method = "PUT",
                                   .target = ObjectPath(ref) + WriteQuery(options),
                                   .content_type = kJson,
                                   .body = Complete(ref, object).Dump()});
}

absl::StatusOr<Object> HttpApiClient::Patch(const ObjectRef& ref, PatchType type,
                                            const nlohmann::json& patch,
                                            const WriteOptions& options) {
  PODCACHE_RETURN_IF_ERROR(CheckRef(ref));
  return ExchangeObject("patch", {.method = "PATCH",
                                  .target = ObjectPath(ref) + WriteQuery(options),
                                  .content_type = ContentTypeOf(type),
                                  .body = DumpBody(patch)});
}

absl::StatusOr<Object> HttpApiClient::Apply(const ObjectRef& ref, const Object& object,
                                            const ApplyOptions& options) {
  PODCACHE_RETURN_IF_ERROR(CheckRef(ref));
  if (options.field_manager.empty()) return InvalidArgument("apply needs a field manager");
  const std::string query = QueryString({{"fieldManager", options.field_manager},
                                         {"force", Flag(options.force)},
                                         {"dryRun", options.dry_run ? "All" : ""}});
  // JSON is valid YAML, so it may be sent under this type.
  return ExchangeObject("apply", {.method = "PATCH",
                                  .target = ObjectPath(ref) + query,
                                  .content_type = "application/apply-patch+yaml",
                                  .body = Complete(ref, object).Dump()});
}

absl::Status HttpApiClient::Delete(const ObjectRef& ref, const DeleteOptions& options) {
  PODCACHE_RETURN_IF_ERROR(CheckRef(ref));
  nlohmann::json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (options.uid) body["preconditions"] = {{"uid", *options.uid}};
  if (options.grace_period_seconds) body["gracePeriodSeconds"] = *options.grace_period_seconds;
  if (!options.propagation_policy.empty()) body["propagationPolicy"] = options.propagation_policy;
  return Exchange("delete", {.method = "DELETE",
                             .target = ObjectPath(ref),
                             .content_type = kJson,
                             .body = DumpBody(body)})
      .status();
}

absl::Status HttpApiClient::Watch(const ResourceType& type, std::string_view ns,
                                  const WatchOptions& options, const WatchHandler& handler,
                                  std::stop_token stop) {
  if (!ns.empty()) PODCACHE_RETURN_IF_ERROR(CheckNamespace(type, ns));
  const bool initial = options.send_initial_events;
  const std::string query =
      QueryString({{"watch", "true"},
                   {"allowWatchBookmarks", "true"},
                   {"resourceVersion", options.resource_version},
                   {"resourceVersionMatch", initial ? "NotOlderThan" : ""},
                   {"sendInitialEvents", Flag(initial)},
                   {"timeoutSeconds", std::to_string(options.timeout.count())},
                   {"labelSelector", options.label_selector},
                   {"fieldSelector", options.field_selector}});
  const HttpRequest request{.method = "GET",
                            .target = CollectionPath(type, ns) + query,
                            .timeout = options.timeout + kWatchGrace};
  LineSplitter lines;
  absl::Status failed;
  bool wanted = true;
  const auto on_line = [&](std::string_view line) -> absl::Status {
    if (line.empty() || !wanted) return absl::OkStatus();
    absl::StatusOr<WatchEvent> event = DecodeWatchEvent(line);
    if (!event.ok()) return event.status();
    wanted = handler(*std::move(event));
    return absl::OkStatus();
  };
  const std::chrono::nanoseconds started = clock_.MonotonicNow();
  bool began = false;
  const absl::StatusOr<HttpResponse> response = transport_.Stream(
      request,
      [&](int code) {
        began = true;
        Observe("watch", request.method, code, started);
      },
      [&](std::string_view bytes) {
        failed = lines.Feed(bytes, on_line);
        return failed.ok() && wanted;
      },
      std::move(stop));
  if (!began) Observe("watch", request.method, response.ok() ? response->code : 0, started);
  if (!failed.ok()) return Describe(failed, request);
  if (!response.ok()) return Describe(response.status(), request);
  if (!IsSuccess(response->code)) {
    return Describe(ErrorFromResponse(response->code, response->body, response->retry_after),
                    request);
  }
  return absl::OkStatus();
}

absl::StatusOr<ServerVersion> HttpApiClient::Version() {
  const HttpRequest request{.method = "GET", .target = "/version"};
  PODCACHE_ASSIGN_OR_RETURN(const std::string body, Exchange("get", request));
  PODCACHE_ASSIGN_OR_RETURN(const nlohmann::json value, ParseAnswer(body));
  const std::string minor = TextMember(value, "minor");
  const std::string major = TextMember(value, "major");
  // Some distributions write "29+".
  return ServerVersion{static_cast<int>(std::strtol(major.c_str(), nullptr, 10)),
                       static_cast<int>(std::strtol(minor.c_str(), nullptr, 10)),
                       TextMember(value, "gitVersion")};
}

absl::StatusOr<std::vector<std::string>> HttpApiClient::Discover(std::string_view group_version) {
  const std::size_t slash = group_version.find('/');
  std::string target = slash == std::string_view::npos ? "/api/" : "/apis/";
  if (slash != std::string_view::npos) {
    target.append(PercentEncode(group_version.substr(0, slash))).append("/");
    group_version.remove_prefix(slash + 1);
  }
  target.append(PercentEncode(group_version));
  const HttpRequest request{.method = "GET", .target = std::move(target)};
  PODCACHE_ASSIGN_OR_RETURN(const std::string body, Exchange("get", request));
  PODCACHE_ASSIGN_OR_RETURN(const nlohmann::json value, ParseAnswer(body));
  std::vector<std::string> names;
  const auto resources = value.find("resources");
  if (resources == value.end() || !resources->is_array()) return names;
  for (const nlohmann::json& resource : *resources) {
    if (std::string name = TextMember(resource, "name"); !name.empty()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

}  // namespace podcache::kube
