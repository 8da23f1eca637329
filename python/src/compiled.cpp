#include "compiled.h"

#include "arguments.h"
#include "changes.h"
#include "frozen_entry.h"
#include "gil.h"
#include "host_numbers_now.h"
#include "recorded_call.h"
#include "source.h"

#include <structmember.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace lento::python {

namespace {

using Entries = std::vector<std::shared_ptr<FrozenEntry>>;

struct CompiledObject {
  PyObject_HEAD PyObject* function;
  PyObject* record;  ///< Python: record(args, kwargs, why, key), for calls that are not known yet
  Entries* entries;  ///< signatures, the last one used first
  PyObject* dict;    ///< __name__, __doc__ and so on
  PyObject* weakrefs;
  vectorcallfunc vectorcall;
};

CompiledObject* compiled(PyObject* self) { return reinterpret_cast<CompiledObject*>(self); }

/// The Tensor that is at a place after the call.
Tensor take(const FrozenEntry& entry, const TakenFrom& from, std::span<const Tensor> outputs,
            std::span<const Tensor> before) {
  switch (from.kind) {
    case TakenFrom::Kind::output:
      return outputs[from.index];
    case TakenFrom::Kind::handle:
      return before[from.index];
    case TakenFrom::Kind::constant:
      break;
  }
  return entry.constants[from.index];
}

/// Puts a new Tensor object where an old one is; the old one is returned. Runs no Python code.
PyObject* replace(const Place& place, PyObject* made) {
  PyObject* const container = place.container.get();
  switch (place.kind) {
    case Place::Kind::dict: {
      PyObject* const old = Py_XNewRef(PyDict_GetItemWithError(container, place.key.get()));
      if (PyDict_SetItem(container, place.key.get(), made) < 0) PyErr_Clear();
      return old;
    }
    case Place::Kind::list: {
      if (place.index >= PyList_GET_SIZE(container)) return nullptr;
      PyObject* const old = PyList_GET_ITEM(container, place.index);
      PyList_SET_ITEM(container, place.index, Py_NewRef(made));
      return old;
    }
    case Place::Kind::cell: {
      PyObject* const old = PyCell_GET(container);
      PyCell_SET(container, Py_NewRef(made));
      return old;
    }
    case Place::Kind::length:
      break;
  }
  return nullptr;
}

/// Old values and objects of handles, until the run has begun. What only a handle held is let go at once, so that the
/// run may write over it, unless to let it go could run code of others.
class Displaced {
 public:
  void value(Tensor old) {
    const TensorState& state = state_of(old);
    const bool is_plain =
        !state.pending() && state.value->issued() && state.value->buffer && !state.value->buffer->shared();
    if (!is_plain) values_.push_back(std::move(old));
  }
  void object(PyObject* old) {
    if (old == nullptr) return;
    objects_.emplace_back(old);
    const bool only_here =
        is_tensor(old) && Py_REFCNT(old) == 1 && reinterpret_cast<TensorObject*>(old)->weakrefs == nullptr;
    if (only_here) value(std::move(tensor_of(old)));
  }

 private:
  std::vector<Tensor> values_;
  std::vector<PyRef> objects_;
};

PyObject* build(const FrozenEntry& entry, std::size_t& at, std::span<const PyRef> made,
                std::span<PyObject* const> handles) {
  const ResultToken& token = entry.result[at++];
  switch (token.kind) {
    case ResultToken::Kind::made:
      return Py_NewRef(made[token.index].get());
    case ResultToken::Kind::handle:
      return Py_NewRef(handles[token.index]);
    case ResultToken::Kind::constant:
      return Py_NewRef(token.object.get());
    case ResultToken::Kind::tuple: {
      PyRef tuple = own(PyTuple_New(token.index));
      for (std::uint32_t i = 0; i < token.index; ++i) PyTuple_SET_ITEM(tuple.get(), i, build(entry, at, made, handles));
      return tuple.release();
    }
    case ResultToken::Kind::list:
    case ResultToken::Kind::rebuild: {
      PyRef list = own(PyList_New(token.index));
      for (std::uint32_t i = 0; i < token.index; ++i) PyList_SET_ITEM(list.get(), i, build(entry, at, made, handles));
      if (token.kind == ResultToken::Kind::list) return list.release();
      return checked(PyObject_CallOneArg(token.object.get(), list.get()));
    }
    case ResultToken::Kind::dict: {
      PyRef dict = own(PyDict_New());
      for (std::uint32_t i = 0; i < token.index; ++i) {
        const PyRef value(build(entry, at, made, handles));
        if (PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(token.object.get(), i), value.get()) < 0) throw PythonError{};
      }
      return dict.release();
    }
  }
  return nullptr;
}

