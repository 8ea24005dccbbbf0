// The protocol of reading without locks, tried in every order of its steps: one reader against
// writers that overwrite in place, move an item, delete it and replace the index array, each of
// which takes back what it has made unreachable as soon as the protocol allows.
//
// A model: sequentially consistent, one key, values of two words. It shows that the order of steps
// is right, and that leaving out any part of it is noticed. That the code follows it, and memory
// orders, are for ThreadSanitizer and the torture test.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <vector>

namespace podcache::store {
namespace {

constexpr int kNone = -1;
constexpr int kGarbage = 99;
constexpr int kMaxTries = 2;

// What is left out.
enum class Flaw { kNothing, kNoValidation, kNoWaiting, kSameVersion, kRetiredTooEarly };

enum class Role { kOverwrite, kMove, kDelete, kReplaceArray };

struct State {
  int version = 0;
  int array = 0;                       // Which of two is in use.
  std::array<int, 2> slots{0, kNone};  // Of each array: the record of the key.
  std::array<bool, 2> array_freed{};
  std::array<std::array<int, 2>, 3> records{{{1, 1}}};  // Words of each; the first is there.
  std::array<bool, 3> record_freed{};
  int now = 1;     // Epoch.
  int inside = 0;  // The reader's.

  struct Reader {
    int step = 0;
    int tries = 0;
    int epoch = 0;
    int version = 0;
    int array = 0;
    int record = 0;
    std::array<int, 2> words{};
    // Values the key had since the lookup began, bit 0 for none.
    std::uint32_t acceptable = 0;
    auto operator<=>(const Reader&) const = default;
  } reader;

  struct Writer {
    int step = 0;
    int stamp = 0;
    int old = kNone;
    auto operator<=>(const Writer&) const = default;
  };
  std::array<Writer, 2> writers;
  auto operator<=>(const State&) const = default;

  int current() const { return slots[static_cast<std::size_t>(array)]; }
  std::uint32_t CurrentBit() const {
    return current() == kNone ? 1U : 1U << records[static_cast<std::size_t>(current())][0];
  }
};

class Explorer {
 public:
  Explorer(std::array<Role, 2> roles, Flaw flaw) : roles_(roles), flaw_(flaw) {}

  // Whether something went wrong in any order of steps.
  bool Fails() {
    Visit(State());
    return failed_;
  }
  std::size_t states() const { return seen_.size(); }

 private:
  void Visit(const State& first) {
    std::vector<State> open{first};
    while (!open.empty() && !failed_) {
      const State state = open.back();
      open.pop_back();
      if (!seen_.insert(state).second) continue;
      State next = state;
      if (StepReader(next)) open.push_back(next);
      for (std::size_t i = 0; i < roles_.size(); ++i) {
        next = state;
        if (StepWriter(next, i)) open.push_back(next);
      }
    }
  }

  // False: cannot go on.
  bool StepReader(State& s) {
    State::Reader& r = s.reader;
    switch (r.step++) {
      case 0:
        r.epoch = s.now;
        r.acceptable = s.CurrentBit();
        return true;
      case 1:
        s.inside = r.epoch;
        return true;
      case 2:
        r.version = s.version;
        if (r.version % 2 != 0) Again(s);
        return true;
      case 3:
        r.array = s.array;
        return true;
      case 4:
        failed_ |= s.array_freed[static_cast<std::size_t>(r.array)];
        r.record = s.slots[static_cast<std::size_t>(r.array)];
        if (r.record == kNone) r.step = 7;
        return true;
      case 5:
      case 6: {
        const auto record = static_cast<std::size_t>(r.record);
        failed_ |= s.record_freed[record];
        const auto word = static_cast<std::size_t>(r.step - 6);
        r.words[word] = s.records[record][word];
        return true;
      }
      case 7:
        if (flaw_ != Flaw::kNoValidation && s.version != r.version) {
          Again(s);
        } else if (r.record == kNone) {
          failed_ |= (r.acceptable & 1U) == 0;
        } else {
          failed_ |= r.words[0] != r.words[1] || r.words[0] == kGarbage ||
                     (r.acceptable >> r.words[0] & 1U) == 0;
        }
        return true;
      case 8:
        s.inside = 0;
        return true;
      default:
        return false;
    }
  }
  // The lock would be taken next: then there is nothing left to explore.
  static void Again(State& s) { s.reader.step = ++s.reader.tries < kMaxTries ? 2 : 8; }

