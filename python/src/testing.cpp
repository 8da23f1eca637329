#include "testing.h"

#include "arguments.h"
#include "errors.h"
#include "gil.h"

#include "backends/testing/testing.h"
#include "backends/toy/toy.h"
#include "base/progress.h"
#include "executor/closures.h"

#include <nanobind/stl/string_view.h>

#include <chrono>
#include <string>
#include <string_view>

namespace nb = nanobind;

namespace lento::python {
namespace {

testing::Fault to_fault(std::string_view kind) {
  if (kind == "none") return testing::Fault::none;
  if (kind == "allocate") return testing::Fault::allocate;
  if (kind == "compile") return testing::Fault::compile;
  if (kind == "launch") return testing::Fault::launch;
  if (kind == "completion") return testing::Fault::completion;
  raise(PyExc_ValueError, "no fault is called '%s'", std::string(kind).c_str());
}

toy::Fault to_toy_fault(std::string_view kind) {
  if (kind == "none") return toy::Fault::none;
  if (kind == "allocate") return toy::Fault::allocate;
  if (kind == "compile") return toy::Fault::compile;
  if (kind == "launch") return toy::Fault::launch;
  if (kind == "loss") return toy::Fault::loss;
  raise(PyExc_ValueError, "no fault is called '%s'", std::string(kind).c_str());
}

}  // namespace

void bind_testing(nb::module_& module) {
  namespace gate = testing::gate;
  module.def(
      "_set_closure_idle_time",
      [](int milliseconds) { set_closure_idle_time(std::chrono::milliseconds(milliseconds)); },
      nb::arg("milliseconds"));
  module.def(
      "_set_patience", [](int milliseconds) { set_patience(std::chrono::milliseconds(milliseconds)); },
      nb::arg("milliseconds"));
  module.def("_closure_workers", &closure_workers);
  module.def("_register_testing_devices", &testing::register_testing_backends);
  module.def("_register_toy", &toy::register_toy);
  module.def(
      "_toy_support",
      [](std::string_view what) {
        if (what != "all" && what != "kernels" && what != "few") throw nb::value_error("all, kernels or few");
        toy::set_support(what == "all"       ? toy::Support::all
                         : what == "kernels" ? toy::Support::kernels
                                             : toy::Support::few);
      },
      nb::arg("what"));
  module.def("_toy_delays", &toy::set_delays, nb::arg("seed"));
  module.def("_toy_hold", &toy::hold, nb::arg("held"));
  module.def(
      "_toy_fail_at", [](std::string_view fault, int after) { toy::fail_at(to_toy_fault(fault), after); },
      nb::arg("fault"), nb::arg("after") = 0);
  module.def("_toy_lose", &toy::lose, nb::arg("device"));
  module.def(
      "_toy_replace",
      [](int device) {
        const WithoutGil without_gil;
        toy::replace(device);
      },
      nb::arg("device"));
  module.def("_gate_open", &gate::open, nb::arg("count"));
  module.def("_gate_open_forever", &gate::open_forever);
  module.def("_gate_close", &gate::close);
  module.def(
      "_gate_wait_for_arrivals",
      [](int count) {
        const WithoutGil without_gil;
        gate::wait_for_arrivals(count);
      },
      nb::arg("count"));
  module.def("_gate_hold_compiles", &gate::hold_compiles, nb::arg("hold"));
  module.def(
      "_gate_wait_for_compiles",
      [](int count) {
        const WithoutGil without_gil;
        gate::wait_for_compiles(count);
      },
      nb::arg("count"));
  module.def(
      "_inject_fault", [](std::string_view kind, int after) { testing::inject(to_fault(kind), after); },
      nb::arg("kind"), nb::arg("after") = 0);
}

}  // namespace lento::python
