# More than half of the time that most files take to compile went into the same headers of the standard library and of
# fmt. They are compiled once, by the lowest layer, and read from there by all others; nothing of Lento's own is among
# them, so that an edit recompiles what it did before.
#
# A file that is compiled at another level of optimisation must not use them: GCC compiles it at that of the header.
#
# A file still includes what it uses: `make check-includes` compiles all without precompiled headers, and so finds what is
# missing.
set(LENTO_PRECOMPILED
  <algorithm> <array> <atomic> <bit> <complex> <concepts> <cstddef> <cstdint> <cstring> <functional> <limits> <map>
  <memory> <mutex> <optional> <source_location> <span> <stdexcept> <string> <string_view> <type_traits> <unordered_map>
  <utility> <variant> <vector> <fmt/format.h>)

# GCC 12 and 13 warn of what std::string does inside when that was precompiled: nothing of it is true.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14 AND
   NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  add_compile_options(-Wno-array-bounds -Wno-restrict)
endif()

# lento_precompile(<target> [<more headers>...]): makes a precompiled header for the C++ files of the target.
function(lento_precompile target)
  set(headers ${LENTO_PRECOMPILED} ${ARGN})
  list(TRANSFORM headers REPLACE "<(.+)>" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()
