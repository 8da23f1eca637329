#include "ir/nearest_word.h"

#include <algorithm>
#include <utility>

namespace lento {

namespace {

constexpr std::size_t kLongest = 64;  // longer words are not misspelt, they are something else

/// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::size_t rows[3][kLongest + 1];
  auto* before_last = rows[0];
  auto* last = rows[1];
  auto* row = rows[2];
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    auto* reused = before_last;
    before_last = last;
    last = row;
    row = reused;
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& candidates) {
  std::string_view nearest;
  if (word.size() > kLongest) return nearest;
  // Up to one error in three letters; of equally near words the one of equal length: a swap is the commoner slip.
  using Rank = std::pair<std::size_t, std::size_t>;
  Rank least{std::max<std::size_t>(word.size() / 3, 1) + 1, 0};
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const std::size_t longer = std::max(candidate.size(), word.size()) - std::min(candidate.size(), word.size());
    const Rank rank{distance(word, candidate), longer};
    if (rank < least) {
      least = rank;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string_view nearest = nearest_word(word, candidates);
  return nearest.empty() ? "" : " (did you mean '" + std::string(nearest) + "'?)";
}

}  // namespace lento
