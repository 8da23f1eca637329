// Einstein summation (ops/linalg.yaml): parsing of subscripts, and contraction from left to right by matrix products.
#include "base/fail.h"
#include "ir/shape_limit.h"
#include "ops/composite_helpers.h"
#include "ops/einsum.calls.gen.h"

#include <algorithm>
#include <map>
#include <string>

namespace lento::composite {

namespace {

/// Names an axis: a letter, or kEllipsis + i for the i-th axis from the right under an ellipsis.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 1000;

bool contains(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

/// One comma-separated piece of the subscripts.
struct Term {
  Labels letters;  // with a place holder of kEllipsis where the ellipsis stands
  bool has_ellipsis = false;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The character that begins here; outside of ASCII it has several bytes, and one of them alone is no text.
std::string_view character_at(std::string_view text, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
  return text.substr(begin, end - begin);
}

Term parse_term(std::string_view text, std::string_view subscripts) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      if (term.has_ellipsis || text.substr(i, 3) != "...")
        fail<ValueError>("subscripts '{}' have a dot that is no '...', or two of them", subscripts);
      term.has_ellipsis = true;
      term.letters.push_back(kEllipsis);
      i += 2;
    } else if (is_letter(c)) {
      term.letters.push_back(c);
    } else {
      fail<ValueError>("subscripts '{}' contain '{}'; they take the letters a to z and A to Z, '...', ',' and '->'",
                       subscripts, character_at(text, i));
    }
  }
  return term;
}

/// A tensor and the names of its axes.
struct Factor {
  Tensor x;
  Labels labels;
};

class Summation {
 public:
  Summation(std::string_view subscripts, const std::vector<Tensor>& tensors) : subscripts_(subscripts) {
    const std::size_t arrow = subscripts.find("->");
    parse_inputs(subscripts.substr(0, arrow), tensors);
    if (arrow == std::string_view::npos) {
      implicit_output();
    } else {
      explicit_output(subscripts.substr(arrow + 2));
    }
    drop_stretched_axes();
  }

  Tensor run() {
    Factor result = factors_.front();
    for (std::size_t next = 1; next < factors_.size(); ++next) {
      Labels needed = output_;
      for (std::size_t later = next + 1; later < factors_.size(); ++later) {
        needed.insert(needed.end(), factors_[later].labels.begin(), factors_[later].labels.end());
      }
      result = contracted(result, factors_[next], needed);
    }
    result = summed(result, output_);
    return broadcast(permuted(result.x, order(result, output_)), output_shape());
  }

 private:
  void parse_inputs(std::string_view text, const std::vector<Tensor>& tensors) {
    std::vector<Term> terms;
    std::size_t begin = 0;
    while (begin <= text.size()) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      terms.push_back(parse_term(text.substr(begin, end - begin), subscripts_));
      begin = end + 1;
    }
    if (terms.size() != tensors.size()) {
      fail<ValueError>("subscripts '{}' are for {} tensors, got {}", subscripts_, terms.size(), tensors.size());
    }
    for (std::size_t i = 0; i < terms.size(); ++i) factors_.push_back(named(terms[i], tensors[i]));
  }

  /// Gives the axes of a tensor their names and merges axes of one name into their diagonal.
  Factor named(const Term& term, const Tensor& x) {
    const auto letters = static_cast<std::int64_t>(term.letters.size()) - (term.has_ellipsis ? 1 : 0);
    const std::int64_t under_ellipsis = x.rank() - letters;
    if (under_ellipsis < 0 || (under_ellipsis > 0 && !term.has_ellipsis)) {
      fail<ShapeError>("subscripts '{}' name {} axes of {}, which has {}", subscripts_, letters, type_of(x), x.rank());
    }
    Factor factor{x, {}};
    for (const Label letter : term.letters) {
      if (letter != kEllipsis) {
        factor.labels.push_back(letter);
        ++occurrences_[letter];
        continue;
      }
      for (std::int64_t i = under_ellipsis; i-- > 0;) factor.labels.push_back(kEllipsis + static_cast<Label>(i));
      ellipsis_rank_ = std::max(ellipsis_rank_, under_ellipsis);
    }
    for (std::size_t i = 0; i < factor.labels.size(); ++i) {
      std::int64_t& extent = extents_.try_emplace(factor.labels[i], 1).first->second;
      const std::int64_t length = x.shape()[i];
      if (length != extent && length != 1 && extent != 1) {
        fail<ShapeError>("subscripts '{}' give axis {} of {} to an axis of length {}", subscripts_, i, type_of(x),
                         extent);
      }
      if (length != 1) extent = length;
    }
    for (std::size_t i = 0; i < factor.labels.size(); ++i) {
      const auto again =
          std::find(factor.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, factor.labels.end(), factor.labels[i]);
      if (again == factor.labels.end()) continue;
      const auto other = static_cast<std::size_t>(again - factor.labels.begin());
      if (factor.x.shape()[i] != factor.x.shape()[other]) {
        fail<ShapeError>("subscripts '{}' take the diagonal of two axes of different lengths of {}", subscripts_,
                         type_of(x));
      }
      factor.x = lento::diagonal(factor.x, 0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(other));
      const Label label = factor.labels[i];
      factor.labels.erase(again);
      factor.labels.erase(factor.labels.begin() + static_cast<std::ptrdiff_t>(i));
      factor.labels.push_back(label);
      --i;
    }
    return factor;
  }

