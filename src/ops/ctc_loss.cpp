// Connectionist temporal classification (ops/losses.yaml): the recurrence over the steps of the input, for all targets
// of the batch at once. Its derivative is that of the recurrence.
#include <lento/differentiation.h>

#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/ctc_loss.calls.gen.h"
#include "ops/loss_reduction.h"
#include "ops/nonnegative_index.h"

#include <limits>
#include <vector>

namespace lento::composite {

namespace {

constexpr double kImpossible = -1e30;  // the logarithm of 0 that is a number: its differences are none of them nan

struct Inputs {
  Tensor log_probs;       // (time, batch, classes), wide
  Tensor targets;         // (batch, length)
  Tensor input_lengths;   // (batch,)
  Tensor target_lengths;  // (batch,)
  bool single;
};

void check_lengths(const Tensor& lengths, const Shape& needed, std::string_view what) {
  if (!is_integer(lengths.dtype())) fail<DTypeError>("{} must be integers, got {}", what, lengths.dtype());
  if (lengths.shape() != needed) fail<ShapeError>("{} has shape {}, not {}", what, lengths.shape(), needed);
}

Inputs prepare(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
               const Tensor& target_lengths, std::int64_t blank) {
  const std::size_t rank = log_probs.shape().size();
  if (rank != 2 && rank != 3) {
    fail<ShapeError>("log_probs must be (time, batch, classes) or (time, classes), got shape {}", log_probs.shape());
  }
  const bool single = rank == 2;
  const std::int64_t classes = log_probs.shape().back();
  if (log_probs.shape()[0] == 0) fail<ShapeError>("log_probs have length 0");
  if (blank < 0 || blank >= classes) fail<ValueError>("blank {} is none of {} classes", blank, classes);
  if (!is_integer(targets.dtype())) fail<DTypeError>("class numbers must be integers, got {}", targets.dtype());
  const Shape batch = single ? Shape{} : Shape{log_probs.shape()[1]};
  if (targets.shape().size() != batch.size() + 1 || (!single && targets.shape()[0] != batch[0])) {
    fail<ShapeError>(
        "targets must be {} for log_probs of shape {}, got shape {}; targets of several lengths are padded, in any way",
        single ? "(length,)" : "(batch, length)", log_probs.shape(), targets.shape());
  }
  check_lengths(input_lengths, batch, "input_lengths");
  check_lengths(target_lengths, batch, "target_lengths");
  const Tensor labels = signed_index(targets);
  const Tensor times = signed_index(input_lengths);
  const Tensor lengths = signed_index(target_lengths);
  if (!single) return {widen(log_probs), labels, times, lengths, false};
  return {widen(with_axis(log_probs, 1)), with_axis(labels, 0), with_axis(times, 0), with_axis(lengths, 0), true};
}

Tensor numbers_up_to(std::int64_t count, const Tensor& like) {
  return prim::iota(count, 0, 1, DType::int64, like.device());
}

/// `x` (batch, labels) moved to the right by `count`, with impossible ones at the left.
Tensor moved(const Tensor& x, std::int64_t count) {
  const std::int64_t kept = std::max<std::int64_t>(x.shape()[1] - count, 0);
  return prim::pad_constant(sliced(x, 1, 0, kept), kImpossible, Ints{0, x.shape()[1] - kept}, Ints{0, 0});
}

/// log(exp(a) + exp(b) + exp(c))
Tensor log_sum(const Tensor& a, const Tensor& b, const Tensor& c) {
  const Tensor most = stop_gradient(maximum(maximum(a, b), c));
  const auto part = [&](const Tensor& x) { return exp(subtract(x, most)); };
  return add(log(add(add(part(a), part(b)), part(c))), most);
}

/// The labels with a blank before, between and after them: (batch, 2 * length + 1).
Tensor with_blanks(const Inputs& in, std::int64_t blank) {
  const std::int64_t batch = in.targets.shape()[0];
  const std::int64_t length = in.targets.shape()[1];
  const Tensor counts = less(numbers_up_to(length, in.targets), with_axis(in.target_lengths, 1));
  const Tensor known = nonnegative_index(where(counts, in.targets, blank));
  const Tensor blanks = prim::full(Shape{batch, length, 1}, blank, DType::int64, in.targets.device());
  const Tensor pairs = reshaped(prim::concatenate({blanks, with_axis(known, 2)}, 2), Shape{batch, 2 * length});
  return prim::pad_constant(pairs, blank, Ints{0, 0}, Ints{0, 1});
}

/// Minus the logarithm of the probability of each target: (batch,).
Tensor losses_of(const Inputs& in, std::int64_t blank) {
  const Tensor labels = with_blanks(in, blank);
  const std::int64_t time = in.log_probs.shape()[0];
  const std::int64_t batch = labels.shape()[0];
  const std::int64_t count = labels.shape()[1];
  const Tensor everywhere = prim::broadcast_to(with_axis(labels, 0), Shape{time, batch, count});
  const Tensor scores = maximum(prim::take_along_axis(in.log_probs, everywhere, 2), kImpossible);
  const auto score_at = [&](std::int64_t step) { return drop_axis(sliced(scores, 0, step, 1), 0); };
  const Tensor places = numbers_up_to(count, labels);

  // A blank may be left out between two labels that differ.
  const Tensor two_before = prim::pad_constant(sliced(labels, 1, 0, std::max<std::int64_t>(count - 2, 0)), blank,
                                               Ints{0, std::min<std::int64_t>(count, 2)}, Ints{0, 0});
  const Tensor may_skip = bitwise_and(not_equal(labels, blank), not_equal(labels, two_before));

  const Tensor some = with_axis(greater(in.input_lengths, 0), 1);
  const Tensor none = with_axis(less_equal(in.input_lengths, 0), 1);
  const Tensor first = where(bitwise_and(some, less(places, 2)), score_at(0), kImpossible);
  // Of an input of length 0 there is one alignment, that with a target of length 0.
  Tensor alpha = where(bitwise_and(none, less(places, 1)), 0.0, first);
  for (std::int64_t step = 1; step < time; ++step) {
    const Tensor skipped = where(may_skip, moved(alpha, 2), kImpossible);
    const Tensor next = maximum(add(log_sum(alpha, moved(alpha, 1), skipped), score_at(step)), kImpossible);
    alpha = where(with_axis(less(step, in.input_lengths), 1), next, alpha);
  }
  // It ends with the last label or with the blank after it.
  const Tensor last = with_axis(multiply(in.target_lengths, 2), 1);
  const Tensor ends = bitwise_and(less_equal(places, last), greater_equal(places, subtract(last, 1)));
  const Tensor kept = where(ends, alpha, kImpossible);
  const Tensor most = stop_gradient(max_kept(kept, Ints{1}));
  const Tensor total = add(log(sum_kept(exp(subtract(kept, most)), Ints{1})), most);
  return negative(drop_axis(total, 1));
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, std::int64_t blank, std::string_view reduction, bool zero_infinity) {
  const Inputs in = prepare(log_probs, targets, input_lengths, target_lengths, blank);
  const Tensor finite = losses_of(in, blank);
  const double instead = zero_infinity ? 0.0 : std::numeric_limits<double>::infinity();
  Tensor loss = where(greater(finite, -kImpossible / 2), instead, finite);
  const Reduction how = parse_reduction(reduction);
  if (how == Reduction::none && in.single) return converted(drop_axis(loss, 0), log_probs.dtype());
  if (how == Reduction::mean) loss = divide(loss, converted(maximum(in.target_lengths, 1), loss.dtype()));
  return reduce_loss(loss, how, log_probs.dtype());
}

}  // namespace lento::composite
