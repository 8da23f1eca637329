// What this device gives the cache of code.
#include "backends/cpu/code/jit.h"
#include "backends/cpu/threads.h"
#include "base/fork.h"

#include <fmt/format.h>

namespace lento::cpu {

namespace {

class ObjectMaker final : public CodeMaker {
 public:
  bool has_tiers() const override { return true; }
  std::string target(Tier tier) const override {
    return fmt::format("{}, tier {}", code_target(host_isa()), static_cast<int>(tier));
  }
  std::vector<std::byte> compile(const Kernel& kernel, Tier tier) const override {
    return compile_object(kernel, tier);
  }
  LoadedCodeRef load(const Kernel& kernel, std::span<const std::byte> bytes) const override {
    return load_object(kernel, bytes);
  }
  void for_each(std::size_t count, FunctionRef<void(std::size_t)> body) const override {
    parallel_for(static_cast<std::int64_t>(count), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(static_cast<std::size_t>(i));
    });
  }
};

}  // namespace

CodeMakerRef code_maker() { return std::make_shared<ObjectMaker>(); }

CodeCache& kernel_cache() {
  struct Cache : CodeCache {
    Cache() : CodeCache(code_maker()) {}
  };
  return ProcessLifetime<Cache>::get();
}

}  // namespace lento::cpu
