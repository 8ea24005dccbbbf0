// Nothing that is in doubt is believed, and nothing that may be somebody else's is touched.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "server/store/restart_format.h"
#include "server/store/state_file.h"
#include "tests/unit/server/store/restart_fixture.h"

namespace podcache::store {
namespace {

class RestartDoubtTest : public RestartTest {
 protected:
  void SetUp() override {
    RestartTest::SetUp();
    for (int i = 0; i < 50; ++i) client().Set("key-" + std::to_string(i), std::string(300, 'v'));
    Stop();
  }
  // Changes a field of the header as somebody would who writes correct files.
  template <class Change>
  void ChangeHeader(const Change& change) {
    std::string bytes = ReadFile(meta_);
    StateHeader header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    change(header);
    header.header_checksum = 0;
    header.header_checksum = ChecksumOf(&header, sizeof header);
    std::memcpy(bytes.data(), &header, sizeof header);
    WriteFile(meta_, bytes);
  }
};

TEST_F(RestartDoubtTest, UnchangedItIsWarm) {
  Begin();
  EXPECT_TRUE(warm()) << reason();
  EXPECT_EQ(store().stats().items, 50u);
}

TEST_F(RestartDoubtTest, AKilledProcessLeavesNothing) {
  Begin();
  ASSERT_TRUE(warm());
  Kill();
  ExpectCold("did not end gracefully");
}

TEST_F(RestartDoubtTest, AnOldStatePutBackIsNotBelieved) {
  const std::string old = ReadFile(meta_);
  Begin();
  client().Set("key-1", "new");
  Kill();
  WriteFile(meta_, old);
  ExpectCold("has changed");
}

TEST_F(RestartDoubtTest, KilledWhileSaving) {
  const std::string complete = ReadFile(meta_);
  ASSERT_EQ(::rename(meta_.c_str(), (meta_ + ".new").c_str()), 0);
  ExpectCold("did not end gracefully");
  Stop();
  EXPECT_FALSE(std::filesystem::exists(meta_ + ".new"));
}

TEST_F(RestartDoubtTest, TheMemoryFileIsMissing) {
  std::filesystem::remove(file_);
  ExpectCold("has changed");
}

TEST_F(RestartDoubtTest, TheMemoryFileIsCutShort) {
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) - 4096);
  ExpectCold("size");
}

TEST_F(RestartDoubtTest, TheMemoryFileIsLonger) {
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) + 4096);
  ExpectCold("size");
}

TEST_F(RestartDoubtTest, TheMemoryFileHasBecomeEmpty) {
  std::filesystem::resize_file(file_, 0);
  ExpectCold("has changed");
}

TEST_F(RestartDoubtTest, EveryFlippedByteOfAnItemIsNoticed) {
  const std::string meta = ReadFile(meta_);
  const std::string items = ReadFile(file_);
  const std::size_t first = items.find(std::string(300, 'v'));
  ASSERT_NE(first, std::string::npos);
  std::mt19937 random(1);
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    std::string changed = items;
    // Some before the value, in keys and headers; the others all over its segment.
    const std::size_t at =
        i < 20 ? first - 1 - static_cast<std::size_t>(i % 12) : first + random() % (8000);
    changed[at] = static_cast<char>(changed[at] ^ (1 << (i % 8)));
    Kill();
    WriteFile(file_, changed);
    WriteFile(meta_, meta);
    ExpectCold("checksum of a segment");
  }
}

TEST_F(RestartDoubtTest, EveryLengthOfTheStateIsNoticed) {
  const auto expect_doubtful = [&](std::size_t length) {
    std::filesystem::resize_file(meta_, length);
    std::string reason;
    ASSERT_EQ(StateReader(meta_, reason).kind(), StateKind::kDoubtful) << length;
    ASSERT_NE(reason, "");
  };
  const std::size_t whole = std::filesystem::file_size(meta_);
  expect_doubtful(whole + 1);
  for (std::size_t length = whole; length-- > 1;) ASSERT_NO_FATAL_FAILURE(expect_doubtful(length));
}

