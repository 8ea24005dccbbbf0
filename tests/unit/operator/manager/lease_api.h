// An API server that knows one lease and the rule of resourceVersions; its answers can be made to
// fail.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "operator/client/api_error.h"
#include "tests/unit/operator/client/mock_api_client.h"

namespace podcache::kube {

class LeaseApi final : public testing::NiceMock<MockApiClient> {
 public:
  LeaseApi() {
    ON_CALL(*this, Get).WillByDefault([this](const ObjectRef& ref) -> absl::StatusOr<Object> {
      if (!failure.ok()) return failure;
      EXPECT_EQ(ref.type.plural, "leases");
      if (!lease) return ErrorFromResponse(404, "", std::nullopt);
      return *lease;
    });
    ON_CALL(*this, Create)
        .WillByDefault([this](const ResourceType&, const Object& object,
                              const WriteOptions&) -> absl::StatusOr<Object> {
          if (!failure.ok()) return failure;
          if (lease) return absl::AlreadyExistsError("exists");
          return Store(object);
        });
    ON_CALL(*this, Update)
        .WillByDefault([this](const ObjectRef&, const Object& object,
                              const WriteOptions&) -> absl::StatusOr<Object> {
          if (!failure.ok()) return failure;
          if (object.resource_version() != lease->resource_version()) {
            return ErrorFromResponse(409, "", std::nullopt);
          }
          return Store(object);
        });
  }

  std::string holder() const { return std::string(lease->TextAt({"spec", "holderIdentity"})); }

  std::optional<Object> lease;
  absl::Status failure;

 private:
  Object Store(Object object) {
    object.mutable_json()["metadata"]["resourceVersion"] = std::to_string(++version_);
    lease = object;
    return object;
  }
  int version_ = 0;
};

}  // namespace podcache::kube
