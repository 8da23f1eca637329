#include "frozen_entry.h"

#include "convert.h"
#include "recorded_call.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

namespace lento::python {

namespace {

bool is_like(PyObject* object, DType dtype, ShapeId shape, std::uint8_t device) {
  if (!is_tensor(object)) return false;
  const TensorState* state = tensor_of(object).state();
  return state != nullptr && state->dtype == dtype && state->shape == shape && state->device == device;
}

bool is_equal(PyObject* a, PyObject* b) {
  const PyRef held_a = PyRef::borrow(a);
  const PyRef held_b = PyRef::borrow(b);
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal > 0;
}

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

/// range(0, 3, 2) equals range(0, 4, 2), and has another end.
bool same_range(PyObject* a, PyObject* b) {
  for (const char* part : {"start", "stop", "step"}) {
    const PyRef one(PyObject_GetAttrString(a, part));
    const PyRef two(PyObject_GetAttrString(b, part));
    if (!one || !two) {
      PyErr_Clear();
      return false;
    }
    if (!same_atom(one.get(), two.get())) return false;
  }
  return true;
}

/// Numbers of NumPy, of one type: by their bits where those are all there is to them, else as they are printed.
bool same_number(PyObject* a, PyObject* b) {
  class Bytes {
   public:
    explicit Bytes(PyObject* object) : is_known_(PyObject_GetBuffer(object, &view_, PyBUF_FORMAT) == 0) {
      if (!is_known_) PyErr_Clear();
    }
    ~Bytes() {
      if (is_known_) PyBuffer_Release(&view_);
    }
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
    /// Whether no bits are left over, as in a long double.
    bool are_all() const {
      return is_known_ && view_.format != nullptr && std::strchr("?bBhHiIlLqQefd", *view_.format);
    }
    std::string_view get() const { return {static_cast<const char*>(view_.buf), static_cast<std::size_t>(view_.len)}; }

   private:
    Py_buffer view_{};
    bool is_known_;
  };
  const PyRef held_a = PyRef::borrow(a);
  const PyRef held_b = PyRef::borrow(b);
  const Bytes one(a);
  const Bytes two(b);
  if (one.are_all() && two.are_all()) return one.get() == two.get();
  const PyRef text_a(PyObject_Repr(a));
  const PyRef text_b(PyObject_Repr(b));
  if (text_a && text_b) return is_equal(text_a.get(), text_b.get());
  PyErr_Clear();
  return false;
}

/// One token and its children. `at` goes past them.
bool match_one(const std::vector<ArgumentToken>& tokens, std::size_t& at, PyObject* object, Handles& handles) {
  const ArgumentToken& token = tokens[at++];
  switch (token.kind) {
    case ArgumentToken::Kind::tensor:
      if (!is_like(object, token.dtype, token.shape, token.device)) return false;
      handles.push_back(object);
      return true;
    case ArgumentToken::Kind::atom:
      return same_atom(object, token.object.get());
    case ArgumentToken::Kind::same:
      return object == token.object.get();
    case ArgumentToken::Kind::tuple:
    case ArgumentToken::Kind::list: {
      const bool is_tuple = token.kind == ArgumentToken::Kind::tuple;
      if (Py_TYPE(object) != (is_tuple ? &PyTuple_Type : &PyList_Type)) return false;
      for (std::uint32_t i = 0; i < token.count; ++i) {
        // A list may change while atoms are compared.
        if (PySequence_Fast_GET_SIZE(object) != static_cast<Py_ssize_t>(token.count)) return false;
        const PyRef item = PyRef::borrow(PySequence_Fast_GET_ITEM(object, i));
        if (!match_one(tokens, at, item.get(), handles)) return false;
      }
      return PySequence_Fast_GET_SIZE(object) == static_cast<Py_ssize_t>(token.count);
    }
    case ArgumentToken::Kind::dict: {
      if (Py_TYPE(object) != &PyDict_Type || PyDict_GET_SIZE(object) != static_cast<Py_ssize_t>(token.count)) {
        return false;
      }
      Py_ssize_t position = 0;
      PyObject* key = nullptr;
      PyObject* value = nullptr;
      for (std::uint32_t i = 0; i < token.count; ++i) {
        if (PyDict_Next(object, &position, &key, &value) == 0) return false;
        const PyRef held_key = PyRef::borrow(key);
        const PyRef held_value = PyRef::borrow(value);
        if (!same_atom(key, PyTuple_GET_ITEM(token.object.get(), i)) || !match_one(tokens, at, value, handles))
          return false;
      }
      return true;
    }
  }
  return false;
}

bool same_names(PyObject* a, PyObject* b) {
  const Py_ssize_t count = a == nullptr ? 0 : PyTuple_GET_SIZE(a);
  if (count != (b == nullptr ? 0 : PyTuple_GET_SIZE(b))) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyTuple_GET_ITEM(a, i) != PyTuple_GET_ITEM(b, i) &&
        !same_atom(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) {
      return false;
    }
  }
  return true;
}

/// What is there now (borrowed), or null.
PyObject* found_at(const Place& place) {
  PyObject* const container = place.container.get();
  switch (place.kind) {
    case Place::Kind::dict: {
      PyObject* const found = PyDict_GetItemWithError(container, place.key.get());
      if (found == nullptr) PyErr_Clear();
      return found;
    }
    case Place::Kind::list:
      return place.index < PySequence_Fast_GET_SIZE(container) ? PySequence_Fast_GET_ITEM(container, place.index)
                                                               : nullptr;
    case Place::Kind::cell:
      return PyCell_GET(container);
    case Place::Kind::length:
      break;
  }
  return nullptr;
}

/// Whether a dict has these keys, in this order; any if they are None.
bool has_keys(PyObject* dict, PyObject* keys) {
  if (!PyTuple_CheckExact(keys)) return true;
  Py_ssize_t position = 0;
  PyObject* key = nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i) {
    if (PyDict_Next(dict, &position, &key, nullptr) == 0) return false;
    PyObject* const expected = PyTuple_GET_ITEM(keys, i);
    if (key != expected && !same_atom(key, expected)) return false;
  }
  return true;
}

