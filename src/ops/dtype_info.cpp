#include <lento/dtype_info.h>
#include <lento/tensor.h>

#include "base/fail.h"
#include "base/source.h"
#include "ir/infer_elementwise.h"
#include "ir/shape_limit.h"
#include "tensor/promotion.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace lento {

namespace {

struct FloatFormat {
  int digits;        // of the significand in binary, the leading one included
  int max_exponent;  // the largest number is just below 2 to this
};

FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return {11, 16};
    case DType::bfloat16:
      return {8, 128};
    case DType::float32:
      return {24, 128};
    default:
      return {53, 1024};
  }
}

constexpr std::pair<std::string_view, DTypeSet> kKinds[] = {
    {"bool", kBool},        {"signed integer", kSigned},  {"unsigned integer", kUnsigned},
    {"integral", kInteger}, {"real floating", kFloating}, {"complex floating", kComplex},
    {"numeric", kNumeric},
};

DTypeSet set_of(std::string_view kind) {
  std::string all;
  for (const auto& [word, set] : kKinds) {
    if (word == kind) return set;
    all += fmt::format("{}'{}'", all.empty() ? "" : ", ", word);
  }
  fail<ValueError>("unknown kind '{}'; there are {}", kind, all);
}

}  // namespace

FloatInfo finfo(DType dtype, std::source_location site) {
  const CallScope scope("finfo", site);
  const DType part = real_type(dtype);
  if (!is_floating(part)) fail<DTypeError>("{} is not a floating-point dtype", dtype);
  const auto [digits, max_exponent] = format_of(part);
  const double eps = std::ldexp(1.0, 1 - digits);
  const double max = std::ldexp(2 - eps, max_exponent - 1);
  const double smallest = std::ldexp(1.0, 2 - max_exponent);
  return {part, static_cast<int>(8 * size_of(part)), eps, max, -max, smallest, smallest};
}

IntegerInfo iinfo(DType dtype, std::source_location site) {
  const CallScope scope("iinfo", site);
  if (!is_integer(dtype)) fail<DTypeError>("{} is not an integer dtype", dtype);
  const int bits = static_cast<int>(8 * size_of(dtype));
  const std::uint64_t all = std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
  if (is_unsigned_integer(dtype)) return {dtype, bits, 0, all};
  return {dtype, bits, -static_cast<std::int64_t>(all / 2) - 1, all / 2};
}

bool can_cast(const Tensor& from, DType to, std::source_location site) {
  const CallScope scope("can_cast", site);
  return can_cast(from.dtype(), to);
}

DTypeSource::DTypeSource(const Tensor& x, std::source_location site) {
  const CallScope scope("result_type", site);
  dtype_ = x.dtype();
}
DTypeSource::DTypeSource(const Subscript& part, std::source_location site) : DTypeSource(part.get(site), site) {}

DType result_type(std::span<const DTypeSource> sources, std::source_location site) {
  const CallScope scope("result_type", site);
  if (sources.empty()) fail<ValueError>("at least one argument is needed");
  DTypeJoin join;
  for (const DTypeSource& source : sources) {
    if (source.dtype()) {
      join.add(*source.dtype());
    } else {
      join.add(source.number());
    }
  }
  return join.result();
}

DTypeKind::DTypeKind(std::string_view kind, std::source_location site) : set_(0) {
  const CallScope scope("isdtype", site);
  set_ = set_of(kind);
}

Shape broadcast_shapes(std::span<const Shape> shapes, std::source_location site) {
  const CallScope scope("broadcast_shapes", site);
  std::vector<const Shape*> pointers;
  for (const Shape& shape : shapes) pointers.push_back(&shape);
  Shape result = broadcast_shapes(std::span<const Shape* const>(pointers));
  counted(result);
  return result;
}
Shape broadcast_shapes(std::initializer_list<Shape> shapes, std::source_location site) {
  return broadcast_shapes(std::span<const Shape>(shapes.begin(), shapes.size()), site);
}
Shape broadcast_shapes(const Shape& a, const Shape& b, std::source_location site) {
  const Shape both[] = {a, b};
  return broadcast_shapes(std::span<const Shape>(both), site);
}

}  // namespace lento
