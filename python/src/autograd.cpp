#include "autograd.h"
#include "python/autograd.calls.gen.h"

#include "arguments.h"
#include "classes.h"
#include "creation.h"
#include "errors.h"
#include "gil.h"
#include "source.h"
#include "tensor_type.h"

#include <lento/batching.h>
#include <lento/differentiation.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace lento::python {
namespace {

/// A tensor for each item of a list; None is undefined.
std::vector<Tensor> tensors_in(const nb::sequence& items, const char* name) {
  std::vector<Tensor> tensors;
  for (const nb::handle item : items) {
    if (item.is_none()) {
      tensors.emplace_back();
    } else if (is_tensor(item.ptr())) {
      tensors.push_back(tensor_of(item.ptr()));
    } else {
      raise(PyExc_TypeError, "%s must be tensors, not %s", name, Py_TYPE(item.ptr())->tp_name);
    }
  }
  return tensors;
}

nb::list list_of(const std::vector<Tensor>& tensors) {
  nb::list list;
  for (const Tensor& tensor : tensors) list.append(tensor.defined() ? nb::steal(wrap(tensor)) : nb::none());
  return list;
}

/// What is followed for each leaf, None for those that are no floating tensors; and the leaves with other handles on
/// these.
nb::tuple follow(Differentiation& self, const nb::list& leaves) {
  const PythonSourceScope source;
  const std::size_t count = leaves.size();
  // Copies, because other threads may rebind their handles while this one waits.
  std::vector<Tensor> tensors(count);
  for (std::size_t i = 0; i < count; ++i) {
    const nb::handle leaf = leaves[i];
    if (is_tensor(leaf.ptr()) && is_inexact(tensor_of(leaf.ptr()).dtype())) tensors[i] = tensor_of(leaf.ptr());
  }
  {
    const MayBlock may_block;
    for (Tensor& tensor : tensors) {
      if (tensor.defined()) tensor = self.follow(tensor);
    }
  }
  nb::list inputs = list_of(tensors);
  nb::list given;
  for (std::size_t i = 0; i < count; ++i) {
    if (tensors[i].defined()) {
      given.append(nb::steal(wrap(tensors[i])));
    } else {
      given.append(leaves[i]);
    }
  }
  return nb::make_tuple(std::move(inputs), std::move(given));
}

/// Without cotangents they are ones. None for what is none among the inputs.
nb::list pull_back(const Differentiation& self, const nb::sequence& outputs, const nb::object& cotangents,
                   const nb::sequence& inputs) {
  const PythonSourceScope source;
  const std::vector<Tensor> results = tensors_in(outputs, "outputs");
  std::vector<Tensor> weights;
  if (cotangents.is_none()) {
    const MayBlock may_block;
    for (const Tensor& result : results) weights.push_back(ones_like(result));
  } else {
    weights = tensors_in(nb::cast<nb::sequence>(cotangents), "cotangents");
  }
  std::vector<Tensor> gradients = tensors_in(inputs, "inputs");
  std::vector<Tensor> followed;
  for (const Tensor& input : gradients) {
    if (input.defined()) followed.push_back(input);
  }
  std::vector<Tensor> pulled;
  {
    const MayBlock may_block;
    pulled = self.pull_back(results, weights, followed);
  }
  auto next = pulled.begin();
  for (Tensor& gradient : gradients) {
    if (gradient.defined()) gradient = std::move(*next++);
  }
  return list_of(gradients);
}

nb::list push_forward(const Differentiation& self, const nb::sequence& outputs, const nb::sequence& inputs,
                      const nb::sequence& tangents) {
  const PythonSourceScope source;
  const std::vector<Tensor> results = tensors_in(outputs, "outputs");
  const std::vector<Tensor> followed = tensors_in(inputs, "inputs");
  const std::vector<Tensor> changes = tensors_in(tangents, "tangents");
  const MayBlock may_block;
  return list_of(self.push_forward(results, followed, changes));
}

const Tensor& tensor_in(const nb::object& x, const char* what) {
  if (!is_tensor(x.ptr())) raise(PyExc_TypeError, "vmap: %s must be tensors, not %s", what, Py_TYPE(x.ptr())->tp_name);
  return tensor_of(x.ptr());
}

void make_batching(Batching* self, std::int64_t size, std::string_view randomness) {
  constexpr std::array kWords = {std::pair("error", Randomness::error), std::pair("same", Randomness::same),
                                 std::pair("different", Randomness::different)};
  for (const auto& [word, how] : kWords) {
    if (randomness != word) continue;
    new (self) Batching(size, how);
    return;
  }
  raise(PyExc_ValueError, "vmap: randomness is 'error', 'same' or 'different', not '%s'",
        std::string(randomness).c_str());
}

bool depends(const Batching& self, const nb::object& y) { return self.depends(tensor_in(y, "results")); }

nb::object enter(Batching& self, const nb::object& x, std::int64_t axis) {
  const PythonSourceScope source;
  const Tensor held = tensor_in(x, "arguments");
  const MayBlock may_block;
  return nb::steal(wrap(self.enter(held, axis)));
}

nb::object leave(Batching& self, const nb::object& y, std::optional<std::int64_t> axis) {
  const PythonSourceScope source;
  const Tensor held = tensor_in(y, "results");
  const MayBlock may_block;
  return nb::steal(wrap(self.leave(held, axis)));
}

nb::object stopped(const nb::object& x) {
  const PythonSourceScope source;
  const Tensor held = is_tensor(x.ptr()) ? tensor_of(x.ptr()) : as_tensor(x.ptr());
  const MayBlock may_block;
  return nb::steal(wrap(stop_gradient(held)));
}

// Both call Python with the GIL, which they take back where the engine was allowed to block.

/// A Python function of lists of tensors as a C++ one.
struct PythonFunction {
  nb::callable function;

  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const {
    const WithGil gil;
    return tensors_in(nb::cast<nb::sequence>(function(list_of(inputs))), "results");
  }
};

/// The same for a derivative.
struct PythonBackward {
  nb::callable function;

  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                                 const std::vector<Tensor>& cotangents) const {
    const WithGil gil;
    const nb::object result = function(list_of(inputs), list_of(outputs), list_of(cotangents));
    return tensors_in(nb::cast<nb::sequence>(result), "cotangents");
  }
};