/// Whether no other thread could run Python code while this one gave up the GIL.
bool is_only_thread() {
  PyThreadState* const own_state = PyThreadState_Get();
  return PyInterpreterState_ThreadHead(PyThreadState_GetInterpreter(own_state)) == own_state &&
         PyThreadState_Next(own_state) == nullptr;
}

/// A call as it was given.
struct Given {
  PyObject* const* args;
  std::size_t count;
  PyObject* names;
};

std::vector<Tensor> read_inputs(const FrozenEntry& entry, const Handles& handles) {
  std::vector<Tensor> inputs;
  inputs.reserve(entry.reads.size());
  for (const TakenFrom& from : entry.reads) {
    inputs.push_back(from.kind == TakenFrom::Kind::constant ? entry.constants[from.index]
                                                            : tensor_of(handles[from.index]));
  }
  return inputs;
}

/// Whether the handles still have the values that were read.
bool still_have(const FrozenEntry& entry, const Handles& handles, std::span<const TensorState* const> read) {
  for (std::size_t i = 0; i < read.size(); ++i) {
    const TakenFrom& from = entry.reads[i];
    if (from.kind != TakenFrom::Kind::constant && tensor_of(handles[from.index]).state() != read[i]) return false;
  }
  return true;
}

/// What a frozen call has looked at, and what is to be done.
struct Attempt {
  PyRef result;  // or null, and the call is recorded because of `changed`
  const char* changed = nullptr;
};

constexpr int kMostAttempts = 64;  // of calls whose tensors other threads change meanwhile

/// Runs a frozen call. Another thread may run where the GIL is given up, and Python code where numbers are asked for;
/// then everything is looked at again before anything is changed, and read again where it is another one. So a call is
/// one step for others, as long as it is frozen. `handles` are those that were found; they may be other ones at the
/// end.
Attempt run(FrozenEntry& entry, const Given& given, Handles& handles) {
  const PythonSourceScope source;
  const CallScope scope("compile", Source{});
  std::vector<PyRef> made;
  made.reserve(entry.made.size());
  for (std::size_t i = 0; i < entry.made.size(); ++i) made.emplace_back(wrap(Tensor()));
  std::optional<FrozenRun> frozen;
  HostNumbersNow numbers(entry);
  bool is_asked = entry.actions.empty();
  for (int attempt = 0;; ++attempt) {
    if (attempt == kMostAttempts) return {{}, "what other threads change meanwhile"};
    bool is_as_read = is_only_thread();
    std::vector<Tensor> inputs = read_inputs(entry, handles);
    std::vector<const TensorState*> read;  // the run holds them
    if (!is_as_read || !is_asked) {
      for (const Tensor& input : inputs) read.push_back(input.state());
    }
    const KnownPlan known = entry.plan;
    {
      const WithoutGil without_gil;
      frozen.emplace(entry.call, std::move(inputs), entry.replaced, known);
    }
    entry.plan = frozen->plan();
    if (!is_asked) {
      if (!numbers.ask()) return {{}, "the settings of an optimizer"};
      is_asked = true;
      is_as_read = false;
    }
    if (is_as_read) break;
    Handles now;
    if (!entry.matches(given.args, given.count, given.names, now)) return {{}, "what the arguments hold"};
    if (const Place* changed = entry.check_places(now)) return {{}, changed->name.c_str()};
    if (!entry.same_aliases(now)) return {{}, "which handles are the same tensor"};
    if (now == handles && still_have(entry, handles, read)) break;
    handles = std::move(now);
  }
  std::vector<Tensor> before(entry.passed_on.empty() ? 0 : handles.size());
  for (const std::uint32_t handle : entry.passed_on) before[handle] = tensor_of(handles[handle]);
  if (!frozen->take_numbers(numbers.numbers())) return {{}, "a number of the host"};
  Displaced displaced;
  {
    const std::vector<Tensor> outputs = frozen->bind();
    numbers.keep();
    // From here to the start of the run no Python code runs: nobody sees a part of it.
    for (std::size_t i = 0; i < made.size(); ++i) {
      tensor_of(made[i].get()) = take(entry, entry.made[i], outputs, before);
    }
    for (const FrozenEntry::Store& store : entry.stores) {
      PyObject* const object = store.is_handle ? handles[store.index] : made[store.index].get();
      displaced.object(replace(entry.places[store.place], object));
    }
    for (const FrozenEntry::Change& change : entry.changes) {
      Tensor value = take(entry, change.from, outputs, before);
      std::swap(tensor_of(handles[change.handle]), value);
      displaced.value(std::move(value));
    }
  }
  before.clear();
  {
    const WithoutGil without_gil;
    frozen->start(AfterLaunch::go_on);
  }
  std::size_t at = 0;
  return {own(build(entry, at, made, handles))};
}

