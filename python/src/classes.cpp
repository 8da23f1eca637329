// dtype, Device, Generator: small value classes bound with nanobind.
#include "classes.h"
#include "python/classes.calls.gen.h"

#include "arguments.h"
#include "convert.h"
#include "creation.h"
#include "source.h"

#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <array>
#include <optional>
#include <string>

namespace nb = nanobind;

namespace lento::python {
namespace {

// A class of its own, so that an enum bound elsewhere cannot be mistaken for it.
struct DTypeBox {
  DType value;
};

PyTypeObject* dtype_type = nullptr;
PyTypeObject* device_type = nullptr;
PyTypeObject* generator_type = nullptr;
std::array<PyObject*, kDTypeCount> dtype_objects = {};

PyObject* refuse_new(PyTypeObject* type, PyObject* /*args*/, PyObject* /*names*/) {
  PyErr_Format(PyExc_TypeError, "%s.__new__() makes no object; call the class, or the function that makes one",
               type->tp_name);
  return nullptr;
}

char kind_of(DType dtype) {
  if (is_bool(dtype)) return 'b';
  if (is_signed_integer(dtype)) return 'i';
  if (is_unsigned_integer(dtype)) return 'u';
  return is_floating(dtype) ? 'f' : 'c';
}

// lento.float32 == "float32" == np.float32 == np.dtype("float32"): whatever names a dtype where one is asked for. A raw
// slot, because `x.dtype == lento.float32` is asked often.
PyObject* compare_dtypes(PyObject* self, PyObject* other, int operation) {
  if (operation != Py_EQ && operation != Py_NE) return Py_NewRef(Py_NotImplemented);
  bool equal = self == other;
  if (!equal && Py_TYPE(other) != dtype_type) {
    try {
      const auto dtype = to_dtype(other);
      if (!dtype) return Py_NewRef(Py_NotImplemented);
      equal = *dtype == *dtype_value(self);
    } catch (const PythonError&) {
      PyErr_Clear();  // the name of nothing that Lento has
    }
  }
  return PyBool_FromLong(equal == (operation == Py_EQ) ? 1 : 0);
}

// As its name's, which it is equal to.
Py_hash_t hash_dtype(PyObject* self) {
  const PyRef text(PyUnicode_FromString(std::string(name(*dtype_value(self))).c_str()));
  return text ? PyObject_Hash(text.get()) : -1;
}

// lento.float32(2) and lento.float32([1, 2]): a tensor of this dtype, as np.float32 makes a number or an array.
Parameter kConverted[] = {{"x", Kind::tensor, kDefaulted}};

Signature& signature_of(DType dtype) {
  static std::array<Signature, kDTypeCount> signatures = [] {
    static std::array<std::string, kDTypeCount> names;
    std::array<Signature, kDTypeCount> made;
    for (std::size_t d = 0; d < made.size(); ++d) {
      names[d] = name(static_cast<DType>(d));
      made[d] = {.name = names[d].c_str(), .parameters = kConverted};
    }
    return made;
  }();
  return signatures[static_cast<std::size_t>(dtype)];
}

PyObject* call_dtype(PyObject* self, PyObject* args, PyObject* names) {
  Signature& signature = signature_of(*dtype_value(self));
  if (names != nullptr && PyDict_GET_SIZE(names) != 0) {
    PyErr_Format(PyExc_TypeError, "%s() takes no keyword arguments", signature.name);
    add_place();
    return nullptr;
  }
  return call(signature, nullptr, PySequence_Fast_ITEMS(args), PyTuple_GET_SIZE(args), nullptr, [](const Arguments& a) {
    const DType dtype = *dtype_from_name(a.signature().name);
    if (!a.given(0)) return wrap(lento::zeros(Ints{}, dtype));
    return wrap(as_tensor(a.object(0), dtype));
  });
}

PyType_Slot dtype_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(call_dtype)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare_dtypes)},
    {Py_tp_hash, reinterpret_cast<void*>(hash_dtype)},
    {0, nullptr},
};

