#include "dlpack.h"

#include "arguments.h"
#include "convert.h"
#include "creation.h"
#include "foreign.h"
#include "functions.h"
#include "gil.h"
#include "tensor_type.h"

#include <lento/dlpack.h>

#include "interop/dlpack.h"

#include <concepts>
#include <functional>
#include <memory>
#include <utility>

namespace lento::python {
namespace {

constexpr const char* kPlain = "dltensor";
constexpr const char* kPlainUsed = "used_dltensor";
constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kVersionedUsed = "used_dltensor_versioned";

// --- giving ---

template <class Managed>
void destroy_capsule(PyObject* capsule) {
  constexpr const char* name = std::same_as<Managed, DLManagedTensor> ? kPlain : kVersioned;
  if (PyCapsule_IsValid(capsule, name) == 0) return;  // somebody consumed it
  DLPackDeleter()(static_cast<Managed*>(PyCapsule_GetPointer(capsule, name)));
}

template <class Managed>
PyObject* capsule_with(std::unique_ptr<Managed, DLPackDeleter> managed) {
  constexpr const char* name = std::same_as<Managed, DLManagedTensor> ? kPlain : kVersioned;
  PyObject* capsule = checked(PyCapsule_New(managed.get(), name, destroy_capsule<Managed>));
  (void)managed.release();
  return capsule;
}

/// Waits with the GIL released.
auto without_gil(const auto& function) {
  const WithoutGil released;
  return function();
}

void require_host_memory(const Tensor& tensor) {
  if (in_host_memory(tensor.device())) return;
  raise(PyExc_BufferError, "__dlpack__(): tensors on %s cannot be exported; move them with to_device first",
        tensor.device().to_string().c_str());
}

Parameter dlpack_parameters[] = {
    {"self", Kind::tensor},
    {"stream", Kind::integer, kOptional | kKeywordOnly},
    {"max_version", Kind::integers, kOptional | kKeywordOnly},
    {"dl_device", Kind::integers, kOptional | kKeywordOnly},
    {"copy", Kind::boolean, kOptional | kKeywordOnly},
};
Signature dlpack_signature{"__dlpack__", dlpack_parameters};

PyObject* dlpack_method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(dlpack_signature, self, args, count, names, [](const Arguments& a) {
    const Tensor tensor = a.tensor(0);
    require_host_memory(tensor);
    if (a.optional_integer(1))
      raise(PyExc_BufferError, "__dlpack__(): host memory has no streams; stream must be None");
    const OptionalInts asked_version = a.optional_integers(2);
    const OptionalInts asked_device = a.optional_integers(3);
    const Ints version = asked_version ? *asked_version : Ints{0, 0};
    const Ints device = asked_device ? *asked_device : Ints{dlpack::kCpu, 0};
    if (device.empty() || device[0] != dlpack::kCpu) {
      raise(PyExc_BufferError, "__dlpack__(): the tensor is in host memory; dl_device must be (1, 0)");
    }
    const std::optional<bool> copy = a.optional_boolean(4);
    if (!version.empty() && version[0] >= dlpack::kMajor) {
      return capsule_with(without_gil([&] { return to_dlpack(tensor, copy.value_or(false)); }));
    }
    // This consumer cannot be told that it must not write, so it gets memory of its own unless it insists: the Array
    // API's own suite asks for copy=False without a version, and for no error.
    return capsule_with(without_gil([&] { return to_dlpack_unversioned(tensor, copy.value_or(true)); }));
  });
}

Parameter device_parameters[] = {{"self", Kind::tensor}};
Signature device_signature{"__dlpack_device__", device_parameters};

PyObject* dlpack_device_method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(device_signature, self, args, count, names, [](const Arguments& a) {
    require_host_memory(a.tensor(0));
    return checked(Py_BuildValue("(ii)", static_cast<int>(dlpack::kCpu), 0));
  });
}

// --- taking ---

/// What a capsule held; gives it back unless that was handed on.
struct Taken {
  DLTensor array{};
  bool unchanging = false;  // nobody else will write it
  std::function<void()> give_back;

  Taken() = default;
  Taken(Taken&& other) noexcept
      : array(other.array), unchanging(other.unchanging), give_back(std::exchange(other.give_back, nullptr)) {}
  Taken(const Taken&) = delete;
  ~Taken() {
    if (give_back) give_back();
  }
};

template <class Managed>
Taken take_as(PyObject* capsule, const char* name, const char* used) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed == nullptr) throw PythonError{};
  if constexpr (std::same_as<Managed, DLManagedTensorVersioned>) dlpack::check_version(*managed);
  Taken taken;
  if (PyCapsule_SetName(capsule, used) < 0) throw PythonError{};
  taken.array = managed->dl_tensor;
  taken.unchanging = dlpack::is_unchanging(*managed);
  taken.give_back = [managed] { DLPackDeleter()(managed); };
  return taken;
}

Taken take(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kVersioned) != 0) {
    return take_as<DLManagedTensorVersioned>(capsule, kVersioned, kVersionedUsed);
  }
  if (PyCapsule_IsValid(capsule, kPlain) != 0) return take_as<DLManagedTensor>(capsule, kPlain, kPlainUsed);
  raise(PyExc_BufferError, "from_dlpack(): __dlpack__ gave %R and not an unused DLPack capsule", capsule);
}

