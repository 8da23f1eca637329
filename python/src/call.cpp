// Calls from Python: which argument belongs to which parameter, and how an op is called with them. What they are is
// looked at in arguments.cpp.
#include "arguments.h"

#include "convert.h"
#include "gil.h"
#include "host_array.h"
#include "source.h"
#include "tensor_type.h"
#include "waiting.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace lento::python {
namespace {

bool is_required(const Parameter& parameter) { return (parameter.flags & (kDefaulted | kOptional)) == 0; }

void intern_names(Signature& signature) {
  if (signature.parameters.empty() || signature.parameters.front().interned != nullptr) return;
  for (Parameter& parameter : signature.parameters) parameter.interned = PyUnicode_InternFromString(parameter.name);
}

// Index of the parameter with this name, or the number of parameters.
std::size_t find(const Signature& signature, PyObject* name) {
  const std::span<Parameter> parameters = signature.parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].interned == name) return i;
  }
  // Keyword names are nearly always interned; **{"axis": 0} with a computed name is not.
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (PyUnicode_Compare(parameters[i].interned, name) == 0) return i;
  }
  return parameters.size();
}

// NumPy's functions call methods of what is no NumPy array with NumPy's own arguments: np.std(x) calls
// x.std(axis=None, dtype=None, out=None, ddof=0). None means nothing there, and ddof has another name here.
bool means_nothing(PyObject* name, PyObject* value) {
  return value == Py_None &&
         (PyUnicode_CompareWithASCIIString(name, "out") == 0 || PyUnicode_CompareWithASCIIString(name, "dtype") == 0);
}
std::size_t find_by_numpy_name(const Signature& signature, PyObject* name) {
  if (PyUnicode_CompareWithASCIIString(name, "ddof") != 0) return signature.parameters.size();
  const auto found = std::ranges::find_if(signature.parameters, [](const Parameter& parameter) {
    return std::string_view(parameter.name) == "correction";
  });
  return static_cast<std::size_t>(found - signature.parameters.begin());
}

bool is_array(PyObject* object) { return is_tensor(object) || is_numpy_array(object); }
/// What can stand for a tensor.
bool is_array_like(PyObject* object) {
  return is_array(object) || is_list_or_range(object) || to_scalar(object).has_value();
}

/// Whether a list stands for one array and not for several. After what tells how many there are, only tensors and
/// arrays in it are several; elsewhere lists in it are too.
bool is_one_array(PyObject* list, bool counted) {
  if (!PyList_Check(list) && !PyTuple_Check(list)) return true;
  const auto several = [&](PyObject* item) { return is_array(item) || (!counted && is_list_or_range(item)); };
  PyObject** items = PySequence_Fast_ITEMS(list);
  return PySequence_Fast_GET_SIZE(list) > 0 && std::none_of(items, items + PySequence_Fast_GET_SIZE(list), several);
}

/// Whether tensors are given one after another from here on. One NumPy array alone is a sequence of its rows, as for
/// np.concatenate(x), except after what tells how many there are: in einsum("ij->ji", x) it is an operand. Lists and
/// numbers are taken so by functions that are written f(*arrays).
bool begins_tensors(const Parameter& parameter, PyObject* const* args, Py_ssize_t at, Py_ssize_t count, bool counted) {
  if (is_tensor(args[at])) return true;
  const bool several = at + 1 < count;
  if (is_numpy_array(args[at]) && (counted || (several && is_array(args[at + 1])))) return true;
  if ((parameter.flags & kVariadic) == 0 || !is_array_like(args[at])) return false;
  if (several && is_array_like(args[at + 1])) return true;
  return !is_numpy_array(args[at]) && (!is_list_or_range(args[at]) || is_one_array(args[at], counted));
}

