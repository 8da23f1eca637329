// Formula: the little language of layers, which reads like Python and is written as Python and as C++:
//
//     fan_in((out_channels, in_channels // groups, *kernel_size), in_channels // groups * prod(kernel_size)) if bias
//
// Numbers, names, strings, `+ - * //`, comparisons, `not`, `and`, `or`, tuples with `*name`, calls with arguments by
// place or by name, and `a if b else c`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "diagnostics.h"
#include "model.h"

namespace lento::opgen {

/// Parses a formula; nothing, with the error reported, when it is malformed. `key` is named in messages.
std::optional<Formula> parse_formula(const Text& text, const std::string& key, Diagnostics& diagnostics);

/// How one language writes the parts of a formula that differ.
struct FormulaWords {
  std::function<std::string(const Formula&)> name;  ///< a name
  std::function<std::string(const Formula&)> call;  ///< a call
  bool python = false;
};

std::string write_formula(const Formula& formula, const FormulaWords& words);

/// Calls `visit` for the formula and everything inside it.
void visit_formula(const Formula& formula, const std::function<void(const Formula&)>& visit);

}  // namespace lento::opgen
