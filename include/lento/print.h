// Printing values the way NumPy does: aligned columns, nested brackets, a summary of what is long.
#pragma once

#include <lento/dtype.h>
#include <lento/export.h>
#include <lento/ints.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace lento {

class Tensor;

/// The options of numpy.set_printoptions that change what numbers look like, with NumPy's names and defaults.
struct PrintOptions {
  int precision = 8;                 // digits after the point at most; fewer when fewer say exactly which number it is
  std::int64_t threshold = 1000;     // more elements than this are summarised
  std::int64_t edgeitems = 3;        // elements shown at each end of a summarised axis
  int linewidth = 75;                // columns
  bool suppress = false;             // no scientific notation because of small numbers
  std::string_view separator = " ";  // between elements
  int prefix_width = 0;              // columns taken by the text before the array on its first line
  int suffix_width = 0;              // columns kept free for the text after it
};

/// How `out << x`, to_string, array_str and array_repr show tensors, in the whole process. The separator and the widths
/// belong to one call of format_array and are the defaults here.
LENTO_API PrintOptions get_printoptions();
/// Sets all of them: change what get_printoptions() gives to leave the others as they are. Throws ValueError for values
/// that make no sense.
LENTO_API void set_printoptions(const PrintOptions& options,
                                std::source_location site = std::source_location::current());

/// The tensor as Python's str() shows it. Computes it if it is pending. Nothing is thrown because there is no value:
/// the text says why, as in `<failed: …>`.
LENTO_API std::string array_str(const Tensor& x, std::source_location site = std::source_location::current());
/// The tensor as Python's repr() shows it: `tensor([1., 2.], dtype=float32)`. Otherwise as array_str.
LENTO_API std::string array_repr(const Tensor& x, std::source_location site = std::source_location::current());

/// The elements as numpy.array2string shows them. `data` holds them in row-major order, one after the other.
LENTO_API std::string format_array(const void* data, DType dtype, const Shape& shape, const PrintOptions& options = {});

/// As numpy's str(): like format_array, but a zero-dimensional array is shown as its number with all digits.
LENTO_API std::string array_str(const void* data, DType dtype, const Shape& shape, const PrintOptions& options = {});

/// As numpy's repr(): `tensor([1., 2.], dtype=float32)`. The dtype is left out where the elements imply it (bool and
/// int64), the shape is shown where the elements do not (empty and summarised arrays). The separator and widths of the
/// options are not used.
LENTO_API std::string array_repr(const void* data, DType dtype, const Shape& shape, const PrintOptions& options = {});

}  // namespace lento
