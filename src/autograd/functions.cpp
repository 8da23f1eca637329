// What the function templates grad, vjp, jvp, jacobian and vmap are made of: everything that does not depend on types.
#include <lento/autograd.h>
#include <lento/vmap.h>

#include "autograd/functions.calls.gen.h"
#include "base/fail.h"
#include "base/source.h"
#include "ops/composite_helpers.h"

#include <algorithm>

namespace lento {

MappedAxes::MappedAxes(std::initializer_list<Axis> each) : is_list_(true), each_(each) {}

namespace detail {
namespace {

bool is_differentiable(const Tensor& x) { return x.defined() && is_inexact(x.dtype()); }

}  // namespace

void refuse_empty_function(const char* caller, const std::source_location& site) {
  const CallScope scope(caller, site);
  fail<ValueError>("the function is empty");
}

std::vector<Tensor> Followed::follow(const std::vector<Tensor>& leaves, std::size_t number, bool needed) {
  const CallScope scope(caller_, site_);
  for (const Tensor& x : leaves) {
    if (!x.defined()) fail<ValueError>("argument {} has an empty handle", number);
  }
  if (needed && std::ranges::none_of(leaves, is_differentiable)) {
    if (leaves.empty()) fail<ValueError>("argument {} has no tensors", number);
    fail<DTypeError>("argument {} must be floating, not {}", number, leaves[0].dtype());
  }
  std::vector<Tensor> inside;
  for (const Tensor& x : leaves) {
    leaves_.push_back(x);
    inside.push_back(is_differentiable(x) ? followed_.emplace_back(differentiation_.follow(x)) : x);
  }
  return inside;
}

std::vector<Tensor> Followed::spread(std::vector<Tensor> followed) const {
  std::vector<Tensor> all;
  std::size_t next = 0;
  for (const Tensor& x : leaves_) all.push_back(is_differentiable(x) ? std::move(followed[next++]) : Tensor{});
  return all;
}

std::vector<Tensor> Followed::pull_back(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents,
                                        const std::source_location& site) const {
  std::vector<Tensor> ys;
  std::vector<Tensor> given;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_differentiable(outputs[i])) continue;
    if (cotangents[i].defined() && cotangents[i].shape() != outputs[i].shape()) {
      const CallScope scope(caller_, site);
      fail<ShapeError>("cotangent {} has shape {}, its output {}", i, cotangents[i].shape(), outputs[i].shape());
    }
    ys.push_back(outputs[i]);
    given.push_back(cotangents[i]);
  }
  return spread(differentiation_.pull_back(ys, given, followed_, site));
}

std::vector<Tensor> Followed::gradient(const Tensor& value) const {
  const Tensor one = [&] {
    const CallScope scope(caller_, site_);
    if (value.size() != 1) fail<ValueError>("the function must give a scalar, not {}", composite::type_of(value));
    if (is_complex(value.dtype())) fail<DTypeError>("the function must give a real number; take its real part");
    if (!is_floating(value.dtype())) fail<DTypeError>("the function gives {}, which has no derivative", value.dtype());
    return ones(value.shape(), value.dtype(), value.device());
  }();
  return spread(differentiation_.pull_back({value}, {one}, followed_, site_));
}

std::vector<Tensor> Followed::push_forward(const std::vector<Tensor>& outputs,
                                           const std::vector<Tensor>& tangents) const {
  std::vector<Tensor> changes;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (!is_differentiable(leaves_[i])) continue;
    if (tangents[i].defined() && tangents[i].shape() != leaves_[i].shape()) {
      const CallScope scope(caller_, site_);
      fail<ShapeError>("tangent {} has shape {}, its input {}", i, tangents[i].shape(), leaves_[i].shape());
    }
    changes.push_back(tangents[i]);
  }
  std::vector<Tensor> ys;
  for (const Tensor& y : outputs) {
    if (is_differentiable(y)) ys.push_back(y);
  }
  std::vector<Tensor> pushed = differentiation_.push_forward(ys, followed_, changes, site_);
  std::vector<Tensor> all;
  std::size_t next = 0;
  for (const Tensor& y : outputs) all.push_back(is_differentiable(y) ? std::move(pushed[next++]) : Tensor{});
  return all;
}

