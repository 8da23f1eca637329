// Values as text. The rules are NumPy's (numpy.array2string, floatmode "maxprec"), so that a printed tensor looks as
// the same array does there; tests/python/test_print.py compares the two character by character.
//
// Two passes: the first over the elements that will be shown decides the notation and the width of the columns, the
// second writes them. Neither recurses: the rank of a tensor has no limit.
#include <lento/print.h>

#include "base/dispatch.h"
#include "base/fail.h"
#include "base/format.h"
#include "printing/float_text.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <vector>

namespace lento {

namespace {

// --- which elements are shown ---

/// Calls visit(offset) with the position of each row (last axis) that is shown, in order, and gap(axis, skipped) before
/// each further one: the axis that advanced and whether elements were left out before it.
struct Rows {
  const Shape& shape;
  bool summarised;
  std::int64_t edge_items;

  bool skips(std::size_t axis) const { return summarised && shape[axis] > 2 * edge_items; }

  template <class Visit, class Gap>
  void for_each(Visit&& visit, Gap&& gap) const {
    const std::size_t outer = shape.size() - 1;
    Ints index(outer, 0);
    while (true) {
      std::int64_t row = 0;
      for (std::size_t axis = 0; axis < outer; ++axis) row = row * shape[axis] + index[axis];
      visit(row * shape[outer]);
      std::size_t axis = outer;
      while (true) {
        if (axis == 0) return;
        --axis;
        const bool skip = skips(axis) && index[axis] + 1 == edge_items;
        index[axis] = skip ? shape[axis] - edge_items : index[axis] + 1;
        if (index[axis] < shape[axis]) {
          gap(axis, skip);
          break;
        }
        index[axis] = 0;
      }
    }
  }
};

// --- how one element looks ---

/// A column of real numbers. `widen` is given every number that will be shown, then `finish` is called once, then
/// `text`.
class RealColumn {
 public:
  RealColumn(DType dtype, const PrintOptions& options, bool always_sign)
      : dtype_(dtype), options_(options), always_sign_(always_sign) {}

  void widen(double value) {
    if (!std::isfinite(value)) {
      any_special_ = true;
      negative_infinity_ |= value < 0;
      return;
    }
    finite_.push_back(value);
    if (value == 0) return;
    largest_ = std::max(largest_, std::fabs(value));
    smallest_ = std::min(smallest_, std::fabs(value));
  }

  void finish() {
    scientific_ = largest_ != 0 && needs_exponent();
    int exponent_digits = 2;
    for (const double value : finite_) {
      std::size_t integer_width = always_sign_ || std::signbit(value) ? 1 : 0;
      std::size_t fraction_width = 0;
      if (scientific_) {
        const ScientificText text = scientific_text(value, dtype_, options_.precision);
        integer_width += text.integer.size();
        fraction_width = text.fraction.size();
        if (std::abs(text.exponent) >= 100) exponent_digits = 3;
      } else {
        const std::string text = fixed_text(value, dtype_, options_.precision);
        const std::size_t point = text.find('.');
        integer_width += point;
        fraction_width = text.size() - point - 1;
      }
      left_ = std::max(left_, integer_width);
      fraction_ = std::max(fraction_, fraction_width);
    }
    right_ = fraction_;
    if (scientific_) {
      exponent_digits_ = exponent_digits;
      right_ += 2 + static_cast<std::size_t>(exponent_digits);
    }
    if (any_special_) {
      const std::size_t inf = always_sign_ || negative_infinity_ ? 4 : 3;
      if (inf > right_ + 1) left_ = std::max(left_, inf - right_ - 1);
    }
    finite_ = {};
  }

  std::string text(double value) const {
    if (!std::isfinite(value)) {
      const char* sign = !std::isnan(value) && value < 0 ? "-" : always_sign_ ? "+" : "";
      return fmt::format("{:>{}}", fmt::format("{}{}", sign, std::isnan(value) ? "nan" : "inf"), left_ + right_ + 1);
    }
    const char* sign = std::signbit(value) ? "-" : always_sign_ ? "+" : "";
    if (scientific_) {
      const ScientificText parts = full_scientific_text(value, dtype_, static_cast<int>(fraction_));
      return fmt::format("{:>{}}.{}e{}{:0{}}", sign + parts.integer, left_, parts.fraction,
                         parts.exponent < 0 ? '-' : '+', std::abs(parts.exponent), exponent_digits_);
    }
    const std::string digits = fixed_text(value, dtype_, options_.precision);
    const std::size_t point = digits.find('.');
    return fmt::format("{:>{}}.{:<{}}", sign + digits.substr(0, point), left_, digits.substr(point + 1), right_);
  }

