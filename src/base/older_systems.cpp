// Lets a library that was built on a newer system run on an older one. Four functions are newer than glibc 2.34 and
// GCC 11, which Ubuntu 22.04 and RHEL 9 have, or have a newer version. This file defines them, hidden, so that every
// reference inside the library, LLVM's too, binds here. tests/python/test_symbols.py checks that nothing newer is asked
// for.
#include <dlfcn.h>
#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

// The versions named below are those of x86-64. <stdlib.h> may declare arc4random; the definition here has its type.
#if defined(__x86_64__) && defined(__GLIBC__)

extern "C" {
double lento_first_hypot(double x, double y) noexcept;
float lento_first_hypotf(float x, float y) noexcept;
}
__asm__(".symver lento_first_hypot,hypot@GLIBC_2.2.5");
__asm__(".symver lento_first_hypotf,hypotf@GLIBC_2.2.5");

namespace {

using OfDoubles = double (*)(double, double) noexcept;
using OfFloats = float (*)(float, float) noexcept;

// The newest versions that this system has, from the moment they are looked up: since 2.35 they do not set errno and
// are faster. All versions of a system compute the same.
constinit OfDoubles newest_hypot = lento_first_hypot;
constinit OfFloats newest_hypotf = lento_first_hypotf;

[[maybe_unused]] const bool looked_up = [] {
  void* libm = dlopen("libm.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (!libm) return false;
  if (void* found = dlsym(libm, "hypot")) newest_hypot = reinterpret_cast<OfDoubles>(found);
  if (void* found = dlsym(libm, "hypotf")) newest_hypotf = reinterpret_cast<OfFloats>(found);
  return true;
}();

}  // namespace

// GCC gives built-in functions default visibility whatever the flags say, so the assembler hides them.
__asm__(".hidden hypot\n.hidden hypotf\n.hidden arc4random");

extern "C" {

double hypot(double x, double y) noexcept { return newest_hypot(x, y); }
float hypotf(float x, float y) noexcept { return newest_hypotf(x, y); }

/// LLVM names temporary files by it.
std::uint32_t arc4random() noexcept {
  std::uint32_t bits = 0;
  while (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
    if (errno != EINTR) std::abort();
  return bits;
}

}  // extern "C"

#ifdef __GLIBCXX__
// std::condition_variable::wait. GCC 12 gave it a version that a cancelled thread may leave by an exception. Lento
// cancels no threads.
extern "C" {
void lento_first_wait(void* condition, void* lock);
void lento_wait(void* condition, void* lock) __asm__("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
void lento_wait(void* condition, void* lock) { lento_first_wait(condition, lock); }
}
__asm__(".symver lento_first_wait,_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
#endif

#endif