std::vector<Tensor> Followed::jacobian(const Tensor& y) const {
  if (!y.defined()) return std::vector<Tensor>(leaves_.size());  // the slope by integers, which a Hessian is made of
  const std::int64_t count = y.size();
  const Tensor basis = [&] {
    const CallScope scope(caller_, site_);
    if (!is_differentiable(y)) fail<DTypeError>("the function gives {}, which has no derivative", y.dtype());
    if (is_complex(y.dtype())) fail<DTypeError>("the function must give real numbers; take their real part");
    Shape shape{count};
    shape.append(y.shape());
    return reshape(eye(count, {}, 0, y.dtype(), y.device()), shape);
  }();
  std::vector<Tensor> rows;
  if (count == 0) {
    for (const Tensor& x : followed_) {
      Shape shape{0};
      shape.append(x.shape());
      rows.push_back(zeros(shape, x.dtype(), x.device(), site_));
    }
  } else {
    Batching batching(count, Randomness::same, site_);
    const Tensor one = batching.enter(basis, 0, site_);
    const std::vector<Tensor> pulled = differentiation_.pull_back({y}, {one}, followed_, site_);
    batching.end();
    for (const Tensor& row : pulled) rows.push_back(batching.leave(row, 0, site_));
  }
  const CallScope scope(caller_, site_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Shape shape = y.shape();
    shape.append(followed_[i].shape());
    rows[i] = reshape(rows[i], shape);
  }
  return spread(std::move(rows));
}

void refuse_axes(const char* what, std::size_t axes, std::size_t entries, const std::source_location& site) {
  const CallScope scope("vmap", site);
  fail<ValueError>("{} has {} entries for {} {}", what, axes, entries,
                   std::string_view(what) == "in_axes" ? "arguments" : "results");
}

Mapped::Mapped(const std::vector<Tensor>& leaves, const std::vector<Axis>& axes, Randomness randomness,
               const std::source_location& site)
    : site_(site), examples_(leaves) {
  const std::int64_t size = [&] {
    const CallScope scope("vmap", site);
    for (const Tensor& x : leaves) {
      if (!x.defined()) fail<ValueError>("an argument has an empty handle");
    }
    std::optional<std::int64_t> found;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!axes[i]) continue;
      if (*axes[i] < -leaves[i].rank() || *axes[i] >= leaves[i].rank()) {
        fail<IndexError>("an argument of shape {} has no axis {}; in_axes nullopt is for what all examples share",
                         leaves[i].shape(), *axes[i]);
      }
      if (!found) found = leaves[i].shape()[static_cast<std::size_t>(composite::axis_of(leaves[i], *axes[i]))];
    }
    if (!found) fail<ValueError>("no argument has an axis of examples");
    return *found;
  }();
  batching_.emplace(size, randomness, site);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (axes[i]) examples_[i] = batching_->enter(leaves[i], *axes[i], site);
  }
}

void Mapped::end(const std::vector<Tensor>& leaves, const std::vector<Axis>& axes, const TensorDict& buffers) {
  batching_->end();
  if (leaves.size() != axes.size()) {
    const CallScope scope("vmap", site_);
    fail<ValueError>("the function left {} tensors in its arguments instead of {}; return them instead", leaves.size(),
                     axes.size());
  }
  const auto refuse_change = [&](const char* what, const Tensor& x, const char* instead) {
    const CallScope scope("vmap", site_);
    fail<ValueError>(
        "the function changed {} of shape {} that all examples share to something that differs between them; {}", what,
        x.shape(), instead);
  };
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!axes[i] && leaves[i].defined() && batching_->depends(leaves[i])) {
      refuse_change("an argument", leaves[i], "return it instead");
    }
  }
  for (const auto& [name, buffer] : buffers) {
    if (buffer.defined() && batching_->depends(buffer)) {
      refuse_change("a module's buffer", buffer, "use eval(), or a layer without running statistics");
    }
  }
}

std::vector<Tensor> Mapped::leave(const std::vector<Tensor>& results, const std::vector<Axis>& axes) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) {
      const CallScope scope("vmap", site_);
      fail<ValueError>("result {} is an empty tensor handle", i);
    }
    all.push_back(batching_->leave(results[i], axes[i], site_));
  }
  return all;
}

}  // namespace detail
}  // namespace lento