 private:
  /// Whether plain notation would be too long or lose digits. Compared in the numbers' own type, as NumPy does.
  bool needs_exponent() const {
    if (largest_ >= scientific_from(dtype_, 1e8)) return true;
    if (options_.suppress) return false;
    const auto decide = [&]<class T>() {
      const auto in_type = [](double value) { return static_cast<double>(static_cast<float>(T(value))); };
      return smallest_ < in_type(0.0001) || in_type(largest_ / smallest_) > in_type(1000.0);
    };
    switch (dtype_) {
      case DType::float16:
        return decide.operator()<float16>();
      case DType::bfloat16:
        return decide.operator()<bfloat16>();
      case DType::float32:
        return decide.operator()<float>();
      default:
        return smallest_ < 0.0001 || largest_ / smallest_ > 1000.0;
    }
  }

  DType dtype_;
  const PrintOptions& options_;
  bool always_sign_;
  std::vector<double> finite_;
  double largest_ = 0;
  double smallest_ = std::numeric_limits<double>::infinity();
  bool any_special_ = false;
  bool negative_infinity_ = false;
  bool scientific_ = false;
  std::size_t left_ = 0;      // columns before the point
  std::size_t fraction_ = 0;  // digits after it
  std::size_t right_ = 0;     // columns after it, exponent included
  int exponent_digits_ = 2;
};

/// A column of elements of any dtype.
class Column {
 public:
  Column(const void* data, DType dtype, bool alone, const PrintOptions& options)
      : data_(static_cast<const std::byte*>(data)),
        dtype_(dtype),
        alone_(alone),
        real_(real_type(dtype), options, false),
        imaginary_(real_type(dtype), options, true) {}

  void widen(std::int64_t at) {
    if (is_integer(dtype_)) {
      integer_width_ = std::max(integer_width_, integer_text(at).size());
    } else if (!is_bool(dtype_)) {
      real_.widen(real_part(at));
      if (is_complex(dtype_)) imaginary_.widen(imaginary_part(at));
    }
  }
  void finish() {
    real_.finish();
    imaginary_.finish();
  }
  std::string text(std::int64_t at) const {
    if (is_bool(dtype_)) return read<bool>(at) ? (alone_ ? "True" : " True") : "False";
    if (is_integer(dtype_)) return fmt::format("{:>{}}", integer_text(at), integer_width_);
    if (!is_complex(dtype_)) return real_.text(real_part(at));
    std::string imaginary = imaginary_.text(imaginary_part(at));
    imaginary.insert(imaginary.find_last_not_of(' ') + 1, 1, 'j');
    return real_.text(real_part(at)) + imaginary;
  }
  /// One number alone, with all its digits.
  std::string scalar_text() const {
    if (!is_complex(dtype_)) {
      return is_floating(dtype_) ? number_text(real_part(0), dtype_) : text(0);
    }
    const auto part = [&](double value) {
      std::string digits = number_text(value, real_type(dtype_));
      if (digits.ends_with(".0")) digits.resize(digits.size() - 2);
      return digits;
    };
    const double real = real_part(0);
    const std::string imaginary = part(imaginary_part(0));
    if (real == 0 && !std::signbit(real)) return imaginary + "j";
    return fmt::format("({}{}{}j)", part(real), imaginary[0] == '-' ? "" : "+", imaginary);
  }

 private:
  template <class T>
  T read(std::int64_t at) const {
    return reinterpret_cast<const T*>(data_)[at];
  }
  std::string integer_text(std::int64_t at) const {
    return dispatch(dtype_, [&]<class T>() -> std::string {
      if constexpr (std::integral<T>) return std::to_string(read<T>(at));
      return "";
    });
  }
  double real_part(std::int64_t at) const {
    switch (dtype_) {
      case DType::float16:
        return static_cast<float>(read<float16>(at));
      case DType::bfloat16:
        return static_cast<float>(read<bfloat16>(at));
      case DType::float32:
        return read<float>(at);
      case DType::float64:
        return read<double>(at);
      case DType::complex64:
        return read<float>(2 * at);
      default:
        return read<double>(2 * at);
    }
  }
  double imaginary_part(std::int64_t at) const {
    return dtype_ == DType::complex64 ? read<float>(2 * at + 1) : read<double>(2 * at + 1);
  }