PyObject* call_record(CompiledObject* self, PyObject* const* args, std::size_t count, PyObject* names, const char* why,
                      PyObject* key) {
  const PyRef positional = own(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (std::size_t i = 0; i < count; ++i) PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(args[i]));
  const PyRef named = own(PyDict_New());
  for (Py_ssize_t i = 0; i < (names == nullptr ? 0 : PyTuple_GET_SIZE(names)); ++i) {
    if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(names, i), args[count + static_cast<std::size_t>(i)]) < 0)
      throw PythonError{};
  }
  const PyRef reason = own(PyUnicode_FromString(why));
  PyObject* const all[] = {positional.get(), named.get(), reason.get(), key};
  return checked(PyObject_Vectorcall(self->record, all, 4, nullptr));
}

PyObject* call_known(CompiledObject* self, PyObject* const* args, std::size_t count, PyObject* names) {
  Handles handles;
  Entries& entries = *self->entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    handles.clear();
    // To compare may run Python code, which may forget entries.
    const std::shared_ptr<FrozenEntry> entry = entries[i];
    if (!entry->matches(args, count, names, handles) || !entry->same_aliases(handles)) continue;
    if (i != 0 && i < entries.size() && entries[i] == entry)
      std::rotate(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(i),
                  entries.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    if (!entry->is_frozen) {
      count_freeze_fallback();
      handles.clear();
      return PyObject_Vectorcall(self->function, args, count, names);
    }
    const char* why = nullptr;
    if (const Place* changed = entry->check_places(handles)) {
      why = changed->name.c_str();
    } else if (!entry->same_aliases(handles)) {
      why = "which handles are the same tensor";
    } else if (entry->verify_every != 0 && --entry->until_verified == 0) {
      entry->until_verified = entry->verify_every;
      why = "verify";
    } else {
      Attempt attempt = run(*entry, {args, count, names}, handles);
      if (attempt.result) return attempt.result.release();
      why = attempt.changed;
    }
    handles.clear();  // what the function replaces may go
    return call_record(self, args, count, names, why, entry->key.get());
  }
  handles.clear();
  return call_record(self, args, count, names, "", Py_None);
}

PyObject* call_compiled(PyObject* object, PyObject* const* args, std::size_t flags, PyObject* names) noexcept {
  CompiledObject* const self = compiled(object);
  const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
  try {
    if (self->function == nullptr || self->record == nullptr)
      raise(PyExc_TypeError, "compile: this function was not made by lento.compile");
    // Inside of a derivative, a vmap, a checkpoint or another recording, the function is a part of it (clause F5).
    if (current_watcher != nullptr || change_notes != nullptr)
      return PyObject_Vectorcall(self->function, args, count, names);
    return call_known(self, args, count, names);
  } catch (...) {
    return set_exception();
  }
}

// --- the type ---

