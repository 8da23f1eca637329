// How generated functions receive their arguments from Python.
//
// Each op has one C function with the METH_FASTCALL | METH_KEYWORDS convention; the same function serves
// `lento.softmax(x, 1)` and `x.softmax(1)` (a Tensor as `self` becomes the first argument). A static Signature
// describes its parameters, bind() distributes positional and keyword arguments over them with the messages Python
// users know, and the typed getters convert one argument each. A generated function looks like this:
//
//     Parameter kSoftmaxParameters[] = {{"x", Kind::tensor}, {"axis", Kind::integer, kDefaulted}};
//     Signature kSoftmax{"softmax", kSoftmaxParameters};
//
//     PyObject* softmax(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
//       return call(kSoftmax, self, args, count, names,
//                   [](const Arguments& a) { return wrap(lento::softmax(a.tensor(0), a.integer(1, -1))); });
//     }
//
// and is made visible by entries of a table of Export. Getters with a second parameter return it when the caller left
// the argument out. For parameters flagged kOptional the `optional_…` getters map None to an empty optional.
#pragma once

#include "errors.h"

#include <lento/device.h>
#include <lento/dtype.h>
#include <lento/ints.h>
#include <lento/operand.h>
#include <lento/random.h>
#include <lento/scalar.h>
#include <lento/tensor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace lento::python {

/// What a parameter accepts, in the words of the catalogue. The name in brackets is the catalogue's.
enum class Kind : std::uint8_t {
  tensor,     ///< [Tensor] a lento.Tensor, or a NumPy array, a list of numbers or a number, which becomes one
  tensors,    ///< [Tensor[]] a sequence of these; positionally also several tensors, one after the other
  operand,    ///< [Operand] a tensor, a NumPy array, a list of numbers or a number
  number,     ///< [number] bool, int, float, complex, a NumPy scalar or a tensor of one element
  numbers,    ///< [number[]] a sequence of numbers, or one number
  integer,    ///< [int] anything with __index__ except bool
  offset,     ///< [offset] the same, but beyond 64 bits it becomes the farthest int there is, as in slices
  integers,   ///< [int[]] a sequence of ints, or one int
  real,       ///< [float] a float or an int
  boolean,    ///< [bool]
  dtype,      ///< [dtype] lento.float32, np.float32, np.dtype, "float32", float, int, bool, complex
  device,     ///< [device] lento.Device or "cpu:0"
  string,     ///< [str], [str{a,b}]
  generator,  ///< [Generator]
};

/// Bits of Parameter::flags.
enum : std::uint8_t {
  kDefaulted = 1,    ///< may be left out: there is a default value (`= …` in the catalogue), or the type is optional
  kOptional = 2,     ///< None is accepted (`?` in the catalogue); implies that it may be left out
  kKeywordOnly = 4,  ///< stands after the bare `*`
  kVariadic = 8,     ///< `integers`: x.reshape(2, 3) as well as x.reshape((2, 3)); `tensors`: written as *arrays
};

struct Parameter {
  const char* name;
  Kind kind;
  std::uint8_t flags = 0;
  PyObject* interned = nullptr;  ///< `name` as an interned str, made at the first call with keywords
};

struct Signature {
  const char* name;                           ///< as it stands in messages: `softmax(): …`
  std::span<Parameter> parameters;            ///< at most kMaxParameters
  std::span<const char* const> results = {};  ///< names of the several results: a named tuple is returned
  PyObject* result_type = nullptr;            ///< that named tuple's class, made at the first call
  bool waits = false;                         ///< whether it may wait for values
};

inline constexpr std::size_t kMaxParameters = 16;

/// The METH_FASTCALL | METH_KEYWORDS convention.
using FastFunction = PyObject* (*)(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names);

/// One public name of a function. An op has one entry for each namespace, alias and method name it is known by.
/// Each generated file functions_<n>.gen.cpp defines `std::span<const Export> exports_<n>()`; the generated header
/// python/functions.gen.h declares them and `inline std::array<std::span<const Export>, N> all_exports()`, all in
/// namespace lento::python.
struct Export {
  const char* space;  ///< "lento", "linalg", "fft", "nn", …, "stats", "prim", or "Tensor" for a method
  const char* name;   ///< Python name
  FastFunction function;
  const char* signature;  ///< "(x, axis=-1)" with literal defaults (`None` where there is no literal)
  const char* doc;        ///< plain text
};

/// What counts as a plain whole number: anything with __index__ but bools and tensors.
bool is_int(PyObject* object);

/// The arguments of one call, distributed over the parameters of a signature. The references are borrowed, except for
/// those that hold_tensors and NumPy arrays made; valid during the call.
class Arguments {
 public:
  /// False, with a Python exception set, when arguments are missing, unexpected or given twice.
  bool bind(Signature& signature, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names);

  /// Puts handles of the call's own in the place of the tensors, so that other threads may rebind theirs during it.
  /// They must live while the arguments are used.
  std::vector<PyRef> hold_tensors();

  /// True when the caller gave argument `index` (None counts as given).
  bool given(std::size_t index) const { return slots_[index] != nullptr; }

  /// The argument itself (borrowed), for what converts it in its own way.
  PyObject* object(std::size_t index) const { return slots_[index]; }

  // The getters throw PythonError, with the Python exception set, when the argument has the wrong type.

