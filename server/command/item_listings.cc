#include "server/command/item_listings.h"

#include <limits>
#include <map>
#include <string>

namespace podcache::command {

namespace {

constexpr std::size_t kMaxCachedumpBytes = std::size_t{2} << 20;
constexpr std::uint64_t kSizeStepBytes = 32;
// Lines of the listing of sizes written at once.
constexpr int kSizesPerStep = 256;

class Cachedump final : public LongReply, private store::ItemVisitor {
 public:
  Cachedump(store::Store& store, const protocol::StatForm& form, std::uint32_t items, bool any)
      : store_(store),
        form_(form),
        items_left_(items != 0 ? items : std::numeric_limits<std::uint32_t>::max()),
        more_(any) {}

  bool Continue(OutputBuffer& output) override {
    output_ = &output;
    more_ = more_ && items_left_ > 0 && store_.Scan(cursor_, *this);
    if (more_ && items_left_ > 0) return true;
    form_.AppendEnd(output);
    return false;
  }

 private:
  void Visit(const store::ItemView& item) override {
    if (items_left_ == 0) return;
    const std::size_t before = output_->pending_bytes();
    const OutputBuffer::Mark mark = output_->GetMark();
    form_.AppendItem(item.key, item.value_bytes, item.exptime, *output_);
    const std::size_t line = output_->pending_bytes() - before;
    if (bytes_ + line > kMaxCachedumpBytes) {
      output_->Rewind(mark);
      items_left_ = 0;
      return;
    }
    bytes_ += line;
    --items_left_;
  }

  store::Store& store_;
  const protocol::StatForm form_;
  store::ScanCursor cursor_;
  std::uint32_t items_left_;
  std::size_t bytes_ = 0;
  bool more_;
  OutputBuffer* output_ = nullptr;  // During Continue.
};

class SizesListing final : public LongReply, private store::ItemVisitor {
 public:
  SizesListing(store::Store& store, const protocol::StatForm& form) : store_(store), form_(form) {}

  bool Continue(OutputBuffer& output) override {
    if (counting_) {
      counting_ = store_.Scan(cursor_, *this);
      return true;
    }
    for (int i = 0; i < kSizesPerStep && !counts_.empty(); ++i) {
      const auto first = counts_.begin();
      form_.Append(std::to_string(first->first * kSizeStepBytes), first->second, output);
      counts_.erase(first);
    }
    if (!counts_.empty()) return true;
    form_.AppendEnd(output);
    return false;
  }

 private:
  void Visit(const store::ItemView& item) override {
    ++counts_[(item.item_bytes + kSizeStepBytes - 1) / kSizeStepBytes];
  }

  store::Store& store_;
  const protocol::StatForm form_;
  store::ScanCursor cursor_;
  bool counting_ = true;
  std::map<std::uint64_t, std::uint64_t> counts_;  // By size in steps.
};

}  // namespace

std::unique_ptr<LongReply> NewCachedump(store::Store& store, const protocol::StatForm& form,
                                        std::uint32_t items, bool any) {
  return std::make_unique<Cachedump>(store, form, items, any);
}

std::unique_ptr<LongReply> NewSizesListing(store::Store& store, const protocol::StatForm& form) {
  return std::make_unique<SizesListing>(store, form);
}

}  // namespace podcache::command
