#include "layer_words.h"

#include <algorithm>

namespace lento::opgen {

const std::vector<LayerWord> kStarts = {
    {"zeros", 1, 1, "zeros(shape)"},
    {"ones", 1, 1, "ones(shape)"},
    {"full", 2, 2, "full(shape, value)"},
    {"normal", 1, 1, "normal(shape)"},
    {"normal_rows", 2, 2, "normal_rows(shape, row of zeros)"},
    {"fan_in", 2, 2, "fan_in(shape, inputs)"},
};

const std::vector<LayerWord> kChecks = {
    {"at_least", 2, 9, "at_least(number, argument, ...)"},
    {"even", 4, 4, "even(count, parts, \"channels\", \"groups\")"},
    {"probability", 1, 1, "probability(argument)"},
    {"row", 2, 2, "row(argument, rows)"},
};

const std::vector<LayerWord> kShapeFunctions = {{"prod", 1, 1, "prod(list)"}};

const std::vector<LayerWord> kForwardFunctions = {{"numbers", 1, 1, "numbers(padding)"},
                                                  {"word", 1, 1, "word(padding)"}};

const LayerWord* find_word(const std::vector<LayerWord>& words, const std::string& name) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const LayerWord& word) { return word.name == name; });
  return found == words.end() ? nullptr : &*found;
}

std::vector<const Formula*> ordered_arguments(const Formula& call, const Entry& op) {
  std::vector<const Formula*> result(op.args.size(), nullptr);
  for (std::size_t i = 0; i < call.parts.size(); ++i) {
    std::size_t place = i;
    if (!call.keywords[i].empty()) {
      const Arg* arg = op.find_arg(call.keywords[i]);
      if (arg == nullptr) continue;
      place = static_cast<std::size_t>(arg - op.args.data());
    }
    if (place < result.size()) result[place] = &call.parts[i];
  }
  return result;
}

}  // namespace lento::opgen
