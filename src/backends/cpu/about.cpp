#include <lento/about.h>
#include <lento/error.h>
#include <lento/version.h>

#include "backends/cpu/code/jit.h"
#include "base/build_id.h"

#include <fmt/format.h>
#include <llvm/Config/llvm-config.h>
#include <oneapi/dnnl/dnnl.h>

#include <string>
#include <string_view>

// Declared here as in library_calls.cpp: where the header lies differs between systems.
extern "C" {
char* openblas_get_config(void);
char* openblas_get_corename(void);
}

namespace lento {

namespace {

// "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
std::string openblas_version() {
  std::string_view words = openblas_get_config();
  if (words.starts_with("OpenBLAS ")) words.remove_prefix(9);
  return fmt::format("{} ({})", words.substr(0, words.find(' ')), openblas_get_corename());
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

std::string instruction_set() {
  try {
    return cpu::host_isa() == cpu::Isa::avx512 ? "x86-64-v4 (AVX-512)" : "x86-64-v3 (AVX2)";
  } catch (const BackendError&) {
    return "";
  }
}

}  // namespace

About about() {
  return {version(), build_id(), LLVM_VERSION_STRING, onednn_version(), openblas_version(), instruction_set()};
}

}  // namespace lento
