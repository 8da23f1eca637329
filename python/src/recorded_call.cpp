#include "recorded_call.h"

#include "arguments.h"
#include "convert.h"
#include "errors.h"
#include "gil.h"
#include "source.h"
#include "tensor_type.h"

#include "executor/warn.h"

#include <lento/memory.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace lento::python {

namespace {

// Classes of numbers that know their node, set by lento/_recording.py.
std::array<PyTypeObject*, 2> host_classes{};
PyObject* node_name = nullptr;
PyObject* value_name = nullptr;

/// One call, from its beginning to what is known of it once it has ended.
struct RecordedCall {
  std::unique_ptr<CallRecorder> recorder = std::make_unique<CallRecorder>();
  CallGraph call;
};

void finish(RecordedCall& self, const nb::list& wanted) {
  std::vector<Tensor> tensors;
  for (const nb::handle tensor : wanted) tensors.push_back(tensor_of(tensor.ptr()));
  self.call = self.recorder->finish(tensors);
}

/// Of each leaf its id, and whether it can be a constant.
std::vector<std::pair<std::uint64_t, bool>> leaves(const RecordedCall& self) {
  std::vector<std::pair<std::uint64_t, bool>> found;
  for (std::size_t i = 0; i < self.call.leaves.size(); ++i)
    found.emplace_back(self.call.leaves[i].id(), self.call.origins[i].bytes.has_value());
  return found;
}

/// The leaves that matter: those that the graph reads, and those that the function gives back.
std::vector<std::uint32_t> used_leaves(const RecordedCall& self) {
  std::vector<std::uint32_t> used = self.call.reads;
  for (const Slot& slot : self.call.wanted) {
    if (!slot.is_computed) used.push_back(slot.index);
  }
  return used;
}

void set_origins(RecordedCall& self, const std::vector<std::int64_t>& handles) {
  for (std::size_t i = 0; i < handles.size(); ++i) {
    self.call.origins.at(i).handle = handles[i];
    if (handles[i] != LeafOrigin::kConstant) self.call.leaves[i] = Tensor();  // what it was is no longer needed
  }
}

/// Where a leaf is read first.
std::string place_of_leaf(const RecordedCall& self, std::uint32_t leaf) {
  const Graph& graph = self.call.graph;
  for (std::uint32_t input = 0; input < self.call.reads.size(); ++input) {
    if (self.call.reads[input] != leaf) continue;
    for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
      for (const OperandRef operand : graph.operands(graph.nodes[node])) {
        if (operand == OperandRef::leaf(input)) return to_string(graph.sources[node]);
      }
    }
  }
  return {};
}

std::vector<std::pair<bool, std::uint32_t>> slots(const RecordedCall& self) {
  std::vector<std::pair<bool, std::uint32_t>> found;
  for (const Slot& slot : self.call.wanted) found.emplace_back(slot.is_computed, slot.index);
  return found;
}

std::optional<std::string> reason(const RecordedCall& self) {
  if (!self.recorder->is_refused()) return std::nullopt;
  return with_line(self.recorder->reason(), self.recorder->line());
}

std::optional<std::string> difference_of(const RecordedCall& self, const RecordedCall& later) {
  const std::optional<CallDifference> found = difference(self.call, later.call);
  if (!found) return std::nullopt;
  return with_line(found->text, found->line);
}

/// The generators that were drawn from, by their addresses.
std::vector<std::uintptr_t> generators(const RecordedCall& self) {
  std::vector<std::uintptr_t> found;
  for (const Draw& draw : self.call.draws) {
    if (draw.generator != nullptr && draw.generator != &default_generator()) {
      found.push_back(reinterpret_cast<std::uintptr_t>(draw.generator));
    }
  }
  return found;
}

/// The tensors made during the call that are still alive, by their ids, and the lines that made them.
std::vector<std::pair<std::uint64_t, std::string>> living(const RecordedCall& self) {
  std::vector<std::pair<std::uint64_t, std::string>> found;
  const WithoutGil without_gil;  // looks into the tapes of all threads
  for (LiveTensor& tensor : live_tensors()) {
    if (self.recorder->was_made_inside(tensor.id)) found.emplace_back(tensor.id, std::move(tensor.source));
  }
  return found;
}

