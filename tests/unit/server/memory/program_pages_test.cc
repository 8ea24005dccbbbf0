#include "server/memory/program_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace podcache::memory {
namespace {

// Pages of files, in KiB, as the kernel counts them for this process.
std::uint64_t ResidentFileKib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "RssFile:" && status >> kib) return kib;
  }
  return 0;
}

TEST(ProgramPagesTest, WhatIsNotInUseIsLetGo) {
  const std::uint64_t before = ResidentFileKib();
  ASSERT_GT(before, 1000U);
  ReleaseProgramPages();
  EXPECT_LT(ResidentFileKib(), before * 3 / 4);
}

TEST(ProgramPagesTest, EverythingWorksAsBefore) {
  for (int i = 0; i < 10; ++i) {
    ReleaseProgramPages();
    std::ostringstream text;
    text << std::hex << 255 << ' ' << 0.5;
    EXPECT_EQ(text.str(), "ff 0.5");
    EXPECT_THROW(std::stoi("x"), std::invalid_argument);
  }
}

}  // namespace
}  // namespace podcache::memory