bool holds(const Place& place, Handles& handles) {
  if (place.kind == Place::Kind::length) {
    PyObject* const container = place.container.get();
    if (!PyDict_Check(container)) return PySequence_Fast_GET_SIZE(container) == place.index;
    return PyDict_GET_SIZE(container) == place.index && has_keys(container, place.expected.get());
  }
  PyObject* const found = found_at(place);
  switch (place.holds) {
    case Place::Holds::same:
      return found == place.expected.get();
    case Place::Holds::atom:
      return found != nullptr && same_atom(found, place.expected.get());
    case Place::Holds::tensor:
      if (found == nullptr || !is_like(found, place.dtype, place.shape, place.device)) return false;
      if (place.handle != Place::kNoHandle) handles.push_back(found);
      return true;
  }
  return false;
}

// --- reading a description ---

PyObject* item(PyObject* description, const char* key) {
  PyObject* const found = PyDict_GetItemString(description, key);
  if (found == nullptr) raise(PyExc_KeyError, "a description of a frozen call has no %s", key);
  return found;
}

long number_in(PyObject* tuple, Py_ssize_t index) {
  const long number = PyLong_AsLong(PyTuple_GET_ITEM(tuple, index));
  if (number == -1 && PyErr_Occurred() != nullptr) throw PythonError{};
  return number;
}

/// One of the values of an enum whose last value is `last`.
template <class Kind>
Kind kind_in(PyObject* tuple, Py_ssize_t index, Kind last) {
  const long number = number_in(tuple, index);
  if (number < 0 || number > static_cast<long>(last)) raise(PyExc_ValueError, "a description has the kind %ld", number);
  return static_cast<Kind>(number);
}

/// Calls `take(tuple)` for each of a list of tuples.
template <class Take>
void each(PyObject* list, const Take& take) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) take(PyList_GET_ITEM(list, i));
}

PyRef object_in(PyObject* tuple, Py_ssize_t index) { return PyRef::borrow(PyTuple_GET_ITEM(tuple, index)); }

TakenFrom taken_from(PyObject* tuple, Py_ssize_t index) {
  return {kind_in(tuple, index, TakenFrom::Kind::constant), static_cast<std::uint32_t>(number_in(tuple, index + 1))};
}

template <class Token>
void describe_tensor(Token& token, PyObject* tensor) {
  const TensorState& state = state_of(tensor_of(tensor));
  token.dtype = state.dtype;
  token.shape = state.shape;
  token.device = state.device;
}

// (kind, object, count)
void read_arguments(FrozenEntry& entry, PyObject* list) {
  each(list, [&](PyObject* given) {
    ArgumentToken token{kind_in(given, 0, ArgumentToken::Kind::dict), object_in(given, 1),
                        static_cast<std::uint32_t>(number_in(given, 2))};
    if (token.kind == ArgumentToken::Kind::tensor) {
      describe_tensor(token, token.object.get());
      token.object = PyRef();  // what it is like is known; the tensor itself is not kept
    }
    entry.arguments.push_back(std::move(token));
  });
}

