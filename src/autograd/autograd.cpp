// The public functions: following, pulling back and pushing forward over a log.
#include <lento/differentiation.h>

#include "autograd/autograd.calls.gen.h"
#include "autograd/backward.h"
#include "autograd/cotangents.h"
#include "autograd/rule.h"
#include "base/fail.h"
#include "ir/op_index_map.gen.h"
#include "ops/composite_helpers.h"

#include <algorithm>
#include <unordered_map>

namespace lento {

namespace {

using Tangents = std::unordered_map<const TensorState*, Tensor>;

void check_pairs(const char* what, const std::vector<Tensor>& tensors, const char* whose,
                 const std::vector<Tensor>& values) {
  if (tensors.size() != values.size())
    fail<ValueError>("{} {}s for {} {}s", values.size(), what, tensors.size(), whose);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!values[i].defined() || values[i].shape() == tensors[i].shape()) continue;
    fail<ShapeError>("{} {} has shape {}, its {} {}", what, i, values[i].shape(), whose, tensors[i].shape());
  }
}

void accumulate(Tangents& sums, const Tensor& x, const Tensor& more) {
  Tensor& sum = sums[x.state()];
  sum = sum.defined() ? sum + more : more;
}

// What a public function records and refuses by itself is its own, at its caller's line: a CallScope says so. The scope
// is closed while the user's functions run, whose ops have lines of their own, and while rules are applied, whose ops
// belong to the line of the op that is differentiated.

void check_pairs_of(const char* caller, const std::source_location& site, const char* what,
                    const std::vector<Tensor>& tensors, const char* whose, const std::vector<Tensor>& values) {
  const CallScope scope(caller, site);
  check_pairs(what, tensors, whose, values);
}

void require_function(const char* caller, const std::source_location& site, bool is_there) {
  const CallScope scope(caller, site);
  if (!is_there) fail<ValueError>("the function is empty");
}

/// The line of ops that belong to no line of the function: the caller's, unless a front end knows a better one.
Source line_of(const std::source_location& site) {
  const Source& known = call_context().source;
  return known.known() ? known : Source::from(site);
}

const Tensor& find(const Tangents& tangents, const Tensor& x) {
  static const Tensor none;
  const auto found = tangents.find(x.state());
  return found == tangents.end() ? none : found->second;
}

}  // namespace

Differentiation::Differentiation() : log_(std::make_unique<Log>()) {}
Differentiation::~Differentiation() {
  // One that is dropped in another thread before its end stays in its own thread's list: better kept than dangling.
  if (!log_->may_go()) {
    [[maybe_unused]] const Log* kept = log_.release();
  }
}

Tensor Differentiation::follow(const Tensor& x, std::source_location site) {
  const CallScope scope("follow", site);
  if (!is_floating(x.dtype()) && !is_complex(x.dtype())) {
    fail<DTypeError>("derivatives are by floating or complex tensors; this one is {}", x.dtype());
  }
  // Recorded while this log does not listen to it, but outer ones do.
  Tensor followed = composite::with_own_identity(x);
  log_->follow(followed);
  return followed;
}

void Differentiation::end() { log_->stop(); }

std::vector<Tensor> Differentiation::pull_back(const std::vector<Tensor>& outputs,
                                               const std::vector<Tensor>& cotangents, const std::vector<Tensor>& inputs,
                                               std::source_location site) const {
  check_pairs_of("pull_back", site, "cotangent", outputs, "output", cotangents);
  Cotangents sums;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const SourceScope line(line_of(site));
    if (!cotangents[i].defined() || !log_->follows(outputs[i])) continue;
    sums.add(outputs[i], fitted(cotangents[i], outputs[i].shape(), outputs[i].dtype()));
  }
  for (auto op = log_->ops().rbegin(); op != log_->ops().rend(); ++op) {
    std::vector<Tensor> grads;
    for (const Tensor& result : op->results) grads.push_back(sums.of(result));
    if (std::ranges::none_of(grads, &Tensor::defined)) continue;
    if (op->custom == nullptr && op->op == op::strided_slice && sums.add_slice(*op, grads[0])) continue;
    RuleCall call(*op, grads);
    apply_rule(call);
    const SourceScope scope(op->source);  // as the rule's own ops: sums belong to the line whose gradients meet
    for (std::size_t i = 0; i < op->operands.size(); ++i) {
      if (call.given()[i].defined()) sums.add(op->operands[i].tensor, call.given()[i]);
    }
  }
  std::vector<Tensor> gradients;
  for (const Tensor& x : inputs) {
    const Tensor sum = sums.of(x);
    const SourceScope line(line_of(site));
    gradients.push_back(sum.defined() ? sum : zeros_like(x));
  }
  return gradients;
}