TEST_F(RestartDoubtTest, EveryFlippedByteOfTheStateIsNoticed) {
  const std::string whole = ReadFile(meta_);
  std::fstream file(meta_, std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&](std::size_t at, char byte) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
    file.flush();
  };
  for (std::size_t at = 0; at < whole.size(); ++at) {
    put(at, static_cast<char>(whole[at] ^ (1 << (at % 8))));
    std::string reason;
    const StateKind wanted =
        at < sizeof(StateHeader::magic) ? StateKind::kForeign : StateKind::kDoubtful;
    ASSERT_EQ(StateReader(meta_, reason).kind(), wanted) << at;
    ASSERT_NE(reason, "");
    put(at, whole[at]);
  }
  std::string reason;
  EXPECT_EQ(StateReader(meta_, reason).kind(), StateKind::kGood) << reason;
}

TEST_F(RestartDoubtTest, StatesThatAreCutShortBeginEmpty) {
  const std::string whole = ReadFile(meta_);
  const std::string items = ReadFile(file_);
  for (const std::size_t length : {std::size_t{1}, std::size_t{7}, sizeof(StateHeader) - 1,
                                   sizeof(StateHeader), whole.size() / 2, whole.size() - 1}) {
    SCOPED_TRACE(length);
    Kill();
    WriteFile(file_, items);
    WriteFile(meta_, whole.substr(0, length));
    ExpectCold(meta_);
  }
}

TEST_F(RestartDoubtTest, AnotherVersion) {
  ChangeHeader([](StateHeader& header) { ++header.version; });
  ExpectCold("another version");
}

TEST_F(RestartDoubtTest, AnotherByteOrder) {
  ChangeHeader([](StateHeader& header) { header.byte_order = __builtin_bswap32(kByteOrder); });
  ExpectCold("byte order");
}

TEST_F(RestartDoubtTest, AnotherMachine) {
  ChangeHeader([](StateHeader& header) { std::memcpy(header.machine, "vax", 4); });
  ExpectCold("another kind of machine");
}

TEST_F(RestartDoubtTest, AnotherPageSize) {
  ChangeHeader([](StateHeader& header) { header.page_bytes *= 4; });
  ExpectCold("another kind of machine");
}

TEST_F(RestartDoubtTest, AnotherHash) {
  ChangeHeader([](StateHeader& header) { ++header.hash_probe; });
  ExpectCold("hashed in another way");
}

TEST_F(RestartDoubtTest, AnotherSeed) {
  options_.hash_seed = 2;
  ExpectCold("another seed");
}

TEST_F(RestartDoubtTest, AClockThatWasSetBack) {
  ChangeHeader([](StateHeader& header) { header.saved_unix_seconds += 1; });
  ExpectCold("clock");
}

// Files that are right in themselves and yet make no sense.
TEST_F(RestartDoubtTest, Contradictions) {
  const std::string whole = ReadFile(meta_);
  const std::string items = ReadFile(file_);
  const auto expect_cold = [&](const char* what, auto change) {
    SCOPED_TRACE(what);
    Kill();
    WriteFile(file_, items);
    WriteFile(meta_, whole);
    ChangeHeader(change);
    ExpectCold("contradicts itself");
  };
  expect_cold("no segment size", [](StateHeader& header) { header.segment_bytes = 0; });
  expect_cold("odd segment size", [](StateHeader& header) { header.segment_bytes -= 8; });
  expect_cold("huge segments", [](StateHeader& header) { header.segment_bytes <<= 40; });
  expect_cold("no partitions", [](StateHeader& header) { header.partitions = 0; });
  expect_cold("many partitions", [](StateHeader& header) { header.partitions <<= 30; });
  expect_cold("fewer partitions", [](StateHeader& header) { header.partitions /= 2; });
  expect_cold("no segments", [](StateHeader& header) { header.segments = 0; });
  expect_cold("many segments", [](StateHeader& header) { header.segments = UINT32_MAX; });
  expect_cold("many ids", [](StateHeader& header) { header.used_id_limit = UINT32_MAX; });
  expect_cold("few ids", [](StateHeader& header) { header.used_id_limit = 1; });
}

class ForeignFileTest : public RestartDoubtTest {
 protected:
  // The start is refused, and every file is as it was.
  void ExpectLeftAlone(const std::string& part_of_reason) {
    const std::string items = ReadFile(file_);
    const std::string meta = ReadFile(meta_);
    ExpectRefused(part_of_reason);
    EXPECT_EQ(ReadFile(file_), items);
    EXPECT_EQ(ReadFile(meta_), meta);
    EXPECT_FALSE(std::filesystem::exists(meta_ + ".new"));
  }
};