int init_compiled(PyObject* object, PyObject* args, PyObject* /*names*/) noexcept {
  CompiledObject* const self = compiled(object);
  PyObject* function = nullptr;
  PyObject* record = nullptr;
  if (PyArg_ParseTuple(args, "OO", &function, &record) == 0) return -1;
  Py_XSETREF(self->function, Py_NewRef(function));
  Py_XSETREF(self->record, Py_NewRef(record));
  return 0;
}

PyObject* new_compiled(PyTypeObject* type, PyObject* /*args*/, PyObject* /*names*/) noexcept {
  PyObject* const object = type->tp_alloc(type, 0);
  if (object == nullptr) return nullptr;
  CompiledObject* const self = compiled(object);
  self->entries = new (std::nothrow) Entries;
  self->vectorcall = call_compiled;
  if (self->entries != nullptr) return object;
  Py_DECREF(object);
  return PyErr_NoMemory();
}

int traverse_compiled(PyObject* object, visitproc visit, void* arg) {
  const CompiledObject* const self = compiled(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->function);
  Py_VISIT(self->record);
  Py_VISIT(self->dict);
  if (self->entries == nullptr) return 0;
  for (const auto& entry : *self->entries) {
    // One that a call holds at this moment has another holder, whom the collector does not see.
    if (entry.use_count() != 1) continue;
    if (const int stop = entry->traverse(visit, arg); stop != 0) return stop;
  }
  return 0;
}

int clear_compiled(PyObject* object) {
  CompiledObject* const self = compiled(object);
  if (self->entries != nullptr) {
    const Entries gone = std::exchange(*self->entries, {});
  }
  Py_CLEAR(self->function);
  Py_CLEAR(self->record);
  Py_CLEAR(self->dict);
  return 0;
}

void dealloc_compiled(PyObject* object) {
  CompiledObject* const self = compiled(object);
  PyObject_GC_UnTrack(object);
  if (self->weakrefs != nullptr) PyObject_ClearWeakRefs(object);
  clear_compiled(object);
  delete self->entries;
  PyTypeObject* const type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* get_bound(PyObject* self, PyObject* instance, PyObject* /*type*/) {
  if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

/// Puts an entry in the place of the one with its key, and forgets those used least when there are more than `most`.
PyObject* keep_entry(PyObject* object, PyObject* args) noexcept {
  try {
    PyObject* description = nullptr;
    Py_ssize_t most = 0;
    if (PyArg_ParseTuple(args, "On", &description, &most) == 0) return nullptr;
    std::shared_ptr<FrozenEntry> entry = parse_entry(description);
    Entries& entries = *compiled(object)->entries;
    Entries gone;
    entries.insert(entries.begin(), std::move(entry));
    while (entries.size() > static_cast<std::size_t>(most)) {
      gone.push_back(std::move(entries.back()));
      entries.pop_back();
    }
    Py_RETURN_NONE;
  } catch (...) {
    return set_exception();
  }
}

Entries::iterator find_entry(Entries& entries, PyObject* key) {
  return std::ranges::find_if(entries, [&](const auto& entry) { return entry->key.get() == key; });
}

PyObject* forget_entry(PyObject* object, PyObject* key) noexcept {
  Entries& entries = *compiled(object)->entries;
  if (const auto found = find_entry(entries, key); found != entries.end()) {
    const std::shared_ptr<FrozenEntry> gone = std::move(*found);
    entries.erase(found);
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"_keep", keep_entry, METH_VARARGS, nullptr},
    {"_forget", forget_entry, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CompiledObject, weakrefs), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(CompiledObject, dict), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CompiledObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_compiled)},
    {Py_tp_init, reinterpret_cast<void*>(init_compiled)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_compiled)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_compiled)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_compiled)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(get_bound)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, attributes},
    {0, nullptr},
};

PyType_Spec spec = {
    .name = "lento._core._Compiled",
    .basicsize = sizeof(CompiledObject),
    .itemsize = 0,
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = slots,
};

}  // namespace

void add_compiled_type(PyObject* module) {
  const PyRef type = own(PyType_FromSpec(&spec));
  if (PyModule_AddObjectRef(module, "_Compiled", type.get()) < 0) throw PythonError{};
}

}  // namespace lento::python
