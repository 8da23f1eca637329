// The headers of .npy files: dicts as Python writes them.
#include "base/fail.h"
#include "files/malformed.h"
#include "files/npy.h"
#include "files/scanner.h"
#include "files/text.h"
#include "ir/shape_limit.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

namespace lento::files {
namespace {

constexpr bool kLittle = std::endian::native == std::endian::little;

char kind_of(DType dtype) {
  return is_bool(dtype)               ? 'b'
         : is_signed_integer(dtype)   ? 'i'
         : is_unsigned_integer(dtype) ? 'u'
         : is_complex(dtype)          ? 'c'
                                      : 'f';
}

/// The dtype that a text such as "<f4" names: order of bytes, kind, bytes.
std::pair<DType, bool> read_dtype(std::string_view descr) {
  const std::string_view whole = descr;
  const char order = descr.empty() ? ' ' : descr[0];
  if (std::string_view("<>|=").find(order) != std::string_view::npos) descr.remove_prefix(1);
  if (descr.starts_with('O')) malformed("it holds Python objects, which would run code when they are read");
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (dtype == DType::bfloat16 || descr != fmt::format("{}{}", kind_of(dtype), size_of(dtype))) continue;
    return {dtype, size_of(dtype) > 1 && order == (kLittle ? '>' : '<')};
  }
  malformed("Lento has no dtype for NumPy's {:.80}", in_quotes(whole));
}

/// Reads the dict.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : scanner_(text) {}

  NpyHeader read() {
    expect("{");
    bool ended = scanner_.follows("}");
    while (!ended) {
      const std::string_view key = string();
      expect(":");
      field(key);
      const bool more = scanner_.follows(",");
      ended = scanner_.follows("}");
      if (!ended && !more) refuse();
    }
    scanner_.skip_spaces();
    if (!scanner_.at_end() || !descr_ || !fortran_order_ || !shape_) refuse();
    const auto [dtype, swapped] = read_dtype(*descr_);
    return {dtype, swapped, *fortran_order_, Shape(*shape_)};
  }

 private:
  void field(std::string_view key) {
    if (key == "descr" && !descr_) {
      if (scanner_.next_is("[") || scanner_.next_is("("))
        malformed("it holds records, and Lento has no structured dtypes");
      descr_ = string();
    } else if (key == "fortran_order" && !fortran_order_) {
      fortran_order_ = scanner_.follows("True");
      if (!*fortran_order_) expect("False");
    } else if (key == "shape" && !shape_) {
      shape_ = tuple();
    } else {
      refuse();
    }
  }

  /// A text without escapes, in either kind of quotes.
  std::string_view string() {
    const std::string_view quote = scanner_.next_is("'") ? "'" : "\"";
    expect(quote);
    const std::size_t begin = scanner_.at();
    const std::size_t length = scanner_.rest().find_first_of(quote == "'" ? "'\\\n" : "\"\\\n");
    if (length == std::string_view::npos) refuse();
    scanner_.advance(length);
    const std::string_view text = scanner_.since(begin);
    expect(quote);
    return text;
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> numbers;
    expect("(");
    bool comma = true;
    while (!scanner_.follows(")")) {
      const auto number = comma ? scanner_.whole_number() : std::nullopt;
      if (!number) refuse();
      numbers.push_back(*number);
      scanner_.follows("L");  // as Python 2 writes some numbers
      comma = scanner_.follows(",");
    }
    if (numbers.size() == 1 && !comma) refuse();  // (3) is a number
    return numbers;
  }

  void expect(std::string_view sign) {
    if (!scanner_.follows(sign)) refuse();
  }

  [[noreturn]] void refuse() const {
    malformed("the header is no dict of descr, fortran_order and shape, at byte {}", scanner_.at());
  }

  Scanner scanner_;
  std::optional<std::string_view> descr_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::int64_t>> shape_;
};

}  // namespace

std::string npy_header(const Tensor& x, std::string_view name) {
  const std::string named = name.empty() ? "" : fmt::format("{}: ", name);
  if (x.dtype() == DType::bfloat16)
    fail<DTypeError>("{}.npy files cannot hold bfloat16; use .safetensors, or astype(float32)", named);
  const std::size_t size = size_of(x.dtype());
  const char order = size == 1 ? '|' : kLittle ? '<' : '>';
  std::string text = fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': {}, }}", order,
                                 kind_of(x.dtype()), size, x.shape());
  // Version 1.0: what comes before the elements is a multiple of 64 bytes and ends with a line feed.
  constexpr std::size_t kBefore = 10;
  text.append(63 - (text.size() + kBefore) % 64, ' ');
  text += '\n';
  if (text.size() > 65535) fail<ValueError>("{}{} axes are too many for a .npy file", named, x.rank());
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

NpyHeader parse_npy_header(std::string_view text) {
  NpyHeader header = HeaderReader(text).read();
  if (!broken_shape_rule(header.shape).empty())
    malformed("an array of shape {} is larger than any tensor can be", header.shape);
  return header;
}

}  // namespace lento::files
