// What compile() is known by of modules among its arguments. The rest of it, which knows of no module, is in
// src/executor/compiled_calls.cpp.
#include <lento/compile.h>
#include <lento/nn/module.h>

namespace lento::detail {

void CallHandles::enter(std::string_view name) {
  form += name;
  form += '(';
}

bool CallHandles::module(nn::Module& m) {
  form += m.training ? '+' : '-';
  return true;
}

}  // namespace lento::detail