  const std::byte* data_;
  DType dtype_;
  bool alone_;
  RealColumn real_;
  RealColumn imaginary_;
  std::size_t integer_width_ = 0;
};

// --- how they are put together ---

std::string_view without_trailing_spaces(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

/// The elements of one row, broken into lines, without the brackets.
class RowWriter {
 public:
  RowWriter(const Column& column, const PrintOptions& options, std::size_t rank)
      : column_(column),
        separator_(options.separator),
        indent_(static_cast<std::size_t>(options.prefix_width) + rank, ' '),
        width_(options.linewidth - options.suffix_width - static_cast<std::int64_t>(rank - 1) -
               static_cast<std::int64_t>(std::max<std::size_t>(without_trailing_spaces(separator_).size(), 1))) {}

  void write(std::string& out, std::int64_t offset, std::int64_t length, std::int64_t shown_edge) {
    line_.assign(indent_);
    // The indent of the first line is where the opening bracket already stands.
    std::size_t skip = indent_.size();
    for (std::int64_t i = 0; i < length; ++i) {
      if (shown_edge >= 0 && i == shown_edge) {
        add(out, skip, "...");
        line_ += separator_;
        i = length - shown_edge;
      }
      add(out, skip, column_.text(offset + i));
      if (i + 1 < length) line_ += separator_;
    }
    out.append(line_, skip);
  }

 private:
  void add(std::string& out, std::size_t& skip, std::string_view word) {
    if (static_cast<std::int64_t>(line_.size() + word.size()) > width_ && line_.size() > indent_.size()) {
      out.append(without_trailing_spaces(line_).substr(skip));
      out += '\n';
      skip = 0;
      line_.assign(indent_);
    }
    line_ += word;
  }

  const Column& column_;
  std::string_view separator_;
  std::string indent_;
  std::int64_t width_;
  std::string line_;
};

void require_elements(const void* data) {
  if (data == nullptr) fail<ValueError>("the elements to print are a null pointer");
}

}  // namespace

std::string format_array(const void* data, DType dtype, const Shape& shape, const PrintOptions& options) {
  const std::int64_t count = element_count(shape);
  if (count == 0) return "[]";
  require_elements(data);
  Column column(data, dtype, shape.empty(), options);
  if (shape.empty()) {
    column.widen(0);
    column.finish();
    return column.text(0);
  }

  const std::int64_t edge = std::max<std::int64_t>(options.edgeitems, 1);
  const std::size_t rank = shape.size();
  const Rows rows{shape, count > options.threshold, edge};
  const bool short_rows = rows.skips(rank - 1);
  const std::int64_t length = shape[rank - 1];
  rows.for_each(
      [&](std::int64_t offset) {
        for (std::int64_t i = 0; i < length; ++i) {
          if (short_rows && i == edge) i = length - edge;
          column.widen(offset + i);
        }
      },
      [](std::size_t, bool) {});
  column.finish();

  RowWriter writer(column, options, rank);
  const std::string_view separator = without_trailing_spaces(options.separator);
  std::string out(rank, '[');
  rows.for_each([&](std::int64_t offset) { writer.write(out, offset, length, short_rows ? edge : -1); },
                [&](std::size_t axis, bool skipped) {
                  const std::size_t inner = rank - 1 - axis;
                  const auto next_line = [&] {
                    out += separator;
                    out.append(inner, '\n');
                    out.append(static_cast<std::size_t>(options.prefix_width) + 1 + axis, ' ');
                  };
                  out.append(inner, ']');
                  next_line();
                  if (skipped) {
                    out += "...";
                    next_line();
                  }
                  out.append(inner, '[');
                });
  out.append(rank, ']');
  return out;
}

std::string array_str(const void* data, DType dtype, const Shape& shape, const PrintOptions& options) {
  if (!shape.empty()) return format_array(data, dtype, shape, options);
  require_elements(data);
  Column column(data, dtype, true, options);
  column.widen(0);
  return column.scalar_text();
}

std::string array_repr(const void* data, DType dtype, const Shape& shape, const PrintOptions& options) {
  constexpr std::string_view kPrefix = "tensor(";
  PrintOptions inner = options;
  inner.separator = ", ";
  inner.prefix_width = kPrefix.size();
  inner.suffix_width = 1;
  std::string out = std::string(kPrefix) + format_array(data, dtype, shape, inner);

  const std::int64_t count = element_count(shape);
  std::string extras;
  if ((count == 0 && shape != Shape{0}) || count > options.threshold) extras = fmt::format("shape={}", shape);
  if ((!is_bool(dtype) && dtype != DType::int64) || count == 0) {
    extras += fmt::format("{}dtype={}", extras.empty() ? "" : ", ", dtype);
  }
  if (extras.empty()) return out + ")";
  out += ",";
  const std::size_t last_line = out.size() - (out.rfind('\n') + 1);
  const bool wraps = last_line + extras.size() + 2 > static_cast<std::size_t>(std::max(options.linewidth, 0));
  out += wraps ? "\n" + std::string(kPrefix.size(), ' ') : " ";
  return out + extras + ")";
}

}  // namespace lento
