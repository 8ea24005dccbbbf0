// Mutates whole commands: inserts, removes, repeats and swaps lines, so that inputs stay
// conversations. Half of the time libFuzzer's own mutations are used.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using Random = std::minstd_rand;

constexpr std::array<std::string_view, 39> kCommands = {"get a\r\n",
                                                        "get a b c a b\r\n",
                                                        "gets a b\r\n",
                                                        "gat 1 a\r\n",
                                                        "gats 0 b c\r\n",
                                                        "set a 1 0 3\r\nabc\r\n",
                                                        "set b 0 0 1\r\n5\r\n",
                                                        "set c 0 0 0 noreply\r\n\r\n",
                                                        "add a 0 5 2\r\nxy\r\n",
                                                        "replace b 9 0 2\r\n10\r\n",
                                                        "append a 0 0 2\r\nzz\r\n",
                                                        "prepend b 0 0 1\r\n1\r\n",
                                                        "cas a 0 0 1 1\r\nq\r\n",
                                                        "incr b 7\r\n",
                                                        "decr b 100\r\n",
                                                        "delete a\r\n",
                                                        "touch b 0 noreply\r\n",
                                                        "flush_all\r\n",
                                                        "verbosity 1\r\n",
                                                        "version\r\n",
                                                        "mg a v k Oq\r\n",
                                                        "mg a s t c f h l u\r\n",
                                                        "mg b N30 R60 T90 v\r\n",
                                                        "mg c q k v\r\n",
                                                        "mg YQ== b k v c\r\n",
                                                        "ms a 3 T30 F5 c s\r\nabc\r\n",
                                                        "ms b 1 MA N0 k\r\n7\r\n",
                                                        "ms c 2 ME q I\r\nhi\r\n",
                                                        "ms a 1 C1 I E9\r\nx\r\n",
                                                        "md a I T30\r\n",
                                                        "md b x E7\r\n",
                                                        "md c q k O1\r\n",
                                                        "md a C5\r\n",
                                                        "ma b N0 J5 v t c\r\n",
                                                        "ma b MD D3 q\r\n",
                                                        "ma c T30 E8\r\n",
                                                        "me a\r\n",
                                                        "mn\r\n",
                                                        "mg a C9 v\r\n"};

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::size_t size = newline == std::string_view::npos ? text.size() : newline + 1;
    lines.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

void MutateLines(std::vector<std::string>& lines, Random& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::ptrdiff_t>(random() % n); };
  const std::ptrdiff_t at = below(lines.size() + 1);
  if (lines.empty() || random() % 3 == 0) {
    lines.emplace(lines.begin() + at, kCommands[random() % kCommands.size()]);
    return;
  }
  const std::ptrdiff_t one = below(lines.size());
  const std::ptrdiff_t other = below(lines.size());
  switch (random() % 3) {
    case 0:
      lines.erase(lines.begin() + one);
      break;
    case 1:
      lines.insert(lines.begin() + at, std::string(lines[static_cast<std::size_t>(one)]));
      break;
    default:
      std::iter_swap(lines.begin() + one, lines.begin() + other);
      break;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  Random random(seed + 1);
  if (size == 0 || random() % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<std::string> lines = Lines({reinterpret_cast<const char*>(data), size});
  MutateLines(lines, random);
  std::string text;
  for (const std::string& line : lines) text += line;
  const std::size_t n = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), n);
  return n;
}
