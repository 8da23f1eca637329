// Linked into every test: what earlier runs compiled must not decide what a test counts. A test that wants a cache on
// disk makes one in a folder of its own.
#include <cstdlib>

namespace {

// Before anything asks for it, and not over what the user says.
[[maybe_unused]] const int off = ::setenv("LENTO_DISK_CACHE", "off", /*overwrite=*/0);

}  // namespace
