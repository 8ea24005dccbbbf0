#include "server/store/item.h"

#include <gtest/gtest.h>

#include <vector>

namespace podcache::store {
namespace {

class ItemTest : public ::testing::Test {
 protected:
  Record At() { return Record(reinterpret_cast<char*>(words_.data())); }
  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(kMaxItemRecordBytes / 8 + 64);
};

TEST_F(ItemTest, SmallestItemCostsEightBytes) {
  ItemFields fields;
  fields.key = "01234567890123456789";
  fields.value_bytes = 28;
  EXPECT_EQ(RecordBytes(fields), 8u + 20 + 28);
  fields.value_bytes = 29;
  EXPECT_EQ(RecordBytes(fields), 8u + 20 + 36);
}

TEST_F(ItemTest, EveryLayoutReadsBackWhatWasWritten) {
  for (int bits = 0; bits < 16; ++bits) {
    ItemFields fields;
    const std::string key(bits % 2 == 0 ? 1 : kMaxKeyBytes, 'k');
    fields.key = key;
    fields.exptime = (bits & 1) != 0 ? 4'000'000'000 : 0;
    fields.client_flags = (bits & 2) != 0 ? 0xfffffffe : 0;
    fields.explicit_cas = (bits & 4) != 0 ? 0xfedcba9876543210 : 0;
    fields.kind = (bits & 8) != 0 ? RecordKind::kLarge : RecordKind::kItem;
    fields.value_bytes = fields.kind == RecordKind::kLarge ? std::uint64_t{1} << 34 : 15'000;
    fields.pieces = fields.kind == RecordKind::kLarge ? 3 : 0;
    fields.state_bits = header::kFetched;
    fields.access = 0xfffff;
    Record record = At();
    record.WriteItemHead(fields);
    const std::uint64_t h = record.Header();
    EXPECT_EQ(record.kind(), fields.kind);
    EXPECT_EQ(record.bytes(), RecordBytes(fields));
    EXPECT_EQ(record.Key(h), key);
    EXPECT_EQ(record.Exptime(h), fields.exptime);
    EXPECT_EQ(record.ClientFlags(h), fields.client_flags);
    EXPECT_EQ(record.ExplicitCas(h), fields.explicit_cas);
    EXPECT_EQ(record.ValueBytes(h), fields.value_bytes);
    EXPECT_EQ(Record::AccessOf(h), 0xfffffu);
    EXPECT_EQ(h & (header::kFetched | header::kObserved), header::kFetched);
    if (fields.kind == RecordKind::kLarge) {
      EXPECT_EQ(Record::PieceCount(h), 3u);
      for (std::uint32_t i = 0; i < 3; ++i)
        record.SetPiece(h, i, {(Location{1} << kLocationBits) - 1 - i, (1U << 24) - 1 - i});
      EXPECT_EQ(record.Piece(h, 1).location, (Location{1} << kLocationBits) - 2);
      EXPECT_EQ(record.Piece(h, 1).bytes, (1U << 24) - 2);
      EXPECT_EQ(record.Key(h), key);
    }
    const ItemFields copy = record.Fields(h);
    EXPECT_EQ(RecordBytes(copy), RecordBytes(fields));
    EXPECT_EQ(copy.LayoutBits(), fields.LayoutBits());
  }
}

TEST_F(ItemTest, ChangingOnePartOfTheHeaderLeavesTheOthers) {
  ItemFields fields;
  fields.key = "key";
  fields.value_bytes = 100;
  fields.access = 5;
  Record record = At();
  record.WriteItemHead(fields);
  const std::uint64_t h =
      Record::WithAccess(Record::WithValueBytes(record.Header(), 77), 1 << 20 | 9);
  EXPECT_EQ(record.ValueBytes(h), 77u);
  EXPECT_EQ(Record::AccessOf(h), 9u);
  EXPECT_EQ(Record::BytesOf(h), record.bytes());
  EXPECT_EQ(Record::KeyBytesOf(h), 3u);
}

TEST_F(ItemTest, PaddingAndPieces) {
  Record record = At();
  record.WritePadding(2 << 20);
  EXPECT_EQ(record.kind(), RecordKind::kPadding);
  EXPECT_EQ(record.bytes(), 2u << 20);
  record.WritePieceHeader(1 << 20, 42);
  EXPECT_EQ(record.kind(), RecordKind::kPiece);
  EXPECT_EQ(record.bytes(), 1u << 20);
  EXPECT_EQ(record.PieceHash(), 42u);
}

}  // namespace
}  // namespace podcache::store
