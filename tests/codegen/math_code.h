// The code of emit_math as something to call: a loop over arrays, compiled for a processor and a vector length.
#pragma once

#include "codegen/compiled_module.h"
#include "ir/op_number.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace lento::testing {

class MathCode {
 public:
  /// `cpu` is an LLVM name such as x86-64-v3, or "host". T is float or double.
  template <class T>
  static MathCode compile(Op op, int arity, unsigned lanes, const std::string& cpu);

  /// Sizes are equal and multiples of the lanes; `b` is not looked at when there is one argument.
  template <class T>
  void run(std::span<const T> a, std::span<const T> b, std::span<T> out) const {
    entry_(a.data(), b.data(), out.data(), static_cast<std::int64_t>(out.size()));
  }

 private:
  using Entry = void(const void*, const void*, void*, std::int64_t);
  explicit MathCode(CompiledModule module) : module_(std::move(module)), entry_(module_.find<Entry>("entry")) {}
  static MathCode compile_bits(Op op, int arity, unsigned lanes, const std::string& cpu, bool is_double);

  CompiledModule module_;
  Entry* entry_;
};

template <class T>
MathCode MathCode::compile(Op op, int arity, unsigned lanes, const std::string& cpu) {
  return compile_bits(op, arity, lanes, cpu, sizeof(T) == 8);
}

/// Whether this processor has AVX-512, so that both kinds of code can run.
bool has_avx512();

}  // namespace lento::testing