// (kind, holds, container, key, expected, handle, name); handle is -1 where there is none
void read_places(FrozenEntry& entry, PyObject* list) {
  each(list, [&](PyObject* given) {
    Place place;
    place.kind = kind_in(given, 0, Place::Kind::length);
    place.holds = kind_in(given, 1, Place::Holds::tensor);
    place.container = object_in(given, 2);
    if (place.kind == Place::Kind::dict) place.key = object_in(given, 3);
    if (place.kind == Place::Kind::list || place.kind == Place::Kind::length) place.index = number_in(given, 3);
    if (place.holds == Place::Holds::tensor) {
      describe_tensor(place, PyTuple_GET_ITEM(given, 4));
    } else {
      place.expected = object_in(given, 4);
    }
    if (const long handle = number_in(given, 5); handle >= 0) place.handle = static_cast<std::uint32_t>(handle);
    const char* const name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(given, 6));
    if (name == nullptr) throw PythonError{};
    place.name = name;
    entry.places.push_back(std::move(place));
  });
}

void read_results(FrozenEntry& entry, PyObject* description) {
  each(item(description, "result"), [&](PyObject* given) {  // (kind, object, index)
    entry.result.push_back({kind_in(given, 0, ResultToken::Kind::rebuild), object_in(given, 1),
                            static_cast<std::uint32_t>(number_in(given, 2))});
  });
  each(item(description, "made"), [&](PyObject* given) { entry.made.push_back(taken_from(given, 0)); });
  each(item(description, "changes"), [&](PyObject* given) {  // (handle, kind, index)
    entry.changes.push_back({static_cast<std::uint32_t>(number_in(given, 0)), taken_from(given, 1)});
  });
  each(item(description, "stores"), [&](PyObject* given) {  // (place, is a handle, number)
    entry.stores.push_back({static_cast<std::uint32_t>(number_in(given, 0)), number_in(given, 1) != 0,
                            static_cast<std::uint32_t>(number_in(given, 2))});
  });
  each(item(description, "actions"),
       [&](PyObject* given) { entry.actions.push_back({object_in(given, 0), object_in(given, 1)}); });
}

/// Which leaves are constants, and which handles are read or passed on as they are.
void resolve_leaves(FrozenEntry& entry) {
  const CallGraph& call = entry.call;
  std::vector<std::uint32_t> constant_of(call.leaves.size());
  for (std::size_t i = 0; i < call.leaves.size(); ++i) {
    if (call.origins[i].handle != LeafOrigin::kConstant) continue;
    constant_of[i] = static_cast<std::uint32_t>(entry.constants.size());
    entry.constants.push_back(call.leaves[i]);
  }
  const auto resolve = [&](std::uint32_t leaf) {
    const std::int64_t handle = call.origins[leaf].handle;
    if (handle == LeafOrigin::kConstant) return TakenFrom{TakenFrom::Kind::constant, constant_of[leaf]};
    return TakenFrom{TakenFrom::Kind::handle, static_cast<std::uint32_t>(handle)};
  };
  for (const std::uint32_t leaf : call.reads) entry.reads.push_back(resolve(leaf));
  for (const TakenFrom& read : entry.reads) {
    const bool changes = read.kind == TakenFrom::Kind::handle &&
                         std::ranges::any_of(entry.changes, [&](const auto& c) { return c.handle == read.index; });
    entry.replaced.push_back(changes ? 1 : 0);
  }
  // The descriptions name leaves; from here on they are handles and constants.
  const auto settle = [&](TakenFrom& from) {
    if (from.kind == TakenFrom::Kind::output) return;
    from = resolve(from.index);
    if (from.kind == TakenFrom::Kind::handle) entry.passed_on.push_back(from.index);
  };
  for (TakenFrom& from : entry.made) settle(from);
  for (FrozenEntry::Change& change : entry.changes) settle(change.from);
  // Nothing is pinned but the constants.
  for (std::size_t i = 0; i < call.leaves.size(); ++i) {
    if (call.origins[i].handle != LeafOrigin::kConstant) entry.call.leaves[i] = Tensor();
  }
}

}  // namespace

