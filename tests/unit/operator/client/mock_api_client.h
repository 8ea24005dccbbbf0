// ApiClient for tests that need no wire.
#pragma once

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operator/client/api_client.h"

namespace podcache::kube {

class MockApiClient : public ApiClient {
 public:
  MOCK_METHOD(absl::StatusOr<Object>, Get, (const ObjectRef& ref), (override));
  MOCK_METHOD(absl::StatusOr<ListPage>, List,
              (const ResourceType& type, std::string_view ns, const ListOptions& options),
              (override));
  MOCK_METHOD(absl::StatusOr<Object>, Create,
              (const ResourceType& type, const Object& object, const WriteOptions& options),
              (override));
  MOCK_METHOD(absl::StatusOr<Object>, CreateSubresource,
              (const ObjectRef& ref, const Object& body, const WriteOptions& options), (override));
  MOCK_METHOD(absl::StatusOr<Object>, Update,
              (const ObjectRef& ref, const Object& object, const WriteOptions& options),
              (override));
  MOCK_METHOD(absl::StatusOr<Object>, Patch,
              (const ObjectRef& ref, PatchType type, const nlohmann::json& patch,
               const WriteOptions& options),
              (override));
  MOCK_METHOD(absl::StatusOr<Object>, Apply,
              (const ObjectRef& ref, const Object& object, const ApplyOptions& options),
              (override));
  MOCK_METHOD(absl::Status, Delete, (const ObjectRef& ref, const DeleteOptions& options),
              (override));
  MOCK_METHOD(absl::Status, Watch,
              (const ResourceType& type, std::string_view ns, const WatchOptions& options,
               const WatchHandler& handler, std::stop_token stop),
              (override));
  MOCK_METHOD(absl::StatusOr<ServerVersion>, Version, (), (override));
  MOCK_METHOD(absl::StatusOr<std::vector<std::string>>, Discover, (std::string_view group_version),
              (override));
};

}  // namespace podcache::kube
