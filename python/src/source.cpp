#include "source.h"

#include "frame.h"
#include "gil.h"

#include "executor/save_graphs.h"

#include <pthread.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

namespace lento::python {
namespace {

// Code objects that sources refer to are pinned so that a line can be looked up long after the function is gone. The
// table is bounded: a program that compiles new code for ever overwrites the oldest entries, whose sources then have no
// line any more. A unit is a slot and the generation of its content, so that a stale unit is recognised.
constexpr std::size_t kSlots = 8192;
constexpr std::uintptr_t kInternalUnit = 1;  // code of Lento's own package

struct Slot {
  PyCodeObject* code = nullptr;
  std::uint32_t generation = 0;
  std::string file;  // last component of co_filename
};

struct PinTable {
  std::mutex mutex;  // taken last and never while calling Python: sources are resolved under the engine's locks
  std::vector<Slot> slots = std::vector<Slot>(kSlots);
  std::unordered_map<PyCodeObject*, std::uintptr_t> units;
  std::size_t next = 0;
  std::string package_folder;
};

PinTable& table() {
  static auto* pins = [] {
    // A child finds the lock free: only the lock was held elsewhere, the table changes under the GIL, which the forking
    // thread holds.
    pthread_atfork(nullptr, nullptr, [] { new (&table().mutex) std::mutex; });
    return new PinTable;  // never destroyed: tensors may be printed at exit
  }();
  return *pins;
}

// Last units seen, by code object; guarded by the GIL.
struct CacheEntry {
  PyCodeObject* code = nullptr;
  std::uintptr_t unit = 0;
};
std::array<CacheEntry, 64> cache;

CacheEntry& cache_entry(PyCodeObject* code) {
  const auto bits = reinterpret_cast<std::uintptr_t>(code);
  return cache[((bits >> 4) ^ (bits >> 10)) % cache.size()];
}

// The last one: in a loop it is the same code again and again. Guarded by the GIL.
CacheEntry latest;

std::uintptr_t unit_from(std::size_t slot, std::uint32_t generation) {
  return (static_cast<std::uintptr_t>(generation) << 16 | slot) + 2;  // 0 is unknown, 1 internal
}

std::string file_of(PyCodeObject* code) {
  const char* name = PyUnicode_AsUTF8(code->co_filename);
  if (name == nullptr) {
    PyErr_Clear();
    return "<unknown>";
  }
  return name;
}

std::uintptr_t pin(PyCodeObject* code) {
  PinTable& pins = table();
  std::string file = file_of(code);
  PyCodeObject* evicted = nullptr;
  std::uintptr_t unit = 0;
  {
    const std::lock_guard lock(pins.mutex);
    if (const auto found = pins.units.find(code); found != pins.units.end()) {
      unit = found->second;
    } else {
      // What the package wraps in a context manager is called through contextlib.
      const bool internal =
          !pins.package_folder.empty() && (file.starts_with(pins.package_folder) || file.ends_with("/contextlib.py"));
      if (const auto slash = file.rfind('/'); slash != std::string::npos) file.erase(0, slash + 1);
      const std::size_t index = pins.next++ % kSlots;
      Slot& slot = pins.slots[index];
      evicted = slot.code;
      if (evicted != nullptr) pins.units.erase(evicted);
      slot.code = reinterpret_cast<PyCodeObject*>(Py_NewRef(code));
      slot.generation = (slot.generation + 1) & 0x7fffffffU;
      slot.file = std::move(file);
      unit = internal ? kInternalUnit : unit_from(index, slot.generation);
      pins.units.emplace(code, unit);
    }
  }
  if (evicted != nullptr) {
    cache_entry(evicted) = {};
    latest = {};
    Py_DECREF(evicted);
  }
  cache_entry(code) = {code, unit};
  return unit;
}

inline std::uintptr_t unit_of(PyCodeObject* code) {
  if (latest.code == code) [[likely]]
    return latest.unit;
  const CacheEntry& entry = cache_entry(code);
  latest = {code, entry.code == code ? entry.unit : pin(code)};
  return latest.unit;
}

// Called without the GIL, maybe under the engine's locks: reads only immutable parts of a pinned code object.
std::string resolve(const void* unit, std::uint32_t position) {
  const auto number = reinterpret_cast<std::uintptr_t>(unit);
  if (number < 2) return "";
  const std::size_t index = (number - 2) & 0xffff;
  const auto generation = static_cast<std::uint32_t>((number - 2) >> 16);
  PinTable& pins = table();
  const std::lock_guard lock(pins.mutex);
  if (index >= kSlots) return "";
  const Slot& slot = pins.slots[index];
  if (slot.code == nullptr || slot.generation != generation) return "";
  const int line = PyCode_Addr2Line(slot.code, static_cast<int>(position));
  return slot.file + ":" + std::to_string(line);
}

}  // namespace

namespace {

/// Finds the innermost frame of user code and its unit; 0 when there is none.
inline std::uintptr_t user_frame(LentoFrame& frame) {
  if (lento_innermost_frame(&frame) == 0) return 0;
  std::uintptr_t unit = unit_of(frame.code);
  while (unit == kInternalUnit) [[unlikely]] {
    if (lento_outer_frame(&frame) == 0) return 0;
    unit = unit_of(frame.code);
  }
  return unit;
}

}  // namespace

Source current_source() {
  LentoFrame frame;
  const std::uintptr_t unit = user_frame(frame);
  if (unit == 0) return {};
  return Source::foreign(reinterpret_cast<const void*>(unit),
                         static_cast<std::uint32_t>(frame.instruction < 0 ? 0 : frame.instruction));
}

Line current_line() {
  LentoFrame frame;
  if (user_frame(frame) == 0) return {};
  return {PyRef::borrow(frame.code->co_filename), PyCode_Addr2Line(frame.code, frame.instruction)};
}

void set_package_folder(std::string_view folder) {
  PinTable& pins = table();
  const std::lock_guard lock(pins.mutex);
  pins.package_folder = std::string(folder) + "/";
}

namespace {

/// All frames of the calling thread, innermost first, those of Lento's own package included.
std::string stack_text() {
  const WithGil gil;
  std::string text;
  for (PyRef frame = PyRef::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame())); frame;) {
    auto* here = reinterpret_cast<PyFrameObject*>(frame.get());
    const PyRef held(reinterpret_cast<PyObject*>(PyFrame_GetCode(here)));
    auto* code = reinterpret_cast<PyCodeObject*>(held.get());
    const char* function = PyUnicode_AsUTF8(code->co_name);
    if (function == nullptr) PyErr_Clear();
    text += "  " + std::string(function == nullptr ? "<unknown>" : function) + " (" + file_of(code) + ":" +
            std::to_string(PyFrame_GetLineNumber(here)) + ")\n";
    frame = PyRef(reinterpret_cast<PyObject*>(PyFrame_GetBack(here)));
  }
  return text;
}

}  // namespace

void install_source_resolver() {
  set_source_resolver(&resolve);
  set_stack_writer(&stack_text);
}

}  // namespace lento::python