/// What to write for a keyword of other libraries: in all functions or in one, in all or in those with a parameter.
struct KeywordHint {
  const char* keyword;
  const char* function;   // null: all
  const char* parameter;  // null: whether or not it has one
  const char* hint;
};
constexpr KeywordHint kKeywordHints[] = {
    // PyTorch
    {"dim", nullptr, "axis", "it is called 'axis' here"},
    {"dims", nullptr, "axis", "it is called 'axis' here"},
    {"dims", nullptr, "axes", "it is called 'axes' here"},
    {"start_dim", nullptr, "start_axis", "it is called 'start_axis' here"},
    {"end_dim", nullptr, "end_axis", "it is called 'end_axis' here"},
    {"diagonal", nullptr, "k", "it is called 'k' here"},
    {"steps", nullptr, "num", "it is called 'num' here"},
    {"end", nullptr, "stop", "it is called 'stop' here"},
    {"unbiased", nullptr, "correction", "write correction=1 for unbiased=True, and nothing for unbiased=False"},
    {"requires_grad", nullptr, nullptr, "it is not needed: lento.grad differentiates by the arguments of a function"},
    {"pin_memory", nullptr, nullptr, "it is not needed: lento.devices() has the one device that computes"},
    {"keepdim", nullptr, "keepdims", "it is called 'keepdims' here"},
    {"input", nullptr, "x", "it is called 'x' here"},
    {"input", nullptr, "x1", "it is called 'x1' here"},
    {"other", nullptr, "x2", "it is called 'x2' here"},
    {"tensors", nullptr, "arrays", "it is called 'arrays' here"},
    {"p", "norm", nullptr, "it is called 'ord' here"},
    {"alpha", "add", nullptr, "write x1 + alpha * x2"},
    {"alpha", "subtract", nullptr, "write x1 - alpha * x2"},
    {"as_tuple", "nonzero", nullptr,
     "it is not needed: there is a tensor for each axis; the matrix is lento.argwhere(x)"},
    {"inplace", nullptr, nullptr, "it is not needed: give the result the old name; steps reuse memory by themselves"},
    {"size_average", nullptr, "reduction", "write reduction='mean', 'sum' or 'none'"},
    {"reduce", nullptr, "reduction", "write reduction='mean', 'sum' or 'none'"},
    {"right", "searchsorted", nullptr, "write side='right' for right=True, and nothing for right=False"},
    {"memory_format", nullptr, nullptr, "it is not needed: tensors have no memory layout"},
    // NumPy and SciPy
    {"a", nullptr, "x", "it is called 'x' here"},
    {"newshape", nullptr, "shape", "it is called 'shape' here"},
    {"obj", nullptr, "indices", "it is called 'indices' here"},
    {"sparse", "indices", nullptr, "write lento.ogrid[:n, :m]"},
    {"full", "polyfit", nullptr, "use lento.linalg.lstsq of lento.vander(x, deg + 1), which gives the residuals too"},
    {"cov", "polyfit", nullptr, "use numpy.polyfit"},
    {"trans", "solve_triangular", nullptr, "write transpose=True"},
    {"size", "multivariate_normal", nullptr, "it is called 'shape' here, and comes last"},
    {"size", "dirichlet", nullptr, "it is called 'shape' here, and comes last"},
    {"size", "choice", nullptr, "it is called 'shape' here, and comes second"},
    {"size", "categorical", nullptr, "it is called 'shape' here"},
    {"size", nullptr, "shape", "it is called 'shape' here, and comes first"},
    {"casting", nullptr, nullptr, "it is not needed: dtypes are promoted, and x.astype(dtype) converts"},
    {"a_min", nullptr, "min", "it is called 'min' here"},
    {"a_max", nullptr, "max", "it is called 'max' here"},
    {"reps", nullptr, "repetitions", "it is called 'repetitions' here"},
    {"kind", nullptr, "stable", "it is not needed: the order is stable unless stable=False is given"},
    {"retstep", "linspace", nullptr, "write step = (stop - start) / (num - 1)"},
    {"sparse", "meshgrid", nullptr, "write x[None, :] and y[:, None], which broadcast"},
    {"left", "interp", nullptr, "write lento.where(x < xp[0], left, lento.interp(x, xp, fp))"},
    {"right", "interp", nullptr, "write lento.where(x > xp[-1], right, lento.interp(x, xp, fp))"},
    {"copy", "nan_to_num", nullptr, "it is not needed: the result is a new tensor, or that of out="},
    {"mode", "take", nullptr, "give lento.clip(indices, 0, n - 1) or lento.remainder(indices, n) as indices"},
    {"returned", "average", nullptr, "the sum of the weights is weights.sum()"},
    {"initial", "sum", nullptr, "write initial + lento.sum(x)"},
    {"initial", "prod", nullptr, "write initial * lento.prod(x)"},
    {"initial", "max", nullptr,
     "write lento.maximum(lento.max(x), initial); for an x that may be empty, "
     "lento.max(lento.concat([x.ravel(), lento.asarray([initial], dtype=x.dtype)]))"},
    {"initial", "min", nullptr,
     "write lento.minimum(lento.min(x), initial); for an x that may be empty, "
     "lento.min(lento.concat([x.ravel(), lento.asarray([initial], dtype=x.dtype)]))"},
    {"order", "reshape", nullptr, "elements are in row-major order; order='F' is x.T.reshape(shape[::-1]).T"},
    {"order", "ravel", nullptr, "elements are in row-major order; order='F' is x.T.ravel()"},
    {"order", "flatten", nullptr, "elements are in row-major order; order='F' is x.T.flatten()"},
    {"order", nullptr, nullptr, "it is not needed: tensors have no memory layout"},
    {"optimize", "einsum", nullptr, "there is no such search; operands are contracted from left to right"},
    {"dtype", nullptr, nullptr, "convert what it is given, or its result, with x.astype(dtype)"},
};

