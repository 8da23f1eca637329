#include <lento/differentiation.h>
#include <lento/located.h>
#include <lento/nn/module.h>

#include "base/fail.h"
#include "base/source.h"
#include "ops/composite_helpers.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <ostream>
#include <typeinfo>

namespace lento::nn {
namespace {

using composite::converted;
using composite::type_of;

bool is_trained(const Tensor& x) { return is_inexact(x.dtype()); }

/// Parameters and buffers by name, as places that can be assigned to.
class State final : public tree::detail::GatherNames {
 public:
  struct Entry {
    std::string name;
    Tensor* tensor;
    bool trained;
  };

  explicit State(const Module& module) { const_cast<Module&>(module).accept(*this); }

  void tensor(Tensor& x) override { entries.push_back({path_, &x, true}); }
  void buffer(Tensor& x) override {
    if (x.defined()) entries.push_back({path_, &x, false});
  }

  std::vector<Entry> entries;
};

/// Throws ValueError where two tensors have one name, as under the keys 1 and "1" of maps.
TensorDict by_name(const Module& module, bool parameters, bool buffers, std::string_view caller,
                   const std::source_location& site) {
  TensorDict found;
  for (const auto& [name, tensor, trained] : State(module).entries) {
    if (!(trained ? parameters : buffers)) continue;
    if (found.contains(name)) {
      const CallScope scope(caller, site);
      fail<ValueError>("two tensors of {} would be named '{}'", module.class_name(), name);
    }
    found.insert_or_assign(name, *tensor);
  }
  return found;
}

using NamedModules = std::vector<std::pair<std::string, Module*>>;

/// Gathers the modules, outer ones first; or only those directly inside of `outer`.
class Modules final : public tree::detail::GatherNames {
 public:
  explicit Modules(const Module* outer = nullptr) : outer_(outer) {}

  void tensor(Tensor& /*x*/) override {}
  bool module(Module& m) override {
    if (&m == outer_) return true;
    found.emplace_back(path_, &m);
    return outer_ == nullptr;
  }
  NamedModules found;

 private:
  const Module* outer_;
};

std::vector<Module*> without_names(const NamedModules& named) {
  std::vector<Module*> modules;
  for (const auto& [name, module] : named) modules.push_back(module);
  return modules;
}

/// The lines of a module's repr, without going into the modules inside.
class Looks final : public tree::detail::GatherNames {
 public:
  explicit Looks(const Module* outer) : outer_(outer) {}

  void tensor(Tensor& /*x*/) override {}
  bool module(Module& m) override {
    if (&m == outer_) return true;
    text += fmt::format("\n({}): {}", path_, m.to_string());
    return false;
  }
  std::string text;

 private:
  const Module* outer_;
};

}  // namespace

Buffer& Buffer::operator=(const Tensor& value) & {
  Tensor::operator=(is_differentiated(value) ? stop_gradient(value) : value);
  return *this;
}

void Module::accept(tree::Visitor& visitor) {
  if (!visitor.module(*this)) return;
  ++visitor.modules_;
  fields(visitor);
  --visitor.modules_;
}

TensorDict Module::parameters(std::source_location site) const {
  return by_name(*this, true, false, "parameters", site);
}

TensorDict Module::buffers(std::source_location site) const { return by_name(*this, false, true, "buffers", site); }

TensorDict Module::state_dict(std::source_location site) const {
  return by_name(*this, true, true, "state_dict", site);
}

NamedModules Module::named_modules() {
  Modules modules;
  accept(modules);
  return std::move(modules.found);
}

NamedModules Module::named_children() {
  Modules modules(this);
  accept(modules);
  return std::move(modules.found);
}

std::vector<Module*> Module::modules() { return without_names(named_modules()); }

std::vector<Module*> Module::children() { return without_names(named_children()); }

Module& Module::apply(const std::function<void(Module&)>& f, std::source_location site) {
  lento::detail::check_function("apply", f, site);
  for (Module* child : children()) child->apply(f, site);
  f(*this);
  return *this;
}

Module& Module::train(bool mode) {
  for (Module* module : modules()) module->training = mode;
  return *this;
}

Module& Module::to(DType dtype, std::source_location site) {
  const CallScope scope("to", site);
  if (!is_floating(dtype) && !is_complex(dtype)) fail<DTypeError>("weights need a floating dtype, not {}", dtype);
  for (const auto& [name, tensor, trained] : State(*this).entries) {
    // A complex weight stays complex: half of it would be lost.
    const bool fits = is_complex(dtype) ? is_trained(*tensor) : is_floating(tensor->dtype());
    if (fits && tensor->dtype() != dtype) *tensor = converted(*tensor, dtype);
  }
  return *this;
}

LoadedState Module::load_state_dict(const TensorDict& state, bool strict, std::source_location site) {
  const CallScope scope("load_state_dict", site);
  std::vector<std::pair<std::string, Tensor*>> here;
  for (auto& [name, tensor, trained] : State(*this).entries) here.emplace_back(std::move(name), tensor);
  return detail::load_into(here, state, strict);
}

LoadedState detail::load_into(const std::vector<std::pair<std::string, Tensor*>>& here, const TensorDict& state,
                              bool strict) {
  LoadedState result;
  std::vector<std::string> problems;
  std::vector<std::pair<Tensor*, Tensor>> values;
  TensorDict known;
  for (const auto& [name, held] : here) {
    known.insert_or_assign(name, {});
    const Tensor* value = state.find(name);
    if (value == nullptr) {
      result.missing.push_back(name);
    } else if (!value->defined()) {
      problems.push_back(fmt::format("{} is an empty handle", name));
    } else if (value->shape() != held->shape() || (is_complex(value->dtype()) && !is_complex(held->dtype()))) {
      problems.push_back(fmt::format("{} is {}, but the given value {}", name, type_of(*held), type_of(*value)));
    } else {
      values.emplace_back(held, converted(*value, held->dtype()));
    }
  }
  for (const auto& [name, value] : state) {
    if (!known.contains(name)) result.unexpected.push_back(name);
  }
  if (strict && !result.unexpected.empty()) {
    problems.insert(problems.begin(), fmt::format("not known here: {}", fmt::join(result.unexpected, ", ")));
  }
  if (strict && !result.missing.empty()) {
    problems.insert(problems.begin(), fmt::format("missing: {}", fmt::join(result.missing, ", ")));
  }
  if (!problems.empty()) fail<ValueError>("{}", fmt::join(problems, "; "));
  for (auto& [held, value] : values) *held = std::move(value);
  return result;
}

std::string Module::class_name() const {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status), &std::free);
  std::string name = status == 0 ? demangled.get() : typeid(*this).name();
  // Without the arguments of a template, which may stand in the signature of a function around the class too; then
  // without what is around it.
  if (name.ends_with('>')) {
    std::size_t at = name.size();
    int depth = 0;
    do {
      --at;
      depth += name[at] == '>' ? 1 : name[at] == '<' ? -1 : 0;
    } while (depth > 0 && at > 0);
    name.resize(at);
  }
  if (const std::size_t colon = name.rfind(':'); colon != std::string::npos) name.erase(0, colon + 1);
  return name;
}

std::string Module::to_string() const {
  auto& self = const_cast<Module&>(*this);
  Looks looks(&self);
  self.accept(looks);
  std::string inner;
  for (const char c : looks.text) inner += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return fmt::format("{}({}{}{}", class_name(), extra_repr(), inner, inner.empty() ? ")" : "\n)");
}

std::ostream& operator<<(std::ostream& out, const Module& module) { return out << module.to_string(); }

}  // namespace lento::nn
