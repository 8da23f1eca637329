#include "optim.h"

#include "arguments.h"
#include "changes.h"
#include "errors.h"
#include "gil.h"
#include "source.h"
#include "tensor_type.h"

#include <lento/optim.h>

#include "executor/host_numbers.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace lento::python {
namespace {

/// One step of an optimizer: what `Optimizer.step` of lento/optim/_optimizer.py gives. Tensor objects get their new
/// values when all are recorded.
class Step {
 public:
  /// `caller` is what errors begin with; `names` are those of the parameters; `kept` is a list for each name of what is
  /// kept, with None where there is nothing. Throws where a gradient does not fit.
  Step(std::string_view caller, const nb::list& names, const nb::list& parameters, const nb::list& gradients,
       const nb::list& kept)
      : scope_(optim::detail::lasting(caller), Source{}) {
    const std::size_t count = nb::len(parameters);
    objects_.reserve(count * (nb::len(kept) + 1));
    for (std::size_t i = 0; i < count; ++i) {
      add(parameters[i]);
      for (const nb::handle all : kept) add(nb::cast<nb::list>(all)[i]);
    }
    each_ = nb::len(kept) + 1;
    for (std::size_t i = 0; i < count; ++i) {
      const nb::object gradient = gradients[i];
      const auto name = nb::cast<std::string_view>(names[i]);
      if (!is_tensor(gradient.ptr())) {
        raise(PyExc_TypeError, "%s: the gradient of %s is %R instead of a tensor", std::string(caller).c_str(),
              std::string(name).c_str(), gradient.ptr());
      }
      gradients_.push_back(tensor_of(gradient.ptr()));
      optim::detail::check_gradient(name, values_[i * each_], gradients_.back());
    }
  }

  /// Calls `update(number, parameter, gradient, kept)` for each parameter.
  template <class Update>
  void run(Update update) {
    {
      const MayBlock may_block;
      std::span<Tensor> rest = values_;
      for (std::size_t i = 0; i < gradients_.size(); ++i) {
        update(i, rest[0], gradients_[i], rest.subspan(1, each_ - 1));
        rest = rest.subspan(each_);
      }
    }
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      if (objects_[i].is_none()) continue;
      note_change(objects_[i].ptr());
      tensor_of(objects_[i].ptr()) = std::move(values_[i]);
    }
  }

 private:
  void add(nb::object object) {
    if (!object.is_none() && !is_tensor(object.ptr())) {
      raise(PyExc_TypeError, "an optimizer keeps tensors, not %R", object.ptr());
    }
    values_.push_back(object.is_none() ? Tensor() : tensor_of(object.ptr()));
    objects_.push_back(std::move(object));
  }

  PythonSourceScope source_;
  CallScope scope_;
  std::vector<nb::object> objects_;  // each parameter and what is kept for it, one after another
  std::vector<Tensor> values_;
  std::vector<Tensor> gradients_;
  std::size_t each_ = 1;  // so many of them belong to one parameter
};

using optim::Betas;
using Kept = std::span<Tensor>;

