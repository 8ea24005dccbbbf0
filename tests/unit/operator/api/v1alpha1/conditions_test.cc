#include "operator/api/v1alpha1/conditions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace podcache::control {
namespace {

const std::vector<ConditionUpdate> kWanted{
    {condition::kReady, ConditionStatus::kFalse, "Progressing", "1 of 2 pods"},
    {condition::kResizing, ConditionStatus::kTrue, "Growing", ""}};

TEST(UpdateConditions, SetsAllAtTheFirstVisit) {
  const auto conditions = UpdateConditions({}, kWanted, 4, "2026-11-30T10:00:00Z");
  ASSERT_EQ(conditions.size(), 2U);
  EXPECT_EQ(conditions[0], (Condition{.type = "Ready",
                                      .status = ConditionStatus::kFalse,
                                      .observed_generation = 4,
                                      .reason = "Progressing",
                                      .message = "1 of 2 pods",
                                      .last_transition_time = "2026-11-30T10:00:00Z"}));
  EXPECT_EQ(conditions[1].type, "Resizing");
  EXPECT_EQ(conditions[1].last_transition_time, "2026-11-30T10:00:00Z");
}

TEST(UpdateConditions, TimeMovesOnlyWithTheStatus) {
  const auto before = UpdateConditions({}, kWanted, 4, "2026-11-30T10:00:00Z");
  auto wanted = kWanted;
  wanted[0].reason = "Degraded";
  wanted[0].message = "0 of 2 pods";
  wanted[1].status = ConditionStatus::kFalse;
  const auto after = UpdateConditions(before, wanted, 5, "2026-11-30T11:00:00Z");
  EXPECT_EQ(after[0].reason, "Degraded");
  EXPECT_EQ(after[0].observed_generation, 5);
  EXPECT_EQ(after[0].last_transition_time, "2026-11-30T10:00:00Z");
  EXPECT_EQ(after[1].last_transition_time, "2026-11-30T11:00:00Z");
}

TEST(UpdateConditions, AnUnchangedStateGivesAnUnchangedList) {
  const auto before = UpdateConditions({}, kWanted, 4, "2026-11-30T10:00:00Z");
  EXPECT_EQ(UpdateConditions(before, kWanted, 4, "2026-11-30T11:00:00Z"), before);
}

TEST(UpdateConditions, DropsTypesNobodyWantsAnyMore) {
  const auto before = UpdateConditions({}, kWanted, 4, "2026-11-30T10:00:00Z");
  EXPECT_EQ(UpdateConditions(before, {kWanted[0]}, 4, "2026-11-30T11:00:00Z").size(), 1U);
}

TEST(UpdateConditions, CutsMessagesBetweenCharacters) {
  auto wanted = kWanted;
  wanted[0].message = std::string(4095, 'x') + "é";
  EXPECT_EQ(UpdateConditions({}, wanted, 1, "")[0].message, std::string(4095, 'x'));
  wanted[0].message = std::string(4094, 'x') + "é";
  EXPECT_EQ(UpdateConditions({}, wanted, 1, "")[0].message, wanted[0].message);
}

TEST(FindCondition, FindsByType) {
  const auto conditions = UpdateConditions({}, kWanted, 4, "");
  EXPECT_EQ(FindCondition(conditions, "Resizing"), &conditions[1]);
  EXPECT_EQ(FindCondition(conditions, "Sized"), nullptr);
}

}  // namespace
}  // namespace podcache::control
