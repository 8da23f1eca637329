#include "base/called.h"

#include "base/fork.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

namespace lento {

namespace {

constexpr std::size_t kMostFunctions = (std::uint64_t{1} << 32) / kScopeLimit;  // number 0 means none

struct Functions {
  ForkMutex mutex{ForkOrder::interner};
  std::map<std::string, ScopeId, std::less<>> numbers;
  std::deque<std::string> names{""};  // by number; a deque keeps references valid
};
Functions& functions() { return Lasting<Functions>::get(); }

ScopeId find_or_add(std::string_view function) {
  Functions& all = functions();
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.numbers.find(function); found != all.numbers.end()) return found->second;
  if (all.names.size() == kMostFunctions) return 0;
  const auto bits = static_cast<ScopeId>(all.names.size()) * kScopeLimit;
  all.names.emplace_back(function);
  all.numbers.emplace(function, bits);
  return bits;
}

/// What a thread looked up last, by the address of the name: names of functions are literals nearly always.
struct Latest {
  const char* address = nullptr;
  std::string_view name;  // interned, so that an address with another text in it is noticed
  ScopeId bits = 0;
};
constinit thread_local std::array<Latest, 16> latest{};

}  // namespace

ScopeId call_bits(std::string_view function) {
  Latest& entry = latest[(reinterpret_cast<std::uintptr_t>(function.data()) >> 3) % latest.size()];
  if (entry.address == function.data() && entry.name == function) return entry.bits;
  const ScopeId bits = find_or_add(function);
  if (bits != 0) {
    Functions& all = functions();
    const std::lock_guard lock(all.mutex);
    entry = {function.data(), all.names[bits / kScopeLimit], bits};
  }
  return bits;
}

std::string_view called_function(const Source& source) {
  Functions& all = functions();
  const std::lock_guard lock(all.mutex);
  return all.names[source.scope / kScopeLimit];
}

}  // namespace lento