/// What `update(parameter, gradient, kept, step, settings…)` makes of a step: a function that takes the arguments of
/// Step, for each parameter the number of its group, for each group its settings, and the number of the step.
template <class... Settings>
auto step_by(void (*update)(Tensor&, const Tensor&, Kept, std::int64_t, Settings...)) {
  return [update](std::string_view caller, const nb::list& names, const nb::list& parameters, const nb::list& gradients,
                  const nb::list& kept, const std::vector<std::size_t>& groups, const nb::list& settings,
                  std::int64_t step) {
    using Row = std::tuple<Settings...>;
    std::vector<Row> rows;
    for (const nb::handle given : settings) {
      Row row;
      if (!nb::try_cast<Row>(given, row)) {
        raise(PyExc_TypeError, "%s: settings are numbers, not %R", std::string(caller).c_str(), given.ptr());
      }
      rows.push_back(row);
    }
    // In a call that is recorded to be frozen, rates and the number of the step are asked for anew (clause F3), in the
    // order of `Optimizer._host_numbers`.
    std::vector<HostNumbers::Index> rates(rows.size(), HostNumber::kPlain);
    HostNumbers::Index number = HostNumber::kPlain;
    if (HostNumbers* const host = current_host_numbers()) {
      for (std::size_t i = 0; i < rows.size(); ++i) rates[i] = host->give(std::get<0>(rows[i]));
      number = host->give(step);
    }
    Step(caller, names, parameters, gradients, kept)
        .run([&](std::size_t i, Tensor& parameter, const Tensor& gradient, Kept of_parameter) {
          const HostStep of_step(rates.at(groups.at(i)), number);
          std::apply([&](const auto&... setting) { update(parameter, gradient, of_parameter, step, setting...); },
                     rows.at(groups.at(i)));
        });
  };
}

using optim::detail::if_kept;

void sgd(Tensor& p, const Tensor& g, Kept kept, std::int64_t /*step*/, double lr, double momentum, double weight_decay,
         bool nesterov) {
  optim::sgd_update(p, g, if_kept(kept[0]), {lr, momentum, weight_decay, nesterov});
}

void rmsprop(Tensor& p, const Tensor& g, Kept kept, std::int64_t /*step*/, double lr, double alpha, double eps,
             double weight_decay, double momentum) {
  optim::rmsprop_update(p, g, kept[0], if_kept(kept[1]), if_kept(kept[2]), {lr, alpha, eps, weight_decay, momentum});
}

void adagrad(Tensor& p, const Tensor& g, Kept kept, std::int64_t step, double lr, double lr_decay, double weight_decay,
             double eps) {
  optim::adagrad_update(p, g, kept[0], {lr, step, lr_decay, weight_decay, eps});
}

void adadelta(Tensor& p, const Tensor& g, Kept kept, std::int64_t /*step*/, double lr, double rho, double eps,
              double weight_decay) {
  optim::adadelta_update(p, g, kept[0], kept[1], {lr, rho, eps, weight_decay});
}

void adam(Tensor& p, const Tensor& g, Kept kept, std::int64_t step, double lr, Betas betas, double eps,
          double weight_decay, bool decoupled) {
  optim::adam_update(p, g, kept[0], kept[1], {lr, step, betas, eps, weight_decay, decoupled});
}

void adamax(Tensor& p, const Tensor& g, Kept kept, std::int64_t step, double lr, Betas betas, double eps,
            double weight_decay) {
  optim::adamax_update(p, g, kept[0], kept[1], {lr, step, betas, eps, weight_decay});
}

void nadam(Tensor& p, const Tensor& g, Kept kept, std::int64_t step, double lr, Betas betas, double eps,
           double weight_decay, double momentum_decay, bool decoupled) {
  optim::nadam_update(p, g, kept[0], kept[1], kept[2], {lr, step, betas, eps, weight_decay, momentum_decay, decoupled});
}

void radam(Tensor& p, const Tensor& g, Kept kept, std::int64_t step, double lr, Betas betas, double eps,
           double weight_decay, bool decoupled) {
  optim::radam_update(p, g, kept[0], kept[1], {lr, step, betas, eps, weight_decay, decoupled});
}

void adafactor(Tensor& p, const Tensor& g, Kept kept, std::int64_t step, double lr, double beta2_decay,
               std::pair<std::optional<double>, double> eps, double d, double weight_decay) {
  optim::adafactor_update(p, g, kept[0], kept[1], kept[2], {lr, step, beta2_decay, eps, d, weight_decay});
}

void lion(Tensor& p, const Tensor& g, Kept kept, std::int64_t /*step*/, double lr, Betas betas, double weight_decay) {
  optim::lion_update(p, g, kept[0], {lr, betas, weight_decay});
}

