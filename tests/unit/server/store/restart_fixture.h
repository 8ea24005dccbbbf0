// A store with a memory file that a test can end gracefully or not, and begin again.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "tests/unit/server/store/store_fixture.h"

namespace podcache::store {

class RestartTest : public StoreTest {
 protected:
  void SetUp() override {
    std::string pattern = MemoryFolder() + "/podcache-restart-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    file_ = folder_ + "/items";
    meta_ = file_ + ".meta";
    options_ = SmallOptions();
    options_.memory_file = file_;
    Begin();
  }
  void TearDown() override {
    Kill();
    std::filesystem::remove_all(folder_);
  }

  void Begin() { Open(options_); }
  // As a process that is killed.
  void Kill() {
    client_.reset();
    store_.reset();
  }
  void Stop() {
    client_.reset();
    std::string error;
    EXPECT_TRUE(store_->Save(error)) << error;
    store_.reset();
  }
  void Restart() {
    Stop();
    Begin();
  }
  bool warm() const { return store_->restart_report().warm; }
  const std::string& reason() const { return store_->restart_report().cold_reason; }
  // Begins, and expects to be told this reason to begin empty.
  void ExpectCold(const std::string& part_of_reason) {
    Begin();
    EXPECT_FALSE(warm());
    EXPECT_NE(reason().find(part_of_reason), std::string::npos) << reason();
    EXPECT_EQ(store_->stats().items, 0u);
    EXPECT_EQ(client().Set("k", "v"), StoreStatus::kStored);
    EXPECT_EQ(client().Get("k"), "v");
  }
  void ExpectRefused(const std::string& part_of_reason) {
    Kill();
    try {
      const Store store(options_, clock_);
      ADD_FAILURE() << "it was not refused";
    } catch (const UnusableMemoryFile& failure) {
      EXPECT_NE(std::string(failure.what()).find(part_of_reason), std::string::npos)
          << failure.what();
    }
  }

  static std::string MemoryFolder() {
    return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ::testing::TempDir();
  }
  static std::string ReadFile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void WriteFile(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  // What the file really takes.
  std::uint64_t FileMemory() const {
    struct stat status {};
    return ::stat(file_.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512
                                               : 0;
  }

  std::string folder_;
  std::string file_;
  std::string meta_;
  StoreOptions options_;
};

}  // namespace podcache::store
