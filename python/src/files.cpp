#include "files.h"

#include "arguments.h"
#include "convert.h"
#include "errors.h"
#include "gil.h"
#include "source.h"
#include "tensor_type.h"

#include <lento/files.h>

#include "files/files.h"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace lento::python {
namespace {

/// Lento works without the GIL, under the name that Python's user knows, for the line that called it.
template <class F>
auto calling(const char* function, const F& body) {
  const CallScope scope(function, current_source());
  const WithoutGil without_gil;
  return body();
}

std::filesystem::path to_path(const nb::bytes& path) { return {std::string(path.c_str(), path.size())}; }

/// A str as UTF-8. Throws ValueError for halves of characters, which Python's texts may have.
std::string to_text(PyObject* object, const char* function) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text != nullptr) return {text, static_cast<std::size_t>(size)};
  if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) == 0) throw PythonError{};
  PyErr_Clear();
  raise(exception_class(ErrorKind::value), "%s: a name or metadata is no valid text: %R", function, object);
}

nb::str from_text(std::string_view text) {
  return nb::steal<nb::str>(checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr)));
}

/// Handles of its own: other threads may rebind theirs meanwhile.
TensorDict to_tensors(const nb::dict& tensors, const char* function) {
  TensorDict found;
  for (const auto& [name, tensor] : tensors) {
    if (!is_tensor(tensor.ptr())) raise(PyExc_TypeError, "%s: a tensor is needed", function);
    found.insert_or_assign(to_text(name.ptr(), function), tensor_of(tensor.ptr()));
  }
  return found;
}

Tensor to_tensor(const nb::object& tensor, const char* function) {
  if (!is_tensor(tensor.ptr())) raise(PyExc_TypeError, "%s: a tensor is needed", function);
  return tensor_of(tensor.ptr());
}

void save_dict(const nb::bytes& path, const nb::dict& tensors, const std::optional<nb::dict>& metadata) {
  constexpr const char* kName = "save()";
  const TensorDict held = to_tensors(tensors, kName);
  std::optional<Metadata> texts;
  if (metadata) {
    std::vector<Metadata::value_type> entries;
    for (const auto& [name, text] : *metadata)
      entries.emplace_back(to_text(name.ptr(), kName), to_text(text.ptr(), kName));
    texts.emplace(std::move(entries));
  }
  calling(kName, [&, to = to_path(path)] { files::save_dict(to, held, texts ? &*texts : nullptr); });
}

void save_tensor(const nb::bytes& path, const nb::object& tensor) {
  const Tensor held = to_tensor(tensor, "save()");
  calling("save()", [&, to = to_path(path)] { save(to, held); });
}

nb::dict load_dict(const nb::bytes& path, const nb::str& prefix) {
  const std::string begin = to_text(prefix.ptr(), "load()");
  const TensorDict tensors = calling("load()", [&, from = to_path(path)] { return load(from, begin); });
  nb::dict found;
  for (const auto& [name, tensor] : tensors) found[from_text(name)] = nb::steal(wrap(tensor));
  return found;
}

nb::object load_one(const nb::bytes& path) {
  return nb::steal(wrap(calling("load()", [from = to_path(path)] { return load_tensor(from); })));
}

nb::dict load_texts(const nb::bytes& path) {
  const Metadata metadata = calling("load_metadata()", [from = to_path(path)] { return load_metadata(from); });
  nb::dict found;
  for (const auto& [name, text] : metadata) found[from_text(name)] = from_text(text);
  return found;
}

/// Gives the bytes to a method `write` of Python's, as bytes that it may keep.
files::Sink to_write(const nb::callable& write) {
  return [&write](const void* data, std::size_t bytes) {
    constexpr std::size_t kAtOnce = std::size_t{1} << 24;
    const auto* from = static_cast<const char*>(data);
    const WithGil gil;
    for (std::size_t at = 0; at < bytes; at += kAtOnce) {
      const PyRef piece =
          own(PyBytes_FromStringAndSize(from + at, static_cast<Py_ssize_t>(std::min(bytes - at, kAtOnce))));
      own(PyObject_CallOneArg(write.ptr(), piece.get()));
    }
  };
}

void write_npy(const nb::callable& write, const nb::object& tensor) {
  const Tensor held = to_tensor(tensor, "save()");
  calling("save()", [&] { files::write_npy_to(to_write(write), held); });
}

void write_npz(const nb::callable& write, const nb::dict& tensors) {
  const TensorDict held = to_tensors(tensors, "save()");
  calling("save()", [&] { files::write_npz_to(to_write(write), held); });
}

}  // namespace

void bind_files(nb::module_& module) {
  module.def("_save", &save_dict, nb::arg("path"), nb::arg("tensors"), nb::arg("metadata").none());
  module.def("_save_tensor", &save_tensor, nb::arg("path"), nb::arg("tensor"));
  module.def("_load", &load_dict, nb::arg("path"), nb::arg("prefix"));
  module.def("_load_tensor", &load_one, nb::arg("path"));
  module.def("_load_metadata", &load_texts, nb::arg("path"));
  module.def("_write_npy", &write_npy, nb::arg("write"), nb::arg("tensor"));
  module.def("_write_npz", &write_npz, nb::arg("write"), nb::arg("tensors"));
}

}  // namespace lento::python