/// x.__dlpack__(max_version=…, …); producers from before DLPack 1.0 know none of these arguments.
PyRef capsule_of(PyObject* object, bool to_host, std::optional<bool> copy) {
  const PyRef method = own(PyObject_GetAttrString(object, "__dlpack__"));
  const PyRef none = own(PyTuple_New(0));
  const PyRef named = own(Py_BuildValue("{s:(II)}", "max_version", dlpack::kMajor, dlpack::kMinor));
  if (to_host) {
    const PyRef host = own(Py_BuildValue("(ii)", static_cast<int>(dlpack::kCpu), 0));
    if (PyDict_SetItemString(named.get(), "dl_device", host.get()) < 0) throw PythonError{};
  }
  if (copy == false && PyDict_SetItemString(named.get(), "copy", Py_False) < 0) throw PythonError{};
  PyRef capsule(PyObject_Call(method.get(), none.get(), named.get()));
  if (!capsule && !to_host && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    PyErr_Clear();
    capsule = PyRef(PyObject_CallNoArgs(method.get()));
  }
  if (!capsule) throw PythonError{};
  return capsule;
}

bool is_host(PyObject* object) {
  const PyRef device = own(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  const PyRef type = own(PySequence_GetItem(device.get(), 0));
  const auto code = to_int(type.get());
  if (!code) raise(PyExc_TypeError, "from_dlpack(): __dlpack_device__ gave %R", device.get());
  return *code == dlpack::kCpu || *code == dlpack::kCudaHost;
}

Parameter from_dlpack_parameters[] = {
    {"x", Kind::tensor},  // any object with the methods
    {"device", Kind::device, kOptional | kKeywordOnly},
    {"copy", Kind::boolean, kOptional | kKeywordOnly},
};
Signature from_dlpack_signature{"from_dlpack", from_dlpack_parameters};

PyObject* from_dlpack_function(PyObject* /*module*/, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(from_dlpack_signature, nullptr, args, count, names, [](const Arguments& a) {
    PyObject* x = a.object(0);
    const auto device = a.optional_device(1);
    const bool here = is_tensor(x) && (!device || *device == tensor_of(x).device());
    if (here && a.optional_boolean(2) == false) return Py_NewRef(x);  // the same cell, as with asarray
    return wrap(from_dlpack(a.object(0), a.optional_device(1), a.optional_boolean(2)));
  });
}

const Export kExports[] = {
    {"lento", "from_dlpack", from_dlpack_function, "(x, /, *, device=None, copy=None)",
     "A tensor with the memory of an array of another library, handed over by DLPack.\n\n"
     "Memory that may still be written is copied, because a tensor is a value. It is shared where its owner says that\n"
     "nobody writes it, and with copy=False always: then changing it while work that reads it is pending is the "
     "caller's\nfault. BufferError when copy=False cannot hold."},
    {"Tensor", "__dlpack__", dlpack_method, "(self, /, *, stream=None, max_version=None, dl_device=None, copy=None)",
     "The tensor's memory as a DLPack capsule, read-only and without a copy. A consumer of DLPack before 1.0 cannot be "
     "told\nthat memory is read-only; it gets a copy, unless it asks for copy=False and so promises not to write."},
    {"Tensor", "__dlpack_device__", dlpack_device_method, "(self, /)", "(1, 0): host memory."},
};

/// What the standard asks for where memory cannot be handed over.
[[noreturn]] void refuse(const Error& error) {
  PyErr_SetString(PyExc_BufferError, error.what());
  throw PythonError{};
}

}  // namespace

Tensor from_dlpack(PyObject* object, std::optional<Device> device, std::optional<bool> copy) {
  if (is_tensor(object)) {
    Tensor tensor = tensor_of(object);
    if (!device || *device == tensor.device()) return tensor;
    if (copy == false)
      raise(PyExc_BufferError, "from_dlpack(): another device needs a copy, and copy=False forbids it");
    const MayBlock may_block;
    return to_device(tensor, *device);
  }
  if (PyObject_HasAttrString(object, "__dlpack__") == 0 || PyObject_HasAttrString(object, "__dlpack_device__") == 0) {
    raise(PyExc_TypeError, "from_dlpack(): %s has no __dlpack__ and __dlpack_device__", Py_TYPE(object)->tp_name);
  }
  const Device target = device ? *device : Device{};
  const bool host = is_host(object);
  // Whoever names a device wants it moved there.
  if (!host && !device) {
    raise(PyExc_BufferError, "from_dlpack(): %s is not in host memory; name a device to have it copied",
          Py_TYPE(object)->tp_name);
  }
  const PyRef capsule = capsule_of(object, !host, copy);
  try {
    Taken taken = take(capsule.get());
    return dlpack::receive(taken.array, taken.unchanging, copy, target,
                           [&] { return owner_that_ends_with(std::exchange(taken.give_back, nullptr)); });
  } catch (const ValueError& error) {
    refuse(error);
  } catch (const DeviceError& error) {
    refuse(error);
  }
}

void add_dlpack(PyObject* module) { add_functions(module, kExports); }

}  // namespace lento::python