/// What to write instead of a keyword that the function does not have, or null.
const char* hint_for_keyword(const Signature& signature, PyObject* name) {
  for (const KeywordHint& hint : kKeywordHints) {
    if (PyUnicode_CompareWithASCIIString(name, hint.keyword) != 0) continue;
    if (hint.function != nullptr && std::string_view(hint.function) != signature.name) continue;
    const auto is_it = [&](const Parameter& parameter) { return std::string_view(parameter.name) == hint.parameter; };
    if (hint.parameter == nullptr || std::ranges::any_of(signature.parameters, is_it)) return hint.hint;
  }
  return nullptr;
}

// As Python words it: "f() missing 2 required positional arguments: 'x' and 'axis'".
void set_missing(const Signature& signature, const std::array<PyObject*, kMaxParameters>& slots) {
  std::vector<std::string> missing;
  bool keyword_only = false;
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
    const Parameter& parameter = signature.parameters[i];
    if (slots[i] != nullptr || !is_required(parameter)) continue;
    missing.push_back("'" + std::string(parameter.name) + "'");
    keyword_only = (parameter.flags & kKeywordOnly) != 0;
  }
  std::string list = missing[0];
  for (std::size_t i = 1; i < missing.size(); ++i) {
    const bool last = i + 1 == missing.size();
    list += (last ? (missing.size() > 2 ? ", and " : " and ") : ", ") + missing[i];
  }
  PyErr_Format(PyExc_TypeError, "%s() missing %zu required %s argument%s: %s", signature.name, missing.size(),
               keyword_only ? "keyword-only" : "positional", missing.size() == 1 ? "" : "s", list.c_str());
}

}  // namespace

std::vector<PyRef> Arguments::hold_tensors() {
  std::vector<PyRef> held;
  for (std::size_t i = 0; i < signature_->parameters.size(); ++i) {
    if (slots_[i] == nullptr || !is_tensor(slots_[i]) || i == rest_index_) continue;  // what is variadic gets copied
    held.emplace_back(wrap(Tensor(tensor_of(slots_[i]))));
    slots_[i] = held.back().get();
  }
  return held;
}

