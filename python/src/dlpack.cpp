#include "dlpack.h"

#include "arguments.h"
#include "convert.h"
#include "creation.h"
#include "dlpack_abi.h"
#include "foreign.h"
#include "functions.h"
#include "gil.h"
#include "host_array.h"
#include "tensor_type.h"

#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace lento::python {
namespace {

constexpr const char* kPlain = "dltensor";
constexpr const char* kPlainUsed = "used_dltensor";
constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kVersionedUsed = "used_dltensor_versioned";
constexpr std::uint32_t kMajor = 1;
constexpr std::uint32_t kMinor = 0;

dlpack::DataType type_of(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  if (is_bool(dtype)) return {dlpack::kBool, bits, 1};
  if (dtype == DType::bfloat16) return {dlpack::kBfloat, bits, 1};
  if (is_signed_integer(dtype)) return {dlpack::kInt, bits, 1};
  if (is_unsigned_integer(dtype)) return {dlpack::kUInt, bits, 1};
  return {is_floating(dtype) ? dlpack::kFloat : dlpack::kComplex, bits, 1};
}

DType dtype_of(const dlpack::DataType& type) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const dlpack::DataType own_type = type_of(static_cast<DType>(d));
    if (own_type.code == type.code && own_type.bits == type.bits && type.lanes == 1) return static_cast<DType>(d);
  }
  raise(PyExc_TypeError, "from_dlpack(): Lento has no dtype for DLPack's type %d of %d bits and %d lanes",
        static_cast<int>(type.code), static_cast<int>(type.bits), static_cast<int>(type.lanes));
}

// --- giving: a capsule holds a tensor, or a copy of its elements ---

template <class Header>
struct Given {
  Header header{};
  Tensor tensor;  // while it lives, nobody writes its memory; empty when there is a copy
  std::unique_ptr<void, void (*)(void*)> copy{nullptr, std::free};
  Ints shape;
  Ints strides;
};

/// Consumers call this, on any thread and without the GIL.
template <class Header>
void take_back(Header* header) {
  delete static_cast<Given<Header>*>(header->context);
}

template <class Header>
void destroy_capsule(PyObject* capsule) {
  constexpr const char* name = std::same_as<Header, dlpack::Managed> ? kPlain : kVersioned;
  if (PyCapsule_IsValid(capsule, name) == 0) return;  // somebody consumed it
  auto* header = static_cast<Header*>(PyCapsule_GetPointer(capsule, name));
  if (header->deleter != nullptr) header->deleter(header);
}

/// Waits with the GIL released.
const void* exported_data(const Tensor& tensor) {
  const WithoutGil without_gil;
  return export_data(tensor);
}

template <class Header>
PyObject* give(const Tensor& tensor, bool copy) {
  auto given = std::make_unique<Given<Header>>();
  const auto* data = copy ? read_data(tensor) : exported_data(tensor);
  if (copy) {
    const auto bytes = static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype());
    given->copy.reset(std::aligned_alloc(64, (bytes + 64) / 64 * 64));
    if (!given->copy) throw std::bad_alloc();
    std::memcpy(given->copy.get(), data, bytes);
    data = given->copy.get();
  } else {
    given->tensor = tensor;
  }
  given->shape = tensor.shape();
  given->strides.resize(given->shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = given->shape.size(); axis-- > 0;) {
    given->strides[axis] = stride;
    stride *= std::max<std::int64_t>(given->shape[axis], 1);
  }
  Header& header = given->header;
  header.context = given.get();
  header.deleter = take_back<Header>;
  header.array = {const_cast<void*>(data),
                  {dlpack::kCpu, 0},
                  static_cast<std::int32_t>(given->shape.size()),
                  type_of(tensor.dtype()),
                  given->shape.data(),
                  given->strides.data(),
                  0};
  if constexpr (std::same_as<Header, dlpack::ManagedVersioned>) {
    header.version = {kMajor, kMinor};
    header.flags = copy ? dlpack::kIsCopied : dlpack::kReadOnly;
  }
  constexpr const char* name = std::same_as<Header, dlpack::Managed> ? kPlain : kVersioned;
  PyObject* capsule = checked(PyCapsule_New(&header, name, destroy_capsule<Header>));
  (void)given.release();
  return capsule;
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
    const Ints version = a.optional_integers(2).value_or(Ints{0, 0});
    const Ints device = a.optional_integers(3).value_or(Ints{dlpack::kCpu, 0});
    if (device.empty() || device[0] != dlpack::kCpu) {
      raise(PyExc_BufferError, "__dlpack__(): the tensor is in host memory; dl_device must be (1, 0)");
    }
    const std::optional<bool> copy = a.optional_boolean(4);
    if (!version.empty() && version[0] >= kMajor) return give<dlpack::ManagedVersioned>(tensor, copy.value_or(false));
    // This consumer cannot be told that it must not write, so it gets memory of its own unless it insists: the Array
    // API's own suite asks for copy=False without a version, and for no error.
    return give<dlpack::Managed>(tensor, copy.value_or(true));
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
  dlpack::Array array{};
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

