// The words that formulas of layers may call; src/nn/layer_parts.h and python/lento/_layer_parts.py have them.
#pragma once

#include <string>
#include <vector>

#include "model.h"

namespace lento::opgen {

struct LayerWord {
  std::string name;
  std::size_t least;    ///< arguments
  std::size_t most;     ///< arguments
  const char* pattern;  ///< for messages
};

/// What parameters start as. The first argument is the shape.
extern const std::vector<LayerWord> kStarts;
/// What `checks` may demand.
extern const std::vector<LayerWord> kChecks;
/// Functions inside of other formulas: `prod` of shapes; in `forward`, the numbers and the word of a padding.
extern const std::vector<LayerWord> kShapeFunctions;
extern const std::vector<LayerWord> kForwardFunctions;

/// The word of this name, or null.
const LayerWord* find_word(const std::vector<LayerWord>& words, const std::string& name);

/// The arguments of a layer's call in the order of the op's, null where the op's default holds. What does not fit is
/// left out: the validator reports it.
std::vector<const Formula*> ordered_arguments(const Formula& call, const Entry& op);

}  // namespace lento::opgen
