#include "common/status/status.h"

#include <gtest/gtest.h>

#include <memory>

namespace podcache {
namespace {

TEST(StatusTest, ContextComesFirstAndKeepsTheCode) {
  const absl::Status status = WithContext(NotFound("no such pod"), "resize shop/web-0");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(MessageOf(status), "resize shop/web-0: no such pod");
  EXPECT_EQ(ToString(status), "NOT_FOUND: resize shop/web-0: no such pod");
}

TEST(StatusTest, ContextLeavesOkAlone) {
  EXPECT_TRUE(WithContext(absl::OkStatus(), "anything").ok());
}

TEST(StatusTest, ViewsConvertWithEmbeddedZeroBytes) {
  const std::string_view text("a\0b", 3);
  EXPECT_EQ(ToStd(ToAbsl(text)), text);
}

absl::StatusOr<std::unique_ptr<int>> Make(bool good) {
  if (!good) return Unavailable("not now");
  return std::make_unique<int>(7);
}

absl::StatusOr<int> Twice(bool good) {
  PODCACHE_ASSIGN_OR_RETURN(const std::unique_ptr<int> first, Make(true));
  PODCACHE_ASSIGN_OR_RETURN(const std::unique_ptr<int> second, Make(good));
  return *first + *second;
}

absl::Status Check(bool good) {
  PODCACHE_RETURN_IF_ERROR(Twice(good).status());
  return absl::OkStatus();
}

TEST(StatusTest, MacrosPassValuesAndErrorsOn) {
  EXPECT_EQ(*Twice(true), 14);
  EXPECT_EQ(Twice(false).status(), Unavailable("not now"));
  EXPECT_TRUE(Check(true).ok());
  EXPECT_EQ(Check(false), Unavailable("not now"));
}

}  // namespace
}  // namespace podcache
