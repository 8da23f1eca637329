// Random integers, permutations and choices (ops/random.yaml).
#include "base/fail.h"
#include "ir/shape_limit.h"
#include "ops/composite_helpers.h"
#include "ops/random_choice.calls.gen.h"
#include "ops/random_common.h"

#include <cmath>

namespace lento::composite {

using namespace random_detail;

namespace {

__extension__ typedef __int128 Wide;

/// An integer argument, whatever kind of number it was given as.
Wide whole(const Scalar& number, std::string_view what) {
  if (number.is_floating()) {
    const double value = number.to<double>();
    if (value != std::floor(value) || std::abs(value) > 0x1p64)
      fail<ValueError>("{} must be an integer, got {}", what, number);
    return static_cast<Wide>(value);
  }
  if (number.is_complex()) fail<ValueError>("{} must be an integer, got {}", what, number);
  if (number.kind() == Scalar::Kind::uint_) return static_cast<Wide>(number.to<std::uint64_t>());
  return static_cast<Wide>(number.to<std::int64_t>());
}

/// floor(x * range / 2^64) for random 64-bit x: uniform below `range`, which is a number, to within range / 2^64.
Tensor scale_bits(const Tensor& x, std::uint64_t range) {
  constexpr std::uint64_t kLow = 0xffffffff;
  const Tensor high = bitwise_right_shift(x, 32);
  const Tensor low = bitwise_and(x, kLow);
  if (range <= kLow) {
    const Tensor carried = bitwise_right_shift(multiply(low, range), 32);
    return bitwise_right_shift(add(multiply(high, range), carried), 32);
  }
  // The full 64 x 64 product in four parts.
  const std::uint64_t upper = range >> 32;
  const std::uint64_t lower = range & kLow;
  const Tensor low_high = multiply(low, upper);
  const Tensor high_low = multiply(high, lower);
  const Tensor middle =
      add(add(bitwise_right_shift(multiply(low, lower), 32), bitwise_and(low_high, kLow)), bitwise_and(high_low, kLow));
  const Tensor top =
      add(multiply(high, upper), add(bitwise_right_shift(low_high, 32), bitwise_right_shift(high_low, 32)));
  return add(top, bitwise_right_shift(middle, 32));
}

/// Ordering by -log(u) / p is choosing without replacement with probabilities p; the largest of log(p) + Gumbel noise
/// is one draw.
Tensor perturbed(const Tensor& logits, const Shape& shape, Generator* generator) {
  const Tensor wide = widen(logits);
  const Tensor noise = random::gumbel(shape, 0.0, 1.0, wide.dtype(), logits.device(), generator);
  return add(wide, noise);
}

void check_weights(const Tensor& p, std::int64_t count) {
  if (p.shape() != Shape{count} || !is_floating(p.dtype())) {
    fail<ShapeError>("p must be {} probabilities, got {} of shape {}", count, p.dtype(), p.shape());
  }
}

}  // namespace

Tensor randint(const Ints& shape, const Scalar& low, const Scalar& high, std::optional<DType> dtype,
               std::optional<Device> device, Generator* generator) {
  const Target target = resolve(shape, dtype.value_or(DType::int64), device, generator, {}, kInteger);
  const Wide first = whole(low, "low");
  const Wide end = whole(high, "high");
  if (first >= end) {
    fail<ValueError>("low {} must be below high {} (before them comes the shape, here {})", low, high, shape);
  }
  const int width = static_cast<int>(8 * size_of(target.dtype));
  const bool is_signed = is_signed_integer(target.dtype);
  const Wide least = is_signed ? -(Wide{1} << (width - 1)) : Wide{0};
  const Wide most = Wide{1} << (is_signed ? width - 1 : width);
  if (first < least || end > most)
    fail<ValueError>("the range from {} to {} does not fit into {}", low, high, target.dtype);
  const auto range = static_cast<std::uint64_t>(end - first);  // 0 stands for 2^64
  const Tensor random = bits(target, DType::uint64);
  const Tensor offset = range == 0 ? random : scale_bits(random, range);
  // Modulo 2^64, and then modulo the width of the result: right for negative `low` too.
  return converted(add(offset, static_cast<std::uint64_t>(first)), target.dtype);
}

Tensor bernoulli(const Ints& shape, const Operand& p, std::optional<DType> dtype, std::optional<Device> device,
                 Generator* generator) {
  if (!p.is_tensor()) {
    const double value = p.scalar().to<double>();
    if (!(value >= 0 && value <= 1)) fail<ValueError>("p must be between 0 and 1, got {}", p.scalar());
  }
  Target target = resolve(shape, std::nullopt, device, generator, {&p}, kFloating);
  target.dtype = wide_type(target.dtype);
  return converted(less(unit(target), p), dtype.value_or(DType::bool_));
}

Tensor permutation(std::int64_t n, std::optional<Device> device, Generator* generator) {
  if (n < 0) fail<ValueError>("n must not be negative, got {}", n);
  const Target target = resolve(Shape{n}, std::nullopt, device, generator, {}, kFloating);
  return prim::sort_indices(bits(target, DType::uint64), 0, false);
}

Tensor shuffle(const Tensor& x, std::int64_t axis, Generator* generator) {
  const std::int64_t at = checked_axis(axis, x.shape().size());
  const Tensor order = random::permutation(x.shape()[static_cast<std::size_t>(at)], x.device(), generator);
  return prim::take_axis(x, order, at);
}

Tensor choice(const Tensor& x, const Ints& shape, bool replace, const std::optional<Tensor>& p, std::int64_t axis,
              Generator* generator) {
  if (x.rank() == 0)
    fail<ShapeError>("there is nothing to choose from in one number; write arange(n) for those below n");
  const std::int64_t at = checked_axis(axis, x.shape().size());
  const std::int64_t length = x.shape()[static_cast<std::size_t>(at)];
  const std::int64_t draws = counted(shape);
  if (p) check_weights(*p, length);
  if (length == 0 && draws > 0) fail<ValueError>("cannot choose from an empty axis of shape {}", x.shape());
  if (!replace && draws > length) fail<ValueError>("cannot choose {} of {} without replacement", draws, length);
  Tensor positions;
  if (replace && !p) {
    positions = random::randint(shape, 0, std::max<std::int64_t>(length, 1), DType::int64, x.device(), generator);
  } else if (replace) {
    positions = random::categorical(log(*p), -1, shape, generator);
  } else {
    const Tensor order = p ? prim::top_k(perturbed(log(*p), p->shape(), generator), draws, 0, true).indices
                           : sliced(random::permutation(length, x.device(), generator), 0, 0, draws);
    positions = reshaped(order, shape);
  }
  return prim::take_axis(x, positions, at);
}

Tensor categorical(const Tensor& logits, std::int64_t axis, const Ints& shape, Generator* generator) {
  const std::int64_t at = checked_axis(axis, logits.shape().size());
  Shape draws(shape);
  draws.append(logits.shape());
  const Tensor scores = perturbed(logits, draws, generator);
  return prim::arg_max(scores, at + static_cast<std::int64_t>(shape.size()), false);
}

Tensor multinomial(const Tensor& probs, std::int64_t num_samples, bool replacement, Generator* generator) {
  const std::size_t rank = probs.shape().size();
  if (rank != 1 && rank != 2) fail<ShapeError>("probs must have 1 or 2 axes, got shape {}", probs.shape());
  const std::int64_t classes = probs.shape().back();
  if (num_samples < 1) fail<ValueError>("num_samples must be at least 1, got {}", num_samples);
  if (!replacement && num_samples > classes) {
    fail<ValueError>("cannot draw {} of {} without replacement", num_samples, classes);
  }
  const std::int64_t last = static_cast<std::int64_t>(rank) - 1;
  const Tensor logits = log(widen(probs));
  if (!replacement) return prim::top_k(perturbed(logits, logits.shape(), generator), num_samples, last, true).indices;
  Shape draws(logits.shape());
  draws.insert(static_cast<std::size_t>(last), num_samples);
  return prim::arg_max(perturbed(with_axis(logits, last), draws, generator), last + 1, false);
}

Tensor bernoulli_like(const Tensor& x, const Operand& p, std::optional<DType> dtype, Generator* generator) {
  return random::bernoulli(x.shape(), p, dtype.value_or(x.dtype()), x.device(), generator);
}

Tensor randint_like(const Tensor& x, const Scalar& low, const Scalar& high, std::optional<DType> dtype,
                    Generator* generator) {
  return random::randint(x.shape(), low, high, dtype.value_or(x.dtype()), x.device(), generator);
}

}  // namespace lento::composite
