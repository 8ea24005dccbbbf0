#include "server/command/key_dump.h"

#include "server/protocol/dump_lines.h"
#include "server/protocol/encoders.h"

namespace podcache::command {

namespace {

class KeyDump final : public LongReply, private store::ItemVisitor {
 public:
  KeyDump(store::Store& store, KeyDumpForm form, bool any)
      : store_(store), form_(form), more_(any) {}

  bool Continue(OutputBuffer& output) override {
    if (!begun_) protocol::AppendReply(protocol::Reply::kOk, output);
    begun_ = true;
    output_ = &output;
    if (more_) more_ = store_.Scan(cursor_, *this);
    if (more_) return true;
    protocol::AppendReply(
        form_ == KeyDumpForm::kMetadump ? protocol::Reply::kEnd : protocol::Reply::kMetaMiss,
        output);
    return false;
  }

 private:
  bool wants_cas() const noexcept override { return form_ == KeyDumpForm::kMetadump; }

  void Visit(const store::ItemView& item) override {
    if (form_ == KeyDumpForm::kMgdump) return protocol::AppendMgdumpLine(item.key, *output_);
    protocol::MetadumpLine line;
    line.key = item.key;
    line.exptime = item.exptime == store::kNeverExpires ? -1 : item.exptime;
    line.last_access = item.last_access_seconds;
    line.cas = item.cas;
    line.fetched = item.fetched;
    line.size = item.item_bytes;
    line.client_flags = item.client_flags;
    protocol::AppendMetadumpLine(line, *output_);
  }

  store::Store& store_;
  const KeyDumpForm form_;
  store::ScanCursor cursor_;
  bool more_;
  bool begun_ = false;
  OutputBuffer* output_ = nullptr;  // During Continue.
};

}  // namespace

std::unique_ptr<LongReply> NewKeyDump(store::Store& store, KeyDumpForm form, bool any) {
  return std::make_unique<KeyDump>(store, form, any);
}

}  // namespace podcache::command