  void add_ellipsis_to_output() {
    for (std::int64_t i = ellipsis_rank_; i-- > 0;) output_.push_back(kEllipsis + static_cast<Label>(i));
  }

  void implicit_output() {
    add_ellipsis_to_output();
    for (const auto& [letter, count] : occurrences_) {
      if (count == 1) output_.push_back(letter);
    }
  }

  void explicit_output(std::string_view text) {
    for (const Label letter : parse_term(text, subscripts_).letters) {
      if (letter == kEllipsis) {
        add_ellipsis_to_output();
        continue;
      }
      if (!occurrences_.contains(letter)) {
        fail<ValueError>("subscripts '{}' have '{}' in the output but in no input", subscripts_,
                         static_cast<char>(letter));
      }
      if (contains(output_, letter))
        fail<ValueError>("subscripts '{}' have '{}' twice in the output", subscripts_, static_cast<char>(letter));
      output_.push_back(letter);
    }
  }

  /// An axis of length 1 that others stretch does not take part: its factor is the same for all positions.
  void drop_stretched_axes() {
    for (Factor& factor : factors_) {
      for (std::size_t i = factor.labels.size(); i-- > 0;) {
        if (factor.x.shape()[i] == extents_.at(factor.labels[i])) continue;
        factor.x = drop_axis(factor.x, static_cast<std::int64_t>(i));
        factor.labels.erase(factor.labels.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  static Tensor total(const Tensor& x, const Ints& axes) {
    return is_bool(x.dtype()) ? prim::reduce_any(x, axes, false) : sum_over(x, axes);
  }

  /// Sums over the axes that are not needed.
  static Factor summed(const Factor& factor, const Labels& needed) {
    Ints axes;
    Factor result{factor.x, {}};
    for (std::size_t i = 0; i < factor.labels.size(); ++i) {
      if (contains(needed, factor.labels[i])) {
        result.labels.push_back(factor.labels[i]);
      } else {
        axes.push_back(static_cast<std::int64_t>(i));
      }
    }
    if (!axes.empty()) result.x = total(factor.x, axes);
    return result;
  }

  /// The permutation that brings the axes of a factor into the order of `labels`, as far as it has them.
  static Ints order(const Factor& factor, const Labels& labels) {
    Ints axes;
    for (const Label label : labels) {
      const auto at = std::find(factor.labels.begin(), factor.labels.end(), label);
      if (at != factor.labels.end()) axes.push_back(at - factor.labels.begin());
    }
    return axes;
  }

  std::int64_t count(const Labels& labels) const {
    Shape shape;
    for (const Label label : labels) shape.push_back(extents_.at(label));
    return counted(shape);
  }

  Factor contracted(const Factor& a, const Factor& b, const Labels& needed) const {
    Labels keep_a = needed, keep_b = needed;
    keep_a.insert(keep_a.end(), b.labels.begin(), b.labels.end());
    keep_b.insert(keep_b.end(), a.labels.begin(), a.labels.end());
    const Factor left = summed(a, keep_a);
    const Factor right = summed(b, keep_b);
    Labels batch, inner, rows, columns;
    for (const Label label : left.labels) {
      (!contains(right.labels, label) ? rows : contains(needed, label) ? batch : inner).push_back(label);
    }
    for (const Label label : right.labels) {
      if (!contains(left.labels, label)) columns.push_back(label);
    }
    const auto arranged = [&](const Factor& factor, const Labels& second, const Labels& third) {
      Labels labels = batch;
      labels.insert(labels.end(), second.begin(), second.end());
      labels.insert(labels.end(), third.begin(), third.end());
      return reshaped(permuted(factor.x, order(factor, labels)), Shape{count(batch), count(second), count(third)});
    };
    const Tensor matrices_a = arranged(left, rows, inner);
    const Tensor matrices_b = arranged(right, inner, columns);
    Tensor product;
    if (inner.empty()) {
      product = is_bool(matrices_a.dtype()) ? bitwise_and(matrices_a, matrices_b) : multiply(matrices_a, matrices_b);
    } else {
      product = prim::matrix_multiply(matrices_a, matrices_b);
    }
    Factor result;
    result.labels = batch;
    result.labels.insert(result.labels.end(), rows.begin(), rows.end());
    result.labels.insert(result.labels.end(), columns.begin(), columns.end());
    Shape shape;
    for (const Label label : result.labels) shape.push_back(extents_.at(label));
    result.x = reshaped(product, shape);
    return result;
  }

  Shape output_shape() const {
    Shape shape;
    for (const Label label : output_) shape.push_back(extents_.at(label));
    return shape;
  }

  std::string_view subscripts_;
  std::vector<Factor> factors_;
  Labels output_;
  std::map<Label, int> occurrences_;       // of letters, in alphabetical order
  std::map<Label, std::int64_t> extents_;  // lengths after broadcasting
  std::int64_t ellipsis_rank_ = 0;         // axes under the longest ellipsis
};

}  // namespace

Tensor einsum(std::string_view subscripts, const std::vector<Tensor>& arrays) {
  return Summation(subscripts, all_converted(arrays, promoted_dtype(arrays))).run();
}

}  // namespace lento::composite
