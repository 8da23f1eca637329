// The nearest right word to a wrong one.
#include <algorithm>
#include <cctype>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diagnostics.h"

namespace lento::opgen {

namespace {

/// Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours count one each; a
/// replacement that only changes case counts nothing.
std::size_t distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view given, const std::vector<std::string>& words) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, given.size() / 3) + 1;
  for (const std::string& word : words) {
    const std::size_t d = distance(given, word);
    // Of two equally near words the one of the same length wins: letters are swapped more often than lost.
    const bool better = d < best_distance || (d == best_distance && !best.empty() && best.size() != given.size() &&
                                              word.size() == given.size());
    if (better) {
      best = word;
      best_distance = d;
    }
  }
  return best;
}

std::string suggestion(std::string_view given, const std::vector<std::string>& words) {
  const std::string near = nearest(given, words);
  if (!near.empty()) return fmt::format("; did you mean '{}'?", near);
  if (!words.empty() && words.size() <= 16) return fmt::format("; known are {}", fmt::join(words, ", "));
  return "";
}

}  // namespace lento::opgen
