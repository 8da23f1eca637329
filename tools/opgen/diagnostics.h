// Errors of a run, collected so that one run shows them all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model.h"

namespace lento::opgen {

class Diagnostics {
 public:
  void error(const Position& at, std::string message);
  bool empty() const { return errors_.empty(); }
  std::size_t size() const { return errors_.size(); }
  /// One error a line, "file:line:column: error: …", in file order.
  std::string report() const;

 private:
  struct Error {
    Position at;
    std::string message;
  };
  std::vector<Error> errors_;
};

/// The nearest of `words` to `given` by edit distance, or "" when none is near.
std::string nearest(std::string_view given, const std::vector<std::string>& words);

/// "; did you mean 'family'?", or the list when it is short and nothing is near, or "".
std::string suggestion(std::string_view given, const std::vector<std::string>& words);

}  // namespace lento::opgen
