// One signature of a compiled function (clause F2): how its arguments are told from others, what it must find where the
// function would look, and what a call gives.
#pragma once

#include "errors.h"
#include "tensor_type.h"

#include "executor/frozen_call.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lento::python {

/// A node of the tree of arguments, before its children.
struct ArgumentToken {
  enum class Kind : std::uint8_t { tensor, atom, same, tuple, list, dict };
  Kind kind;
  PyRef object;  // atom: an equal one; same: that object; dict: the tuple of its keys
  std::uint32_t count = 0;
  DType dtype{};
  ShapeId shape{};
  std::uint8_t device = 0;
};

/// Where the function finds something that is no argument: an entry of a dict, such as a global or an attribute; an
/// item of a list; what a closure has captured. It must hold what it held when the call was recorded, or a tensor like
/// the one there.
struct Place {
  enum class Kind : std::uint8_t { dict, list, cell, length };
  enum class Holds : std::uint8_t { same, atom, tensor };
  static constexpr std::uint32_t kNoHandle = ~0U;

  Kind kind{};
  Holds holds{};
  PyRef container;
  PyRef key;  // dict: the key; list: none
  Py_ssize_t index = 0;
  PyRef expected;  // same, atom
  DType dtype{};
  ShapeId shape{};
  std::uint8_t device = 0;
  std::uint32_t handle = kNoHandle;
  std::string name;  // "model.layers.0.weight"
};

/// A node of the tree of results, before its children.
struct ResultToken {
  enum class Kind : std::uint8_t { made, handle, constant, tuple, list, dict, rebuild };
  Kind kind;
  PyRef object;  // constant: what is given; dict: the tuple of its keys; rebuild: what makes it of a list
  std::uint32_t index = 0;
};

/// Where a tensor is taken from when the call has been bound.
struct TakenFrom {
  enum class Kind : std::uint8_t { output, handle, constant } kind;
  std::uint32_t index;
};

/// Numbers that Python is asked for: `ask()` gives a tuple of them, or None when a call would be another one; then
/// `advance(times)` is called, unless it is None.
struct HostAction {
  PyRef ask;
  PyRef advance;
};

/// Tensor objects that a call finds, held: to look at arguments and places may run Python code, which may let go what
/// it found.
class Handles {
 public:
  Handles() = default;
  ~Handles() { clear(); }
  Handles(Handles&& other) noexcept : objects_(std::move(other.objects_)) { other.objects_.clear(); }
  Handles& operator=(Handles&& other) noexcept {
    objects_.swap(other.objects_);
    return *this;
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  void push_back(PyObject* object) {
    objects_.push_back(object);
    Py_INCREF(object);
  }
  void clear() noexcept {
    for (PyObject* object : objects_) Py_DECREF(object);
    objects_.clear();
  }
  std::size_t size() const { return objects_.size(); }
  PyObject* operator[](std::size_t index) const { return objects_[index]; }
  operator std::span<PyObject* const>() const { return objects_; }
  friend bool operator==(const Handles& a, const Handles& b) = default;

 private:
  std::vector<PyObject*> objects_;
};

struct FrozenEntry {
  PyRef key;  // what the Python side knows it by
  std::vector<ArgumentToken> arguments;
  std::size_t positional = 0;
  std::uint8_t default_device = 0;  // ops without a tensor go there
  PyRef names;                      // of keyword arguments: a tuple, or null
  bool is_frozen = false;           // otherwise the function is called, as it is for good

  std::vector<Place> places;
  std::uint32_t handle_count = 0;
  std::vector<std::uint32_t> alias;  // of each handle: the first that is the same object
  CallGraph call;
  KnownPlan plan;                      // guarded by the GIL
  std::vector<TakenFrom> reads;        // of each input of the graph: a handle or a constant
  std::vector<std::uint8_t> replaced;  // of each input: whether its handle gets another value
  std::vector<Tensor> constants;
  std::vector<std::uint32_t> passed_on;  // handles whose value before the call is a result
  struct Change {
    std::uint32_t handle;
    TakenFrom from;
  };
  std::vector<Change> changes;  // handles that get another value
  struct Store {
    std::uint32_t place;
    bool is_handle;       // the object that a handle is, which moves to another place; else a new one
    std::uint32_t index;  // of the handle, or in `made`
  };
  std::vector<Store> stores;    // places that get another Tensor object
  std::vector<TakenFrom> made;  // new Tensor objects
  std::vector<ResultToken> result;
  std::vector<HostAction> actions;
  std::uint64_t verify_every = 0;
  std::uint64_t until_verified = 0;
  std::vector<PyRef> kept;  // generators, whose addresses the call has

  /// Whether these are its arguments; then `handles` has the Tensor objects among them.
  bool matches(PyObject* const* args, std::size_t count, PyObject* keywords, Handles& handles) const;
  /// Looks at every place and adds the handles there. Null, or the first place that holds something else.
  const Place* check_places(Handles& handles) const;
  /// Whether the same handles are the same objects as when the call was recorded: all, or those of the arguments.
  bool same_aliases(std::span<PyObject* const> handles) const;
  /// All handles as they were compared last. Only addresses: nothing is looked at.
  mutable std::vector<PyObject*> last_handles;
  int traverse(visitproc visit, void* arg) const;
};

/// The same type and the same value, to the bit.
bool same_atom(PyObject* a, PyObject* b);

/// Makes one of the dict that lento/_compile.py describes it by. Throws PythonError.
std::shared_ptr<FrozenEntry> parse_entry(PyObject* description);

}  // namespace lento::python
