#include "base/called.h"

#include "base/fork.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>

namespace lento {

namespace {

constexpr std::size_t kMostFunctions = (std::uint64_t{1} << 32) / kScopeLimit;  // number 0 means none

struct Functions {
  ForkMutex mutex{ForkOrder::interner};
  std::map<std::string, ScopeId, std::less<>> numbers;
  std::deque<std::string> names{""};  // by number; a deque keeps references valid
};
Functions& functions() { return ProcessLifetime<Functions>::get(); }

}  // namespace

constinit std::array<std::atomic<std::uint64_t>, 1024> recent_calls{};

ScopeId look_up_call(std::string_view function) {
  Functions& all = functions();
  const std::lock_guard lock(all.mutex);
  auto found = all.numbers.find(function);
  if (found == all.numbers.end()) {
    if (all.names.size() == kMostFunctions) return 0;
    found = all.numbers.emplace(function, static_cast<ScopeId>(all.names.size())).first;
    all.names.emplace_back(function);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(function.data());
  if (address >> 48 == 0) recent_call(address).store(address << 16 | found->second, std::memory_order_relaxed);
  return found->second * kScopeLimit;
}

std::string named_as_called(const std::string& message, const Source& source) {
  const std::string_view called = called_function(source);
  const std::size_t colon = message.find(": ");
  if (called.empty() || colon == 0 || colon == std::string::npos) return message;
  const auto is_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (!std::all_of(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(colon), is_name)) return message;
  return std::string(called) + message.substr(colon);
}

std::string_view called_function(const Source& source) {
  Functions& all = functions();
  const std::lock_guard lock(all.mutex);
  return all.names[source.scope / kScopeLimit];
}

}  // namespace lento
