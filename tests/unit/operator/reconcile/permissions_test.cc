// The operator's own list of rights and the table that the installation is tested against are the
// same.
#include "operator/reconcile/permissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <set>
#include <string>

namespace podcache::control {
namespace {

std::string ScopeName(RightScope scope) {
  switch (scope) {
    case RightScope::kWatched:
      return "watched";
    case RightScope::kCluster:
      return "cluster";
    case RightScope::kProfiles:
      return "profiles";
    case RightScope::kNodes:
      return "nodes";
    case RightScope::kOwn:
      return "own";
    case RightScope::kProbe:
      return "probe";
  }
  return {};
}

TEST(PermissionsTest, TableOfTheInstallationIsEqual) {
  std::set<std::string> needed;
  for (const Right& right : RightsNeeded()) {
    for (const std::string_view verb : right.verbs) {
      needed.insert(ScopeName(right.scope) + " " + std::string(right.group) + "/" +
                    std::string(right.resource) + " " + std::string(right.name) + " " +
                    std::string(verb));
    }
  }
  std::set<std::string> granted;
  for (const YAML::Node& entry : YAML::LoadFile("manifests/rbac/permissions.yaml")["permissions"]) {
    const YAML::Node rule = entry["rule"];
    const std::vector<std::string> any = {""};
    const auto names =
        rule["resourceNames"] ? rule["resourceNames"].as<std::vector<std::string>>() : any;
    for (const auto& group : rule["apiGroups"].as<std::vector<std::string>>()) {
      for (const auto& resource : rule["resources"].as<std::vector<std::string>>()) {
        for (const auto& name : names) {
          for (const auto& verb : rule["verbs"].as<std::vector<std::string>>()) {
            granted.insert(entry["scope"].as<std::string>() + " " + group + "/" + resource + " " +
                           name + " " + verb);
          }
        }
      }
    }
  }
  EXPECT_EQ(needed, granted);
}

}  // namespace
}  // namespace podcache::control