std::uint32_t give_number(RecordedCall& self, const nb::object& number) {
  const std::optional<Scalar> value = to_scalar(number.ptr());
  if (!value)
    raise(PyExc_TypeError, "host_number(): the function gives a number, not %s", Py_TYPE(number.ptr())->tp_name);
  return self.recorder->host().give(*value);
}

}  // namespace

std::string with_line(const std::string& text, const Source& line) {
  const std::string place = to_string(line);
  return place.empty() ? text : text + ", at " + place;
}

const CallGraph& recorded_call(PyObject* recorder) {
  RecordedCall* found = nullptr;
  if (!nb::try_cast(nb::handle(recorder), found) || found == nullptr)
    raise(PyExc_TypeError, "a recorded call is expected, not %s", Py_TYPE(recorder)->tp_name);
  return found->call;
}

CallGraph take_call(PyObject* recorder) { return recorded_call(recorder); }

bool is_host_number(PyObject* object) {
  return Py_TYPE(object) == host_classes[0] || Py_TYPE(object) == host_classes[1];
}

Scalar take_host_number(PyObject* number) {
  const PyRef value = own(PyObject_GetAttr(number, value_name));
  const std::optional<Scalar> plain = to_scalar(value.get());
  if (!plain) raise(PyExc_TypeError, "host_number(): a number is expected, not %s", Py_TYPE(value.get())->tp_name);
  HostNumbers* const host = current_host_numbers();
  if (host == nullptr) return *plain;
  const PyRef node = own(PyObject_GetAttr(number, node_name));
  const long index = PyLong_AsLong(node.get());
  if (index >= 0) {
    host->expect(static_cast<HostNumbers::Index>(index), true);
  } else {
    refuse_recorded_call("a number is used that lento.host_number gave to another call");
  }
  return *plain;
}

void bind_recorded_calls(nb::module_& module) {
  nb::class_<RecordedCall>(module, "_CallRecorder")
      .def(nb::init<>())
      .def("stop", [](RecordedCall& self) { self.recorder->stop(); })
      .def("refuse", [](RecordedCall& self, const std::string& why) { self.recorder->refuse(why, current_source()); })
      .def("watch", [](RecordedCall& self,
                       const nb::object& generator) { self.recorder->watch(*nb::cast<Generator*>(generator)); })
      .def("made_inside", [](const RecordedCall& self,
                             const nb::object& x) { return self.recorder->was_made_inside(tensor_of(x.ptr())); })
      .def("living", &living)
      .def("finish", &finish)
      .def("leaves", &leaves)
      .def("used_leaves", &used_leaves)
      .def("set_origins", &set_origins)
      .def("place_of_leaf", &place_of_leaf)
      .def("slots", &slots)
      .def("generators", &generators)
      .def("give", &give_number)
      .def("difference", &difference_of)
      .def_prop_ro("reason", &reason)
      .def_prop_ro("ops", [](const RecordedCall& self) { return self.call.graph.nodes.size(); })
      .def_prop_ro("inputs", [](const RecordedCall& self) { return self.call.graph.inputs.size(); });
  module.def("_is_recording_call", [] { return current_host_numbers() != nullptr; });
  module.def("_set_host_classes", [](const nb::object& one, const nb::object& two) {
    host_classes = {reinterpret_cast<PyTypeObject*>(one.inc_ref().ptr()),
                    reinterpret_cast<PyTypeObject*>(two.inc_ref().ptr())};
    node_name = PyUnicode_InternFromString("_node");
    value_name = PyUnicode_InternFromString("_value");
  });
  module.def("_count_freeze_record", &count_freeze_record);
  module.def("_count_freeze_fallback", &count_freeze_fallback);
  module.def("_note_frozen", &note_frozen);
  module.def("_tell", [](const std::string& message) { warn(WarningKind::other, message); });
  module.def("_generator_address",
             [](const nb::object& object) { return reinterpret_cast<std::uintptr_t>(nb::cast<Generator*>(object)); });
}

}  // namespace lento::python
