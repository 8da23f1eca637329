// The version that was compiled into the library.
#include <lento/version.h>

namespace lento {

const char* version() noexcept { return LENTO_VERSION; }

}  // namespace lento
