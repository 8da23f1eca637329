// Whether there is room for more memory, asked before libraries that do not survive when there is none.
#pragma once

#include <cstddef>

namespace lento {

/// Throws std::bad_alloc when this many bytes cannot be mapped now. Nothing stays mapped.
void require_address_space(std::size_t bytes);

}  // namespace lento