  const Tensor& tensor(std::size_t index) const;
  std::optional<Tensor> optional_tensor(std::size_t index) const;
  std::vector<Tensor> tensors(std::size_t index) const;
  std::optional<std::vector<Tensor>> optional_tensors(std::size_t index) const;

  Operand operand(std::size_t index) const;
  Operand operand(std::size_t index, const Scalar& fallback) const;
  std::optional<Operand> optional_operand(std::size_t index) const;

  Scalar number(std::size_t index) const;
  Scalar number(std::size_t index, const Scalar& fallback) const;
  std::optional<Scalar> optional_number(std::size_t index, std::optional<Scalar> fallback = {}) const;
  std::vector<Scalar> numbers(std::size_t index) const;
  std::vector<Scalar> numbers(std::size_t index, std::vector<Scalar> fallback) const;
  std::optional<std::vector<Scalar>> optional_numbers(std::size_t index) const;

  std::int64_t integer(std::size_t index) const;
  std::int64_t integer(std::size_t index, std::int64_t fallback) const;
  std::optional<std::int64_t> optional_integer(std::size_t index, std::optional<std::int64_t> fallback = {}) const;
  std::int64_t offset(std::size_t index) const;
  std::int64_t offset(std::size_t index, std::int64_t fallback) const;
  Ints integers(std::size_t index) const;
  Ints integers(std::size_t index, Ints fallback) const;
  OptionalInts optional_integers(std::size_t index, OptionalInts fallback = std::nullopt) const;

  double real(std::size_t index) const;
  double real(std::size_t index, double fallback) const;
  std::optional<double> optional_real(std::size_t index, std::optional<double> fallback = {}) const;

  bool boolean(std::size_t index) const;
  bool boolean(std::size_t index, bool fallback) const;
  std::optional<bool> optional_boolean(std::size_t index, std::optional<bool> fallback = {}) const;

  DType dtype(std::size_t index) const;
  DType dtype(std::size_t index, DType fallback) const;
  std::optional<DType> optional_dtype(std::size_t index, std::optional<DType> fallback = {}) const;

  Device device(std::size_t index) const;
  std::optional<Device> optional_device(std::size_t index) const;

  std::string_view string(std::size_t index) const;
  std::string_view string(std::size_t index, std::string_view fallback) const;
  std::optional<std::string_view> optional_string(std::size_t index,
                                                  std::optional<std::string_view> fallback = {}) const;

  /// Null when left out or None.
  Generator* generator(std::size_t index) const;

  Signature& signature() const { return *signature_; }

  /// NumPy's out=: the tensor that gets the result, or null (borrowed). With where= only some of its elements do.
  PyObject* out() const { return out_; }
  PyObject* where() const { return where_; }

 private:
  [[noreturn]] void wrong_type(std::size_t index, const char* expected) const;
  [[noreturn]] void wrong_element(std::size_t index, const char* expected, PyObject* element, Py_ssize_t at) const;
  /// Puts a tensor in the place of a NumPy array, list, range or number; false when the argument is none.
  bool convert_array(std::size_t index) const;
  /// Takes a keyword that functions of NumPy have and no signature lists; false when it is none.
  bool take_numpy_keyword(PyObject* name, PyObject* value);
  /// False, with a Python exception set, when out= and where= cannot be meant.
  bool check_out();
  /// A list that may be meant as the shape is here, by its place alone, and none is where the shape belongs: NumPy's
  /// random functions take it last.
  bool shape_comes_late(std::size_t index) const;
  bool absent(std::size_t index) const { return slots_[index] == nullptr; }
  bool absent_or_none(std::size_t index) const { return slots_[index] == nullptr || slots_[index] == Py_None; }

  Signature* signature_ = nullptr;
  mutable std::array<PyObject*, kMaxParameters> slots_;  ///< null where left out
  mutable std::vector<PyRef> converted_;                 ///< tensors that stand in slots_ for NumPy arrays
  std::size_t positional_ = 0;                           ///< so many of slots_ were not given by name
  std::span<PyObject* const> rest_;          ///< positional arguments taken by a `tensors` or variadic parameter …
  std::size_t rest_index_ = kMaxParameters;  ///< … and that parameter's index
  PyObject* out_ = nullptr;
  PyObject* where_ = nullptr;
};

using Body = PyObject* (*)(const Arguments&);

/// Gives the tensor of out= the result of the call, and returns it. Throws PythonError.
PyObject* into_out(const Arguments& arguments, PyRef result);

/// Binds the arguments, runs `body` with the calling Python line as the source of what it records, and turns C++ errors
/// into Python exceptions.
PyObject* call(Signature& signature, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names,
               Body body) noexcept;

/// A new Python object for a result.
PyObject* wrap(Tensor tensor);
PyObject* wrap(std::vector<Tensor> tensors);  ///< a tuple
PyObject* wrap(bool value);
PyObject* wrap(std::int64_t value);
PyObject* wrap(const Ints& values);  ///< a tuple of ints
PyObject* wrap(DType dtype);
PyObject* wrap_results(Signature& signature, std::span<Tensor> tensors);  ///< a named tuple

/// For ops with several results: `return wrap(a, lento::linalg::svd(…))`, for std::array, std::pair and std::tuple of
/// tensors.
template <class Results>
PyObject* wrap(const Arguments& arguments, Results results) {
  return std::apply(
      [&](auto&... each) {
        std::array<Tensor, sizeof...(each)> tensors{std::move(each)...};
        return wrap_results(arguments.signature(), tensors);
      },
      results);
}

}  // namespace lento::python
