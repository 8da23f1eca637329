#include "emit.h"
namespace lento::opgen {
std::string emit_docs(const Catalogue&) { return ""; }
}