namespace {

/// The tangents of an op's results. A rule is linear in the cotangents, so what it is to them is read off by
/// differentiating it by them: the transpose of a transpose. Everything else it computes is dead and never run.
std::vector<Tensor> push_through(const LoggedOp& op, std::span<const Tensor> tangents) {
  Differentiation by_cotangents;
  std::vector<Tensor> cotangents;
  std::vector<Tensor> followed;
  for (const Tensor& result : op.results) {
    const bool differentiable = is_inexact(result.dtype());
    cotangents.push_back(differentiable ? by_cotangents.follow(zeros_like(result)) : Tensor{});
    if (differentiable) followed.push_back(cotangents.back());
  }
  RuleCall call(op, cotangents);
  apply_rule(call);
  by_cotangents.end();
  const SourceScope scope(op.source);
  std::vector<Tensor> given;
  std::vector<Tensor> weights;
  for (std::size_t i = 0; i < tangents.size(); ++i) {
    if (!tangents[i].defined() || !call.given()[i].defined()) continue;
    given.push_back(call.given()[i]);
    weights.push_back(tangents[i]);
  }
  std::vector<Tensor> pulled = by_cotangents.pull_back(given, weights, followed);
  std::vector<Tensor> all;
  std::size_t next = 0;
  for (const Tensor& cotangent : cotangents) all.push_back(cotangent.defined() ? pulled[next++] : Tensor{});
  return all;
}

}  // namespace

std::vector<Tensor> Differentiation::push_forward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                                  const std::vector<Tensor>& tangents,
                                                  std::source_location site) const {
  check_pairs_of("push_forward", site, "tangent", inputs, "input", tangents);
  Tangents known;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const SourceScope line(line_of(site));
    if (tangents[i].defined()) accumulate(known, inputs[i], fitted(tangents[i], inputs[i].shape(), inputs[i].dtype()));
  }
  for (const LoggedOp& op : log_->ops()) {
    std::vector<Tensor> arriving;
    for (const LoggedOperand& operand : op.operands) {
      arriving.push_back(operand.followed ? find(known, operand.tensor) : Tensor{});
    }
    if (std::ranges::none_of(arriving, &Tensor::defined)) continue;
    const std::vector<Tensor> leaving = push_through(op, arriving);
    for (std::size_t i = 0; i < leaving.size(); ++i) {
      if (leaving[i].defined()) known[op.results[i].state()] = leaving[i];
    }
  }
  std::vector<Tensor> result;
  for (const Tensor& output : outputs) {
    const Tensor& tangent = find(known, output);
    const SourceScope line(line_of(site));
    result.push_back(tangent.defined() ? tangent : zeros_like(output));
  }
  return result;
}

std::vector<Tensor> RecomputedBackward::operator()(const std::vector<Tensor>& given,
                                                   const std::vector<Tensor>& /*outputs*/,
                                                   const std::vector<Tensor>& cotangents) const {
  Differentiation differentiation;
  std::vector<Tensor> followed;
  std::vector<Tensor> barred;
  for (const Tensor& x : given) {
    const bool differentiable = is_inexact(x.dtype());
    barred.push_back(prim::barrier(x));
    if (differentiable) barred.back() = followed.emplace_back(differentiation.follow(barred.back()));
  }
  const std::vector<Tensor> outputs = [&] {
    const RepeatedDraws same(*draws);
    std::vector<Tensor> again = function(barred);
    same.finish();
    return again;
  }();
  differentiation.end();
  const std::vector<Tensor> pulled = differentiation.pull_back(outputs, cotangents, followed);
  std::vector<Tensor> all;
  std::size_t next = 0;
  for (const Tensor& x : given) {
    all.push_back(is_inexact(x.dtype()) ? pulled[next++] : Tensor{});
  }
  return all;
}

std::vector<Tensor> checkpoint(const TensorFunction& function, const std::vector<Tensor>& inputs,
                               std::source_location site) {
  require_function("checkpoint", site, static_cast<bool>(function));
  const auto draws = std::make_shared<std::vector<Draw>>();
  const auto first = [&](const std::vector<Tensor>& given) {
    RecordedDraws recorded;
    std::vector<Tensor> outputs = function(given);
    *draws = recorded.take();
    return outputs;
  };
  return custom_gradient(first, RecomputedBackward{function, draws}, inputs, site);
}

void Differentiation::visit_functions(const std::function<void(const BackwardFunction&)>& backward,
                                      const std::function<void(const TensorFunction&)>& recomputed) const {
  const auto visit = [&](const BackwardFunction& function) {
    const BackwardFunction* inner = &function;
    while (const auto* batched = inner->target<BatchedBackward>()) inner = &batched->backward;
    if (const auto* again = inner->target<RecomputedBackward>()) {
      recomputed(again->function);
    } else {
      backward(*inner);
    }
  };
  for (const LoggedOp& op : log_->ops()) {
    if (op.custom != nullptr) visit(*op.custom);
  }
}

void Differentiation::forget() { log_->forget(); }

}  // namespace lento
