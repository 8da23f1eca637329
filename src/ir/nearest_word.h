// The word somebody probably meant.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lento {

/// The candidate with the fewest typing errors from `word`, or "" when none is close.
std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& candidates);

/// " (did you mean 'multiply'?)", or "" when no candidate is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace lento
