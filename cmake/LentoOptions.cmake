# Compiler flags that hold for every target of the project.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)

# Line tables are enough for backtraces and profiles, and keep objects small.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
# Assertions stay on under a sanitizer.
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")
set(CMAKE_C_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")

if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

add_compile_options(-Wall -Wextra)
if(LENTO_WERROR)
  add_compile_options(-Werror)
endif()
# Results must not depend on what the compiler fuses: an FMA is written where it is wanted. Public functions are
# called from inside the library too; without interposition those calls are direct.
add_compile_options(-ffp-contract=off -fno-semantic-interposition)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12 uses a deprecated function of its own inside std::stable_sort, which clang reports at our calls.
  add_compile_options(-Wno-deprecated-declarations)
endif()

if(LENTO_SANITIZE)
  add_compile_options(-fsanitize=${LENTO_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LENTO_SANITIZE})
  add_compile_definitions(LENTO_SANITIZED)  # lento/thread_sanitizer.h
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports false positives of these under the sanitizers' instrumentation.
    add_compile_options(-Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds -Wno-restrict)
    if(LENTO_SANITIZE MATCHES "thread")
      # ThreadSanitizer does not see fences. The biased lock has them for mutual exclusion on the machine; what orders
      # its critical sections are acquire and release operations, which it does see.
      add_compile_options(-Wno-tsan)
    endif()
  endif()
endif()
# Shapes, attributes and plans are found by hash and then compared. With equal hashes only the comparison is left, so
# that a test run proves it. Only the files below this folder that ask are told: ccache has all others from the release
# build. CMake keeps properties of sources per folder, so a folder with such files calls this for itself.
function(lento_tell_constant_hash folder)
  if(NOT LENTO_CONSTANT_HASH)
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  foreach(source IN LISTS sources)
    file(STRINGS ${source} asks REGEX LENTO_CONSTANT_HASH)
    if(asks)
      set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS LENTO_CONSTANT_HASH SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()
lento_tell_constant_hash(${PROJECT_SOURCE_DIR}/src)
# A missing symbol is an error of the library's own link, not of the first program that uses it.
if(NOT LENTO_SANITIZE)
  string(APPEND CMAKE_SHARED_LINKER_FLAGS " -Wl,--no-undefined")
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without the first it gives up on what uses a precompiled header (LentoPrecompiled.cmake). By the others it finds
  # objects that another checkout compiled: paths below the sources are relative, and the folder itself does not count.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()

# The project's own environment, made by scripts/setup, unless the user names a Python.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python CACHE FILEPATH "Python to build for and test with")
endif()