  bool StepWriter(State& s, std::size_t i) {
    State::Writer& w = s.writers[i];
    const int value = static_cast<int>(i) + 2;
    const auto fresh = i + 1;
    switch (w.step++) {
      case 0:
        if (flaw_ == Flaw::kRetiredTooEarly) w.stamp = s.now++;
        return true;
      case 1:
        if (s.version % 2 != 0) return false;  // Waits for the lock.
        ++s.version;
        w.old = s.current();
        return true;
      case 2:
        return Change(s, i, value, fresh, 0);
      case 3:
        return Change(s, i, value, fresh, 1);
      case 4:
        return Change(s, i, value, fresh, 2);
      case 5:
        if (flaw_ == Flaw::kSameVersion) {
          --s.version;
        } else {
          ++s.version;
        }
        // From here on it counts.
        s.reader.acceptable |= s.CurrentBit();
        return true;
      case 6:
        if (flaw_ != Flaw::kRetiredTooEarly) w.stamp = s.now++;
        return true;
      case 7:
        if (flaw_ != Flaw::kNoWaiting && s.inside != 0 && s.inside <= w.stamp) return false;
        TakeBack(s, i);
        return true;
      default:
        return false;
    }
  }
  bool Change(State& s, std::size_t i, int value, std::size_t fresh, int part) {
    const State::Writer& w = s.writers[i];
    const auto array = static_cast<std::size_t>(s.array);
    switch (roles_[i]) {
      case Role::kOverwrite:
        if (w.old != kNone && part < 2)
          s.records[static_cast<std::size_t>(w.old)][static_cast<std::size_t>(part)] = value;
        return true;
      case Role::kMove:
        if (part < 2) {
          s.records[fresh][static_cast<std::size_t>(part)] = value;
        } else {
          s.slots[array] = static_cast<int>(fresh);
        }
        return true;
      case Role::kDelete:
        if (part == 0) s.slots[array] = kNone;
        return true;
      case Role::kReplaceArray:
        if (part == 0) s.slots[1 - array] = s.slots[array];
        if (part == 1) s.array = static_cast<int>(1 - array);
        return true;
    }
    return false;
  }
  void TakeBack(State& s, std::size_t i) {
    const State::Writer& w = s.writers[i];
    if (roles_[i] == Role::kReplaceArray) {
      s.array_freed[static_cast<std::size_t>(1 - s.array)] = true;
    } else if (roles_[i] != Role::kOverwrite && w.old != kNone) {
      const auto record = static_cast<std::size_t>(w.old);
      s.record_freed[record] = true;
      s.records[record] = {kGarbage, kGarbage};
    }
  }

  const std::array<Role, 2> roles_;
  const Flaw flaw_;
  bool failed_ = false;
  std::set<State> seen_;
};

constexpr Role kRoles[] = {Role::kOverwrite, Role::kMove, Role::kDelete, Role::kReplaceArray};

TEST(ReadProtocolModelTest, NoOrderOfStepsGoesWrong) {
  std::size_t states = 0;
  for (const Role one : kRoles) {
    for (const Role two : kRoles) {
      // There are only two arrays.
      if (one == Role::kReplaceArray && two == one) continue;
      Explorer explorer({one, two}, Flaw::kNothing);
      EXPECT_FALSE(explorer.Fails()) << static_cast<int>(one) << static_cast<int>(two);
      states += explorer.states();
    }
  }
  EXPECT_GT(states, 10'000u);
}

TEST(ReadProtocolModelTest, EveryPartOfItIsNeeded) {
  EXPECT_TRUE(Explorer({Role::kOverwrite, Role::kMove}, Flaw::kNoValidation).Fails());
  EXPECT_TRUE(Explorer({Role::kOverwrite, Role::kOverwrite}, Flaw::kSameVersion).Fails());
  for (const Role role : {Role::kMove, Role::kDelete, Role::kReplaceArray}) {
    EXPECT_TRUE(Explorer({role, Role::kOverwrite}, Flaw::kNoWaiting).Fails());
    EXPECT_TRUE(Explorer({role, Role::kOverwrite}, Flaw::kRetiredTooEarly).Fails());
  }
}

}  // namespace
}  // namespace podcache::store