void bind_dtype(nb::module_& module) {
  auto bound = nb::class_<DTypeBox>(module, "DType", nb::is_final(), nb::type_slots(dtype_slots),
                                    "An element type, such as lento.float32. There is one object for each. "
                                    "Called, it makes a\ntensor of this type: lento.float32(2).\n\n"
                                    "Equal to everything that names it where a dtype is asked for:\n\n"
                                    "    >>> lento.float32 == \"float32\"\n"
                                    "    True\n"
                                    "    >>> (lento.float32.name, lento.float32.kind, lento.float32.itemsize)\n"
                                    "    ('float32', 'f', 4)\n");
  make_only_by_call(bound.ptr());
  bound
      .def("__init__",
           [](DTypeBox*, const nb::args&, const nb::kwargs&) {
             raise(PyExc_TypeError, "DType(): dtypes are lento.float32 and the like, or their names");
           })
      .def_prop_ro(
          "name", [](const DTypeBox& self) { return std::string(name(self.value)); }, "Its name: 'float32'.")
      .def_prop_ro(
          "kind", [](const DTypeBox& self) { return std::string(1, kind_of(self.value)); },
          "'b', 'i', 'u', 'f' or 'c', as in NumPy.")
      .def_prop_ro(
          "itemsize", [](const DTypeBox& self) { return size_of(self.value); }, "Bytes of one element.")
      .def_prop_ro(
          "__numpy_dtype__",
          [](const DTypeBox& self) {
            const bool own_module = self.value == DType::bfloat16;
            const nb::module_ module = nb::module_::import_(own_module ? "ml_dtypes" : "numpy");
            const nb::object named = own_module ? module.attr("bfloat16")
                                                : nb::object(nb::str(name(self.value).data(), name(self.value).size()));
            return nb::module_::import_("numpy").attr("dtype")(named);
          },
          "For NumPy, from 2.4 on: np.zeros(3, dtype=lento.float32).")
      .def("__repr__", [](const DTypeBox& self) { return "lento." + std::string(name(self.value)); })
      .def("__str__", [](const DTypeBox& self) { return std::string(name(self.value)); })
      .def("__reduce__", [](const DTypeBox& self) {
        // Functions of nanobind cannot be pickled; the package has plain ones for this.
        return nb::make_tuple(nb::module_::import_("lento._pickle").attr("dtype"),
                              nb::make_tuple(std::string(name(self.value))));
      });
  dtype_type = reinterpret_cast<PyTypeObject*>(bound.ptr());
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    dtype_objects[static_cast<std::size_t>(d)] = nb::cast(DTypeBox{dtype}).release().ptr();
    module.attr(std::string(name(dtype)).c_str()) = nb::borrow(dtype_objects[static_cast<std::size_t>(d)]);
  }
  module.def(
      "as_dtype",
      [](const nb::object& object) {
        const auto dtype = to_dtype(object.ptr());
        if (!dtype) raise(PyExc_TypeError, "%R is no dtype", object.ptr());
        return nb::steal(from_dtype(*dtype));
      },
      nb::arg("dtype"), "lento's dtype for np.float32, 'float32', float, …");
  module.def(
      "promote_types",
      [](const nb::object& a, const nb::object& b) {
        const auto first = to_dtype(a.ptr());
        const auto second = to_dtype(b.ptr());
        if (!first || !second) raise(PyExc_TypeError, "%R is no dtype", (first ? b : a).ptr());
        return nb::steal(from_dtype(promote(*first, *second)));
      },
      nb::arg("type1"), nb::arg("type2"), "The dtype that operands of these two are converted to.");
}

/// A DeviceScope whose end a with block says.
class OpenDeviceScope {
 public:
  explicit OpenDeviceScope(Device device) { scope_.emplace(device); }
  void close() { scope_.reset(); }

 private:
  std::optional<DeviceScope> scope_;
};

