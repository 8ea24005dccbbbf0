#include "server/auth_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace podcache::server {
namespace {

namespace fs = std::filesystem;

std::string ParseError(std::string_view text) {
  std::vector<AuthPair> pairs;
  std::string error;
  return ParseAuthPairs(text, pairs, error) ? "" : error;
}

TEST(AuthPairsTest, OneALine) {
  std::vector<AuthPair> pairs;
  std::string error;
  ASSERT_TRUE(ParseAuthPairs("foo:bar\r\n\nu:p:q w\n:\nlast:one", pairs, error)) << error;
  ASSERT_EQ(pairs.size(), 4U);
  EXPECT_EQ(pairs[0].user, "foo");
  EXPECT_EQ(pairs[0].password, "bar");
  EXPECT_EQ(pairs[1].password, "p:q w");
  EXPECT_EQ(pairs[2].user, "");
  EXPECT_EQ(pairs[3].password, "one");
}

TEST(AuthPairsTest, BadLinesAreNamed) {
  EXPECT_EQ(ParseError("a:b\nnothing\n"), "line 2 is not user:password");
  EXPECT_EQ(ParseError("a b:c\n"),
            "line 1 has a space in the user's name, which no client could send");
  EXPECT_EQ(ParseError("u:" + std::string(16383, 'p')), "line 1 is longer than 16384 bytes");
  EXPECT_EQ(ParseError("u:" + std::string(16382, 'p')), "");
  EXPECT_EQ(ParseError(""), "there is no user:password in it");
  EXPECT_EQ(ParseError("\n\n"), "there is no user:password in it");
}

class AuthFileTest : public ::testing::Test {
 protected:
  AuthFileTest() {
    char name[] = "/tmp/podcache-auth-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~AuthFileTest() override { fs::remove_all(folder_); }
  void Write(const fs::path& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  fs::path folder_;
};

TEST_F(AuthFileTest, AcceptsItsPairsAndNothingElse) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "user" + std::to_string(i) + ":secret" + std::to_string(i) + "\n";
  }
  Write("users", text);
  AuthFile file(folder_ / "users");
  std::string error;
  ASSERT_TRUE(file.Load(error)) << error;
  EXPECT_TRUE(file.Accepts("user0", "secret0"));
  EXPECT_TRUE(file.Accepts("user999", "secret999"));
  EXPECT_FALSE(file.Accepts("user999", "secret998"));
  EXPECT_FALSE(file.Accepts("user1", "secret"));
  EXPECT_FALSE(file.Accepts("user1", ""));
  EXPECT_FALSE(file.Accepts("", ""));
  EXPECT_FALSE(file.Accepts("user1secret1", ""));
}

TEST_F(AuthFileTest, RefusesWhatIsNoFile) {
  std::string error;
  EXPECT_FALSE(AuthFile(folder_ / "none").Load(error));
  EXPECT_EQ(error, "-Y: " + (folder_ / "none").string() + ": No such file or directory");
  EXPECT_FALSE(AuthFile(folder_).Load(error));
  EXPECT_EQ(error, "-Y: " + folder_.string() + ": not a file");
}

TEST_F(AuthFileTest, ABadFileLeavesTheOldPairsInForce) {
  Write("users", "foo:bar\n");
  AuthFile file(folder_ / "users");
  std::string error;
  ASSERT_TRUE(file.Load(error));
  Write("users", "foo\n");
  file.ReloadIfChanged();
  EXPECT_TRUE(file.Accepts("foo", "bar"));
  fs::remove(folder_ / "users");
  file.ReloadIfChanged();
  EXPECT_TRUE(file.Accepts("foo", "bar"));
  Write("users", "foo:new\n");
  file.ReloadIfChanged();
  EXPECT_FALSE(file.Accepts("foo", "bar"));
  EXPECT_TRUE(file.Accepts("foo", "new"));
}

// As the kubelet does it: a link to a folder is turned to another folder.
TEST_F(AuthFileTest, NoticesThatAMountedSecretWasExchanged) {
  fs::create_directory(folder_ / "one");
  fs::create_directory(folder_ / "two");
  Write("one/users", "foo:bar\n");
  Write("two/users", "foo:baz\n");
  fs::create_symlink("one", folder_ / "data");
  fs::create_symlink("data/users", folder_ / "users");
  AuthFile file(folder_ / "users");
  std::string error;
  ASSERT_TRUE(file.Load(error)) << error;
  EXPECT_TRUE(file.Accepts("foo", "bar"));
  fs::create_symlink("two", folder_ / "data_tmp");
  fs::rename(folder_ / "data_tmp", folder_ / "data");
  file.ReloadIfChanged();
  EXPECT_TRUE(file.Accepts("foo", "baz"));
  EXPECT_FALSE(file.Accepts("foo", "bar"));
}

}  // namespace
}  // namespace podcache::server