nb::list with_custom_gradient(const nb::callable& function, const nb::callable& backward, const nb::sequence& inputs) {
  const PythonSourceScope source;
  const std::vector<Tensor> given = tensors_in(inputs, "inputs");
  const MayBlock may_block;
  return list_of(custom_gradient(PythonFunction{function}, PythonBackward{backward}, given));
}

nb::list checkpointed(const nb::callable& function, const nb::sequence& inputs) {
  const PythonSourceScope source;
  const std::vector<Tensor> given = tensors_in(inputs, "inputs");
  const MayBlock may_block;
  return list_of(checkpoint(PythonFunction{function}, given));
}

/// A derivative may hold what holds the differentiation: a cycle through C++ that the collector must see.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  int result = 0;
  const auto visit_one = [&](const auto* held) {
    if (held != nullptr && result == 0) result = visit(held->function.ptr(), arg);
  };
  nb::inst_ptr<Differentiation>(self)->visit_functions(
      [&](const BackwardFunction& backward) { visit_one(backward.target<PythonBackward>()); },
      [&](const TensorFunction& function) { visit_one(function.target<PythonFunction>()); });
  return result;
}

int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<Differentiation>(self)->forget();
  return 0;
}

PyType_Slot differentiation_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(&clear)},
    {0, nullptr},
};

}  // namespace

void bind_autograd(nb::module_& module) {
  auto differentiation =
      nb::class_<Differentiation>(module, "_Differentiation", nb::is_final(), nb::type_slots(differentiation_slots));
  make_only_by_call(differentiation.ptr());
  differentiation.def(nb::init<>())
      .def("follow", &follow, nb::arg("leaves"))
      .def("end", &Differentiation::end)
      .def("pull_back", &pull_back, nb::arg("outputs"), nb::arg("cotangents").none(), nb::arg("inputs"))
      .def("push_forward", &push_forward, nb::arg("outputs"), nb::arg("inputs"), nb::arg("tangents"));
  auto batching = nb::class_<Batching>(module, "_Batching", nb::is_final());
  make_only_by_call(batching.ptr());
  batching.def("__init__", &make_batching, nb::arg("size"), nb::arg("randomness"))
      .def("enter", &enter, nb::arg("x"), nb::arg("axis"))
      .def("end", &Batching::end)
      .def("depends", &depends, nb::arg("y"))
      .def("leave", &leave, nb::arg("y"), nb::arg("axis").none());
  module.def("stop_gradient", &stopped, nb::arg("x"),
             "x as a constant: derivatives do not pass.\n\n"
             "    >>> lento.grad(lambda x: x * lento.stop_gradient(x))(lento.asarray(3.0))\n"
             "    tensor(3., dtype=float32)");
  module.def("_custom_gradient", &with_custom_gradient, nb::arg("function"), nb::arg("backward"), nb::arg("inputs"));
  module.def("_checkpoint", &checkpointed, nb::arg("function"), nb::arg("inputs"));
}

}  // namespace lento::python