bool same_atom(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  // A value that is part of a slice may be anything: what Python compares may run code of others.
  if (PyFloat_Check(a)) return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a) || PyBytes_CheckExact(a)) return is_equal(a, b);
  if (PyComplex_Check(a)) {
    const Py_complex one = PyComplex_AsCComplex(a);
    const Py_complex two = PyComplex_AsCComplex(b);
    return same_bits(one.real, two.real) && same_bits(one.imag, two.imag);
  }
  if (PySlice_Check(a)) {
    const auto* const one = reinterpret_cast<PySliceObject*>(a);
    const auto* const two = reinterpret_cast<PySliceObject*>(b);
    return same_atom(one->start, two->start) && same_atom(one->stop, two->stop) && same_atom(one->step, two->step);
  }
  if (PyRange_Check(a)) return same_range(a, b);
  PyObject* const generic = numpy_generic();
  if (generic != nullptr && PyObject_TypeCheck(a, reinterpret_cast<PyTypeObject*>(generic))) return same_number(a, b);
  return !is_tensor(a) && is_equal(a, b);
}

bool FrozenEntry::matches(PyObject* const* args, std::size_t count, PyObject* keywords, Handles& handles) const {
  if (count != positional || default_device != Device().id() || !same_names(keywords, names.get())) return false;
  const std::size_t all = count + static_cast<std::size_t>(keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords));
  std::size_t at = 0;
  for (std::size_t i = 0; i < all; ++i) {
    if (!match_one(arguments, at, args[i], handles)) return false;
  }
  return true;
}

const Place* FrozenEntry::check_places(Handles& handles) const {
  for (const Place& place : places) {
    if (!holds(place, handles)) return &place;
  }
  return nullptr;
}

bool FrozenEntry::same_aliases(std::span<PyObject* const> handles) const {
  if (alias.empty()) return true;  // of a function that is not frozen
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (alias[i] != i && handles[alias[i]] != handles[i]) return false;
  }
  // Others must be other objects: what changes one would change both, and the function may ask whether `x is y`.
  if (handles.size() == last_handles.size() && std::ranges::equal(handles, last_handles)) return true;
  thread_local std::vector<PyObject*> first;
  first.clear();
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (alias[i] == i) first.push_back(handles[i]);
  }
  std::ranges::sort(first);
  if (std::ranges::adjacent_find(first) != first.end()) return false;
  if (handles.size() == handle_count) last_handles.assign(handles.begin(), handles.end());
  return true;
}

int FrozenEntry::traverse(visitproc visit, void* arg) const {
  const auto visit_one = [&](const PyRef& held) { return held ? visit(held.get(), arg) : 0; };
  for (const ArgumentToken& token : arguments) {
    if (const int stop = visit_one(token.object); stop != 0) return stop;
  }
  for (const Place& place : places) {
    for (const PyRef* held : {&place.container, &place.key, &place.expected}) {
      if (const int stop = visit_one(*held); stop != 0) return stop;
    }
  }
  for (const ResultToken& token : result) {
    if (const int stop = visit_one(token.object); stop != 0) return stop;
  }
  for (const HostAction& action : actions) {
    for (const PyRef* held : {&action.ask, &action.advance}) {
      if (const int stop = visit_one(*held); stop != 0) return stop;
    }
  }
  for (const PyRef& held : kept) {
    if (const int stop = visit_one(held); stop != 0) return stop;
  }
  if (const int stop = visit_one(key); stop != 0) return stop;
  return visit_one(names);
}

std::shared_ptr<FrozenEntry> parse_entry(PyObject* description) {
  auto entry = std::make_shared<FrozenEntry>();
  entry->key = PyRef::borrow(item(description, "key"));
  read_arguments(*entry, item(description, "arguments"));
  entry->positional = PyLong_AsSize_t(item(description, "positional"));
  entry->names = PyRef::borrow(item(description, "names"));
  entry->default_device = Device().id();
  PyObject* const call = item(description, "call");
  entry->is_frozen = call != Py_None;
  if (!entry->is_frozen) return entry;
  entry->call = take_call(call);
  read_places(*entry, item(description, "places"));
  read_results(*entry, description);
  each(item(description, "alias"),
       [&](PyObject* given) { entry->alias.push_back(static_cast<std::uint32_t>(PyLong_AsUnsignedLong(given))); });
  entry->handle_count = static_cast<std::uint32_t>(entry->alias.size());
  each(item(description, "kept"), [&](PyObject* given) { entry->kept.push_back(PyRef::borrow(given)); });
  entry->verify_every = PyLong_AsSize_t(item(description, "verify"));
  entry->until_verified = entry->verify_every;
  if (PyErr_Occurred() != nullptr) throw PythonError{};
  resolve_leaves(*entry);
  return entry;
}

}  // namespace lento::python