/// Handles of the tensors of a list; of what is none, empty ones.
std::vector<Tensor> tensors_among(const nb::list& leaves) {
  std::vector<Tensor> tensors;
  for (const nb::handle leaf : leaves) tensors.push_back(is_tensor(leaf.ptr()) ? tensor_of(leaf.ptr()) : Tensor());
  return tensors;
}

/// The list with other tensors where there are any that differ.
nb::list with_tensors(const nb::list& leaves, const std::vector<Tensor>& before, std::vector<Tensor> after) {
  nb::list made;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool same = after[i].state() == before[i].state();
    made.append(same ? nb::object(leaves[i]) : nb::steal(wrap(std::move(after[i]))));
  }
  return made;
}

nb::object global_norm(const nb::list& leaves, double norm_type) {
  const PythonSourceScope source;
  const CallScope scope("global_norm()", Source{});
  const std::vector<Tensor> tensors = tensors_among(leaves);
  Tensor norm = [&] {
    const MayBlock may_block;
    return optim::global_norm(tensors, norm_type);
  }();
  return nb::steal(wrap(std::move(norm)));
}

std::pair<nb::list, nb::object> clip_grad_norm(const nb::list& leaves, double max_norm, double norm_type) {
  const PythonSourceScope source;
  const CallScope scope("clip_grad_norm()", Source{});
  const std::vector<Tensor> gradients = tensors_among(leaves);
  const auto [clipped, norm] = [&] {
    const MayBlock may_block;
    return optim::clip_grad_norm(gradients, max_norm, norm_type);
  }();
  return {with_tensors(leaves, gradients, clipped), nb::steal(wrap(norm))};
}

nb::list clip_grad_value(const nb::list& leaves, double limit) {
  const PythonSourceScope source;
  const CallScope scope("clip_grad_value()", Source{});
  const std::vector<Tensor> gradients = tensors_among(leaves);
  std::vector<Tensor> clipped = [&] {
    const MayBlock may_block;
    return optim::clip_grad_value(gradients, limit);
  }();
  return with_tensors(leaves, gradients, std::move(clipped));
}

/// Tensors moved by `step_size` of the way to others, for averages.
nb::list moved(std::string_view caller, const nb::list& now, const nb::list& old, double step_size) {
  const PythonSourceScope source;
  const std::vector<Tensor> before = tensors_among(old);
  const std::vector<Tensor> new_ones = tensors_among(now);
  std::vector<Tensor> made = [&] {
    const MayBlock may_block;
    return optim::detail::moved(caller, new_ones, before, step_size, std::source_location{});
  }();
  return with_tensors(old, before, std::move(made));
}

/// Those of a list that can be trained: floating and complex tensors.
nb::list trainable(const nb::list& leaves) {
  nb::list found;
  for (const nb::handle leaf : leaves) {
    if (!is_tensor(leaf.ptr())) continue;
    const DType dtype = tensor_of(leaf.ptr()).dtype();
    if (is_inexact(dtype)) found.append(leaf);
  }
  return found;
}

}  // namespace

void bind_optim(nb::module_& module) {
  module.def("_sgd_step", step_by(sgd));
  module.def("_rmsprop_step", step_by(rmsprop));
  module.def("_adagrad_step", step_by(adagrad));
  module.def("_adadelta_step", step_by(adadelta));
  module.def("_adam_step", step_by(adam));
  module.def("_adamax_step", step_by(adamax));
  module.def("_nadam_step", step_by(nadam));
  module.def("_radam_step", step_by(radam));
  module.def("_adafactor_step", step_by(adafactor));
  module.def("_lion_step", step_by(lion));
  module.def("_moved", &moved);
  module.def("_global_norm", &global_norm);
  module.def("_clip_grad_norm", &clip_grad_norm);
  module.def("_clip_grad_value", &clip_grad_value);
  module.def("_trainable", &trainable);
}

}  // namespace lento::python