void bind_device(nb::module_& module) {
  auto bound = nb::class_<Device>(module, "Device", nb::is_final(), "A device, such as Device('reference:0').");
  make_only_by_call(bound.ptr());
  bound
      .def(
          "__init__",
          [](Device* self, const nb::object& name) {
            const auto text = to_string_view(name.ptr());
            if (!text)
              raise(PyExc_TypeError, "Device(): argument 'name' must be str, not %s", Py_TYPE(name.ptr())->tp_name);
            const PythonSourceScope source;
            new (self) Device(*text);
          },
          nb::arg("name"), nb::sig("def __init__(self, name: str) -> None"))
      .def("__repr__", [](Device self) { return "Device('" + self.to_string() + "')"; })
      .def("__str__", [](Device self) { return self.to_string(); })
      .def("__hash__", [](Device self) { return static_cast<Py_hash_t>(self.id()) + 1; })
      .def("__eq__",
           [](Device self, const nb::object& other) -> nb::object {
             if (const Device* device = device_value(other.ptr())) return nb::bool_(*device == self);
             if (const auto text = to_string_view(other.ptr())) {
               const std::string own_name = self.to_string();
               return nb::bool_(*text == own_name || std::string(*text) + ":0" == own_name);
             }
             return nb::borrow(Py_NotImplemented);
           })
      .def_prop_ro(
          "is_lost", &Device::is_lost,
          "Whether the device stopped working: what was on it is gone, and what needs it raises DeviceLostError.")
      .def("__reduce__", [bound](Device self) { return nb::make_tuple(bound, nb::make_tuple(self.to_string())); });
  device_type = reinterpret_cast<PyTypeObject*>(bound.ptr());
  module.def(
      "devices",
      [] {
        nb::list list;
        for (const Device device : lento::devices()) list.append(device);
        return list;
      },
      "All devices there are, also those that are lost (``is_lost``). Touches none of them.");
  module.def(
      "default_device", [] { return lento::default_device(); },
      "The device of tensors that are made without naming one: that of the innermost ``with lento.device(…)`` of this "
      "thread,\nor else what ``set_default_device`` was given, or else what the variable LENTO_DEVICE names, or else "
      "the "
      "first one.");
  module.def(
      "set_default_device",
      [](const nb::object& device) {
        lento::set_default_device(device_or_default(device.ptr(), "set_default_device"));
      },
      nb::arg("device"),
      "Tensors that any thread makes from now on without naming a device are made there; those that exist stay where "
      "they are.");
  auto scope = nb::class_<OpenDeviceScope>(module, "_DeviceScope", nb::is_final());
  scope
      .def("__init__",
           [](OpenDeviceScope* self, const nb::object& device) {
             new (self) OpenDeviceScope(device_or_default(device.ptr(), "device"));
           })
      .def("close", &OpenDeviceScope::close);
  make_only_by_call(scope.ptr());
}

void bind_generator(nb::module_& module) {
  auto bound = nb::class_<Generator>(module, "Generator", nb::is_final(),
                                     "A sequence of random numbers of its own. Its state can be read and set.");
  make_only_by_call(bound.ptr());
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  bound
      .def(
          "__init__",
          [](Generator* self, const nb::object& seed) {
            new (self) Generator(count_argument(seed.ptr(), "Generator", "seed"));
          },
          nb::arg("seed") = Generator::kFirstSeed)
      .def(
          "seed",
          [](Generator& self, const nb::object& seed) { self.seed(count_argument(seed.ptr(), "seed", "seed")); },
          nb::arg("seed"), "Restarts the sequence of this seed.")
      .def_prop_rw(
          "state", [](const Generator& self) { return Pair(self.state().seed, self.state().counter); },
          [](Generator& self, Pair state) { self.set_state({state.first, state.second}); },
          "(seed, counter): everything that decides what comes next.")
      .def("__reduce__", [](const Generator& self) {
        return nb::make_tuple(nb::module_::import_("lento._pickle").attr("generator"),
                              nb::make_tuple(self.state().seed, self.state().counter));
      });
  generator_type = reinterpret_cast<PyTypeObject*>(bound.ptr());
  module.def(
      "default_generator", [] { return nb::cast(default_generator(), nb::rv_policy::reference); },
      "The generator of random ops that were given none.");
}

}  // namespace

void make_only_by_call(PyObject* type) { reinterpret_cast<PyTypeObject*>(type)->tp_new = refuse_new; }

const DType* dtype_value(PyObject* object) {
  return Py_TYPE(object) == dtype_type ? &nb::inst_ptr<DTypeBox>(object)->value : nullptr;
}

const Device* device_value(PyObject* object) {
  return Py_TYPE(object) == device_type ? nb::inst_ptr<Device>(object) : nullptr;
}

Generator* generator_value(PyObject* object) {
  return Py_TYPE(object) == generator_type ? nb::inst_ptr<Generator>(object) : nullptr;
}

PyObject* from_dtype(DType dtype) { return Py_NewRef(dtype_objects[static_cast<std::size_t>(dtype)]); }

PyObject* from_device(Device device) { return nb::cast(device).release().ptr(); }

void add_classes(PyObject* module) {
  nb::module_ core = nb::borrow<nb::module_>(module);
  bind_dtype(core);
  bind_device(core);
  bind_generator(core);
}

}  // namespace lento::python