template <class Header>
Taken take_as(PyObject* capsule, const char* name, const char* used) {
  auto* header = static_cast<Header*>(PyCapsule_GetPointer(capsule, name));
  if (header == nullptr) throw PythonError{};
  Taken taken;
  if constexpr (std::same_as<Header, dlpack::ManagedVersioned>) {
    // Only the version and the deleter may be read of a layout that is not known.
    if (header->version.major > kMajor) {
      raise(PyExc_BufferError, "from_dlpack(): DLPack %u is newer than %u.x, which Lento knows",
            static_cast<unsigned>(header->version.major), static_cast<unsigned>(kMajor));
    }
    taken.unchanging = (header->flags & (dlpack::kReadOnly | dlpack::kIsCopied)) != 0;
  }
  if (PyCapsule_SetName(capsule, used) < 0) throw PythonError{};
  taken.array = header->array;
  taken.give_back = [header] {
    if (header->deleter != nullptr) header->deleter(header);
  };
  return taken;
}

Taken take(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kVersioned) != 0) {
    return take_as<dlpack::ManagedVersioned>(capsule, kVersioned, kVersionedUsed);
  }
  if (PyCapsule_IsValid(capsule, kPlain) != 0) return take_as<dlpack::Managed>(capsule, kPlain, kPlainUsed);
  raise(PyExc_BufferError, "from_dlpack(): __dlpack__ gave %R and not an unused DLPack capsule", capsule);
}

/// x.__dlpack__(max_version=…, …); producers from before DLPack 1.0 know none of these arguments.
PyRef capsule_of(PyObject* object, bool to_host, std::optional<bool> copy) {
  const PyRef method = own(PyObject_GetAttrString(object, "__dlpack__"));
  const PyRef none = own(PyTuple_New(0));
  const PyRef named = own(Py_BuildValue("{s:(II)}", "max_version", kMajor, kMinor));
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

/// Capsules are made by hand in many libraries; a wrong one is told from a right one where it can be.
void check_extents(const dlpack::Array& source) {
  constexpr std::int32_t kMostAxes = 64;  // as many as NumPy, and lists in asarray, may have
  if (source.rank < 0 || source.rank > kMostAxes) {
    raise(PyExc_BufferError, "from_dlpack(): the capsule has %d axes; there may be 0 to %d",
          static_cast<int>(source.rank), static_cast<int>(kMostAxes));
  }
  if (source.rank > 0 && source.shape == nullptr) {
    raise(PyExc_BufferError, "from_dlpack(): the capsule has %d axes and no shape", static_cast<int>(source.rank));
  }
  std::int64_t elements = 1;
  bool empty = false;
  bool too_many = false;
  for (std::int32_t axis = 0; axis < source.rank; ++axis) {
    const std::int64_t extent = source.shape[axis];
    if (extent < 0) {
      raise(PyExc_BufferError, "from_dlpack(): axis %d of the capsule has %lld elements", static_cast<int>(axis),
            static_cast<long long>(extent));
    }
    empty = empty || extent == 0;
    too_many = __builtin_mul_overflow(elements, extent, &elements) || too_many;
  }
  if (empty) return;
  if (too_many || elements > std::numeric_limits<std::int64_t>::max() / 16) {
    raise(PyExc_BufferError, "from_dlpack(): the capsule has more elements than memory can hold");
  }
  if (source.data == nullptr) raise(PyExc_BufferError, "from_dlpack(): the capsule has elements and no memory");
}

HostArray host_array_of(const dlpack::Array& source) {
  HostArray array;
  array.dtype = dtype_of(source.dtype);
  check_extents(source);
  const auto rank = static_cast<std::size_t>(source.rank);
  array.shape = Ints(source.shape, source.shape + rank);
  array.strides = source.strides == nullptr ? contiguous_strides(array.shape, array.dtype)
                                            : Ints(source.strides, source.strides + rank);
  if (source.strides != nullptr) {
    for (std::int64_t& stride : array.strides) stride *= static_cast<std::int64_t>(size_of(array.dtype));
  }
  array.data = static_cast<const std::byte*>(source.data) + (source.data == nullptr ? 0 : source.byte_offset);
  return array;
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
  const Device target = device.value_or(Device{});
  const bool host = is_host(object);
  // Whoever names a device wants it moved there.
  if (!host && !device) {
    raise(PyExc_BufferError, "from_dlpack(): %s is not in host memory; name a device to have it copied",
          Py_TYPE(object)->tp_name);
  }
  const PyRef capsule = capsule_of(object, !host, copy);
  Taken taken = take(capsule.get());
  if (taken.array.device.type != dlpack::kCpu && taken.array.device.type != dlpack::kCudaHost) {
    raise(PyExc_BufferError, "from_dlpack(): %s gave memory that is not the host's", Py_TYPE(object)->tp_name);
  }
  const HostArray array = host_array_of(taken.array);
  const bool can_share = array.shareable() && in_host_memory(target);
  if (copy == false && !can_share && array.bytes() != 0) {
    raise(PyExc_BufferError,
          "from_dlpack(): copy=False needs memory that is row-major and aligned, and a device that uses host memory");
  }
  if (can_share && copy != true && (copy == false || taken.unchanging)) {
    auto owner = owner_that_ends_with(std::exchange(taken.give_back, nullptr));
    return from_memory(array.data, array.dtype, array.shape, std::move(owner), target);
  }
  return copied_from(array, target);
}

void add_dlpack(PyObject* module) { add_functions(module, kExports); }

}  // namespace lento::python
