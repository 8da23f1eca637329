// python/: bindings and stubs.
#include "cpp.h"
#include "emit.h"
namespace lento::opgen {
void emit_python(const Catalogue&, Files&) {}
}
