// A module of LLVM code, compiled so that it can be called.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace llvm {
class Module;
}

namespace lento::testing {

class CompiledModule {
 public:
  /// `build` fills the module. `cpu` is an LLVM name such as x86-64-v3, or "host".
  static CompiledModule compile(const std::function<void(llvm::Module&)>& build, const std::string& cpu);
  ~CompiledModule();
  CompiledModule(CompiledModule&&) noexcept;
  CompiledModule& operator=(CompiledModule&&) noexcept;

  /// The function of this name.
  template <class Function>
  Function* find(const std::string& name) const {
    return reinterpret_cast<Function*>(address(name));
  }

 private:
  struct Engine;
  explicit CompiledModule(std::unique_ptr<Engine> engine);
  void* address(const std::string& name) const;

  std::unique_ptr<Engine> engine_;
};

}  // namespace lento::testing
