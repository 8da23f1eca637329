// For programs built with -fsanitize=thread against a library that was not: ThreadSanitizer sees the library's calls of
// malloc, memcpy and the like, but not the atomic operations that order them, and reports races where there are none.
// This tells it to leave such libraries alone; the program's own code is checked as ever. A program that defines
// __tsan_default_options itself, in a file of its own, replaces this.
#pragma once

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define LENTO_THREAD_SANITIZER
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define LENTO_THREAD_SANITIZER
#endif

// Lento itself, built with it, is checked in full.
#if defined(LENTO_THREAD_SANITIZER) && !defined(LENTO_SANITIZED)
extern "C" __attribute__((weak, used, visibility("default"))) const char* __tsan_default_options() {
  return "ignore_noninstrumented_modules=1";
}
#endif
