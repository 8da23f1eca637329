// The numbers that a frozen call asks Python for (clause F3).
#pragma once

#include "convert.h"
#include "errors.h"
#include "frozen_entry.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace lento::python {

/// Asks Python for numbers, in the order in which the call asked. What has advanced goes back when one of them says
/// that the call would be another one, or raises.
class HostNumbersNow {
 public:
  explicit HostNumbersNow(const FrozenEntry& entry) : entry_(entry) {}
  ~HostNumbersNow() {
    if (!kept_) undo();
  }
  HostNumbersNow(const HostNumbersNow&) = delete;
  HostNumbersNow& operator=(const HostNumbersNow&) = delete;

  /// False when the call would be another one, also when what is given is no number.
  bool ask() {
    for (const HostAction& action : entry_.actions) {
      const PyRef given = own(PyObject_CallNoArgs(action.ask.get()));
      if (given.get() == Py_None) return false;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given.get()); ++i) {
        PyObject* const number = PyTuple_GET_ITEM(given.get(), i);
        const std::optional<Scalar> value = to_scalar(number);
        if (!value) return false;
        numbers_.push_back(*value);
      }
      if (action.advance.get() != Py_None) advance(action, 1);
      ++done_;
    }
    return true;
  }
  void keep() { kept_ = true; }
  std::span<const Scalar> numbers() const { return numbers_; }

 private:
  static void advance(const HostAction& action, long times) {
    const PyRef count = own(PyLong_FromLong(times));
    (void)own(PyObject_CallOneArg(action.advance.get(), count.get()));
  }

  void undo() noexcept {
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    for (std::size_t i = done_; i-- > 0;) {
      if (entry_.actions[i].advance.get() == Py_None) continue;
      try {
        advance(entry_.actions[i], -1);
      } catch (const PythonError&) {
        PyErr_Clear();
      }
    }
    PyErr_Restore(type, value, traceback);
  }

  const FrozenEntry& entry_;
  std::vector<Scalar> numbers_;
  std::size_t done_ = 0;
  bool kept_ = false;
};

}  // namespace lento::python
