// The expressions inside of entries: `compute`, `compose` and `vjp`. They are C++ (or become C++), so opgen does not
// parse them fully: it reads tokens, checks brackets and checks that every name means something.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnostics.h"
#include "model.h"

namespace lento::opgen {

struct Token {
  enum class Kind { name, number, string, punctuation };
  Kind kind;
  std::string text;
  std::size_t offset;  ///< in the expression
};

/// Where a character of the expression stands in its file.
Position position_inside(const Text& expression, std::size_t offset);

/// Splits an expression; what is no token is reported.
std::vector<Token> tokenize(const Text& expression, Diagnostics& diagnostics);

/// Checks one expression of an entry; `key` says which names it may use.
enum class ExpressionKind { compute, compose, vjp };
void check_expression(const Text& expression, ExpressionKind kind, const Entry& entry, const Catalogue& catalogue,
                      Diagnostics& diagnostics);

/// The expression with each called op written with its namespace, so that it means the public function wherever it
/// stands: `x * sigmoid(x)` becomes `x * lento::sigmoid(x)`.
std::string qualify_ops(const std::string& expression, const Entry& entry, const Catalogue& catalogue);

}  // namespace lento::opgen