TEST_F(ForeignFileTest, SomebodyElsesFile) {
  WriteFile(file_, "127.0.0.1 localhost\n");
  ExpectLeftAlone("not a memory file");
  WriteFile(file_, "x");
  ExpectLeftAlone("not a memory file");
}

TEST_F(ForeignFileTest, SomebodyElsesState) {
  WriteFile(meta_, "x");
  ExpectLeftAlone("not a state file");
}

// As memcached does.
TEST_F(ForeignFileTest, AnEmptyState) {
  WriteFile(meta_, "");
  ExpectLeftAlone("is empty");
}

TEST_F(ForeignFileTest, KilledBeforeTheFirstByteOfTheState) {
  std::filesystem::remove(meta_);
  WriteFile(meta_ + ".new", "");
  ExpectCold("did not end gracefully");
}

TEST_F(ForeignFileTest, SomebodyElsesNewState) {
  WriteFile(meta_ + ".new", "their text");
  ExpectRefused("not a state file");
  EXPECT_EQ(ReadFile(meta_ + ".new"), "their text");
}

TEST_F(ForeignFileTest, NotARegularFile) {
  std::filesystem::remove(file_);
  std::filesystem::create_directory(file_);
  ExpectRefused(file_);
  std::filesystem::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  ExpectRefused("not a regular file");
}

TEST_F(ForeignFileTest, AStateThatIsNotARegularFile) {
  std::filesystem::remove(meta_);
  std::filesystem::create_directory(meta_);
  ExpectRefused("not a regular file");
  std::filesystem::remove(meta_);
  ASSERT_EQ(::mkfifo(meta_.c_str(), 0600), 0);
  ExpectRefused("not a regular file");
}

TEST_F(ForeignFileTest, AFolderThatIsNotThere) {
  options_.memory_file = folder_ + "/nowhere/items";
  ExpectRefused("cannot open");
}

TEST_F(ForeignFileTest, AFileThatAnotherProcessUses) {
  Begin();
  ASSERT_TRUE(warm());
  EXPECT_THROW(Store(options_, clock_), UnusableMemoryFile);
  EXPECT_EQ(client().Get("key-1"), std::string(300, 'v'));
  Restart();
  EXPECT_TRUE(warm());
}

TEST_F(ForeignFileTest, AnEmptyFileIsTaken) {
  std::filesystem::remove(file_);
  std::filesystem::remove(meta_);
  WriteFile(file_, "");
  Begin();
  EXPECT_EQ(reason(), "");
  client().Set("k", "v");
  Restart();
  EXPECT_TRUE(warm());
  EXPECT_EQ(client().Get("k"), "v");
}

TEST_F(RestartDoubtTest, WhatIsStillReadCannotBeSaved) {
  Begin();
  client().Set("large", std::string(200'000, 'x'));
  StringSink sink;
  ASSERT_TRUE(client().Read("large", {}, sink));
  ASSERT_NE(sink[0].pin, nullptr);
  client_.reset();
  std::string error;
  EXPECT_FALSE(store_->Save(error));
  EXPECT_NE(error, "");
  sink[0].pin.reset();
  Kill();
  ExpectCold("did not end gracefully");
}

// With everything that runs in the background, and many threads that write until shortly before.
TEST_F(RestartDoubtTest, AfterThreadsHaveWritten) {
  options_.background_maintenance = true;
  Begin();
  for (int round = 0; round < 3; ++round) {
    client_.reset();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Client mine(store());
        for (int i = 0; i < 3000; ++i) {
          const std::string key = std::to_string(t) + "-" + std::to_string(i);
          ASSERT_EQ(mine.Set(key, key + std::string(i % 1000, 'x')), StoreStatus::kStored);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    client_ = std::make_unique<Client>(store());
    Restart();
    ASSERT_TRUE(warm()) << reason();
    for (int t = 0; t < 4; ++t) {
      const std::string key = std::to_string(t) + "-2999";
      EXPECT_TRUE(client().Get(key) == key + std::string(999, 'x'));
    }
  }
}

}  // namespace
}  // namespace podcache::store