bool Arguments::bind(Signature& signature, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  signature_ = &signature;
  const std::span<Parameter> parameters = signature.parameters;
  std::fill_n(slots_.begin(), parameters.size(), nullptr);

  std::size_t next = 0;
  if (self != nullptr && is_tensor(self)) slots_[next++] = self;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (next >= parameters.size() || (parameters[next].flags & kKeywordOnly) != 0) {
      const std::size_t given = static_cast<std::size_t>(count) + (self != nullptr && is_tensor(self) ? 1 : 0);
      const bool may_be_out = i + 1 == count && is_array(args[i]);
      PyErr_Format(PyExc_TypeError, "%s() takes %zu positional argument%s but %zu were given%s", signature.name, next,
                   next == 1 ? "" : "s", given,
                   may_be_out ? "; a tensor that shall get the result is given by name, as out=y" : "");
      return false;
    }
    const Parameter& parameter = parameters[next];
    // x.reshape(2, 3) as well as x.reshape((2, 3)); broadcast_arrays(x, y) as well as broadcast_arrays([x, y]).
    const bool wants_tensor = parameter.kind == Kind::tensors;
    const bool variadic = (parameter.flags & kVariadic) != 0;
    const bool takes_rest = wants_tensor
                                ? begins_tensors(parameter, args, i, count, next > 0 && next + 1 == parameters.size())
                                : variadic && is_int(args[i]) && i + 1 < count;
    if (takes_rest) {
      const auto belongs = !wants_tensor ? is_int : variadic ? is_array_like : is_array;
      const Py_ssize_t first = i;
      while (i < count && belongs(args[i])) ++i;
      rest_ = std::span(args + first, static_cast<std::size_t>(i - first));
      rest_index_ = next;
      slots_[next++] = args[first];
      --i;
      continue;
    }
    slots_[next++] = args[i];
  }
  positional_ = next;

  if (names != nullptr) {
    intern_names(signature);
    const Py_ssize_t keywords = PyTuple_GET_SIZE(names);
    for (Py_ssize_t k = 0; k < keywords; ++k) {
      PyObject* name = PyTuple_GET_ITEM(names, k);
      std::size_t index = find(signature, name);
      if (index == parameters.size()) {
        if (means_nothing(name, args[count + k])) continue;
        index = find_by_numpy_name(signature, name);
      }
      if (index == parameters.size() && take_numpy_keyword(name, args[count + k])) continue;
      if (index == parameters.size()) {
        const char* hint = hint_for_keyword(signature, name);
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'%s%s", signature.name, name,
                     hint == nullptr ? "" : "; ", hint == nullptr ? "" : hint);
        return false;
      }
      if (slots_[index] != nullptr) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", signature.name, name);
        return false;
      }
      slots_[index] = args[count + k];
    }
    if ((out_ != nullptr || where_ != nullptr) && !check_out()) return false;
  }

  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (slots_[i] == nullptr && is_required(parameters[i])) {
      set_missing(signature, slots_);
      return false;
    }
  }
  return true;
}

namespace {

/// Whether a message begins as `matmul: …` or `zeros(): …`.
bool names_a_function(std::string_view message) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
  const auto end = std::ranges::find_if_not(message, is_part);
  const std::string_view rest(end, message.end());
  return end != message.begin() && (rest.starts_with(": ") || rest.starts_with("() ") || rest.starts_with("(): "));
}

// Conversions deep down do not know whose argument they convert: "unknown dtype 'float99'" becomes "zeros(): unknown
// dtype …". The engine's errors name the op already, except where it was not called yet. Errors of the user's own
// __index__ and the like have a traceback and are left alone.
void name_function(const Signature& signature, bool by_engine) {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const bool plain = traceback == nullptr && is_own_kind(type);
  const PyRef text(plain && value != nullptr ? PyObject_Str(value) : nullptr);
  const auto message = text ? to_string_view(text.get()) : std::nullopt;
  if (!message || message->starts_with(signature.name) || (by_engine && names_a_function(*message))) {
    PyErr_Restore(type, value, traceback);
    return;
  }
  PyErr_Format(type, "%s(): %U", signature.name, text.get());
  Py_XDECREF(type);
  Py_XDECREF(value);
}

}  // namespace

PyObject* call(Signature& signature, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names,
               Body body) noexcept {
  try {
    Arguments arguments;
    if (!arguments.bind(signature, self, args, count, names)) {
      add_place();
      return nullptr;
    }
    const Source line = current_source();
    const SourceScope source(line);
    if (!signature.waits) [[likely]] {
      const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
      before_recording(signature.name, line, self, {args, static_cast<std::size_t>(count + keywords)});
      if (arguments.out() != nullptr) [[unlikely]]
        return into_out(arguments, PyRef(body(arguments)));
      return body(arguments);
    }
    const std::vector<PyRef> held = arguments.hold_tensors();
    const MayBlock may_block;
    if (arguments.out() != nullptr) return into_out(arguments, PyRef(body(arguments)));
    return body(arguments);
  } catch (const PythonError&) {
    name_function(signature, false);
    return nullptr;
  } catch (...) {
    set_exception();
    name_function(signature, true);
    return nullptr;
  }
}

}  // namespace lento::python
