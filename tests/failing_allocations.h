// Allocations that fail when a test wants it. Replaces the operators of the whole program, so that one file of a test
// program includes it.
#pragma once

#include <cstdlib>
#include <new>

namespace lento::test {

/// How many allocations of the calling thread succeed before one fails; -1: all do.
inline constinit thread_local int allocations_left = -1;
/// Asked before one fails, if it is there: whether the thread is where none may.
using WhereNoneMayFail = bool (*)();
inline constinit WhereNoneMayFail none_may_fail = nullptr;

inline void* allocate_unless_it_fails(std::size_t bytes) {
  if (allocations_left >= 0 && (none_may_fail == nullptr || !none_may_fail()) && allocations_left-- == 0) {
    throw std::bad_alloc();  // one failure; cleaning up works
  }
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

/// Lets the allocation with this number fail while `call` runs. True when it has come.
template <class Call>
bool with_failing_allocation(int number, const Call& call) {
  allocations_left = number;
  call();
  const bool came = allocations_left < 0;
  allocations_left = -1;
  return came;
}

}  // namespace lento::test

// Not inlined: the compiler would see free() for what came from new, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return lento::test::allocate_unless_it_fails(bytes); }
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return lento::test::allocate_unless_it_fails(bytes); }
// std::stable_sort asks this way and goes on without; what it gets is given back to the operators below.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
