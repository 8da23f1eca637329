#include "diagnostics.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace lento::opgen {

void Diagnostics::error(const Position& at, std::string message) { errors_.push_back({at, std::move(message)}); }

std::string Diagnostics::report() const {
  std::vector<Error> sorted = errors_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Error& a, const Error& b) {
    return std::tie(a.at.file, a.at.line, a.at.column) < std::tie(b.at.file, b.at.line, b.at.column);
  });
  std::string out;
  for (const Error& e : sorted) {
    out += fmt::format("{}:{}:{}: error: {}\n", e.at.file, e.at.line, e.at.column, e.message);
  }
  return out;
}

}  // namespace lento::opgen
