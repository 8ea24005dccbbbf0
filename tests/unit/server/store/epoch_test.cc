#include "server/store/epoch.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace podcache::store {
namespace {

TEST(EpochTest, WithoutReadersEverythingIsOutOfUseAtOnce) {
  Epochs epochs;
  EXPECT_TRUE(epochs.HasPassed(epochs.Retire()));
  epochs.WaitForReaders();
}

TEST(EpochTest, AReaderOutsideHoldsNothing) {
  Epochs epochs;
  Epochs::Reader reader(epochs);
  EXPECT_TRUE(epochs.HasPassed(epochs.Retire()));
  { const ReadSection section(reader); }
  EXPECT_TRUE(epochs.HasPassed(epochs.Retire()));
  epochs.WaitForReaders();
}

TEST(EpochTest, WhatWasRetiredWhileAReaderIsInsideWaitsForIt) {
  Epochs epochs;
  Epochs::Reader reader(epochs);
  Epochs::Reader other(epochs);
  const Epochs::Stamp before = epochs.Retire();
  ReadSection section(reader);
  const Epochs::Stamp during = epochs.Retire();
  // Its pointers are newer than what was retired before.
  EXPECT_TRUE(epochs.HasPassed(before));
  EXPECT_FALSE(epochs.HasPassed(during));
  {
    // Another that came later changes nothing.
    const ReadSection later(other);
    EXPECT_FALSE(epochs.HasPassed(during));
    section.Leave();
    EXPECT_TRUE(epochs.HasPassed(during));
  }
  section.Enter();
  EXPECT_TRUE(epochs.HasPassed(during));
  EXPECT_FALSE(epochs.HasPassed(epochs.Retire()));
}

TEST(EpochTest, AReaderThatIsGoneHoldsNothing) {
  Epochs epochs;
  auto reader = std::make_unique<Epochs::Reader>(epochs);
  { const ReadSection section(*reader); }
  const Epochs::Stamp stamp = epochs.Retire();
  reader.reset();
  EXPECT_TRUE(epochs.HasPassed(stamp));
}

// Threads follow a pointer to something that its owner replaces and wipes as soon as it may.
TEST(EpochTest, NothingIsReusedUnderAReader) {
  constexpr int kReaders = 3;
  constexpr int kRounds = 2000;
  struct Thing {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
  };
  Epochs epochs;
  Thing things[2];
  std::atomic<Thing*> current{&things[0]};
  std::atomic<bool> done{false};
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kReaders; ++i) {
    threads.emplace_back([&] {
      Epochs::Reader reader(epochs);
      while (!done.load()) {
        const ReadSection section(reader);
        const Thing* const thing = current.load();
        if (thing->a != thing->b) ++bad;
      }
    });
  }
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    // Plain writes: ThreadSanitizer sees whether readers may still be there.
    Thing& next = things[round % 2];
    next.a = round;
    next.b = round;
    current.store(&next);
    epochs.WaitForReaders();
    things[(round + 1) % 2] = {round, ~round};
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bad.load(), 0);
}

}  // namespace
}  // namespace podcache::store
