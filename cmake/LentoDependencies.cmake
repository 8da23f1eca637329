# External libraries. None of them shows in the public headers.
if(NOT TARGET fmt::fmt)  # a project that Lento is part of may have it already
  find_package(fmt REQUIRED)
endif()
find_package(Threads REQUIRED)

# LAPACK through LAPACKE; OpenBLAS carries both on most systems. Where LAPACKE is apart it is taken as an archive: the
# shared one brings whatever LAPACK and BLAS the system has chosen besides.
add_library(lento_lapack INTERFACE)
find_path(LAPACKE_INCLUDE_DIR lapacke.h PATH_SUFFIXES openblas lapacke)
find_library(LAPACKE_LIBRARY NAMES liblapacke.a lapacke)
find_library(OPENBLAS_LIBRARY openblas)
if(LAPACKE_INCLUDE_DIR)
  target_include_directories(lento_lapack SYSTEM INTERFACE ${LAPACKE_INCLUDE_DIR})
endif()
foreach(library LAPACKE OPENBLAS)
  if(${library}_LIBRARY)
    target_link_libraries(lento_lapack INTERFACE ${${library}_LIBRARY})
  endif()
endforeach()
if(NOT LAPACKE_INCLUDE_DIR OR NOT OPENBLAS_LIBRARY)
  message(FATAL_ERROR "LAPACKE and OpenBLAS are needed; scripts/setup installs them")
endif()

# xxHash: the hash of plan keys, and the checksum of files with compiled code.
add_library(lento_xxhash INTERFACE)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)
target_include_directories(lento_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
target_link_libraries(lento_xxhash INTERFACE ${XXHASH_LIBRARY})

# zlib: the compression and the checksums of .npz files. LLVM needs it too.
add_library(lento_zlib INTERFACE)
find_package(ZLIB REQUIRED)
target_link_libraries(lento_zlib INTERFACE ZLIB::ZLIB)

# LLVM 19: the code generator of the CPU backend. Static, so that a program's own LLVM and this one never meet; what of
# it is not used is left out. LentoLibrary.cmake hides its symbols.
add_library(lento_llvm INTERFACE)
find_program(LLVM_CONFIG NAMES llvm-config-19 HINTS /usr/lib/llvm-19/bin)
if(NOT LLVM_CONFIG)
  message(FATAL_ERROR "LLVM 19 is needed; scripts/setup installs it")
endif()
function(lento_llvm_config out)
  execute_process(COMMAND ${LLVM_CONFIG} --link-static ${ARGN} OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(text UNIX_COMMAND "${text}")
  set(${out} ${text} PARENT_SCOPE)
endfunction()
lento_llvm_config(include_dir --includedir)
lento_llvm_config(library_dir --libdir)
lento_llvm_config(libraries --libs native jitlink scalaropts instcombine)
lento_llvm_config(system_libraries --system-libs)
list(TRANSFORM libraries REPLACE "^-l(.*)$" "${library_dir}/lib\\1.a")
# Asked for by parts of LLVM that nothing here uses.
list(FILTER system_libraries EXCLUDE REGEX "z3|xml2")
target_include_directories(lento_llvm SYSTEM INTERFACE ${include_dir})
target_link_libraries(lento_llvm INTERFACE ${libraries} ${system_libraries})
# The code generator for ARM processors, for the one test that asks for such code; 12 MB that the library need not have.
add_library(lento_llvm_aarch64 INTERFACE)
lento_llvm_config(libraries --libs aarch64codegen)
list(TRANSFORM libraries REPLACE "^-l(.*)$" "${library_dir}/lib\\1.a")
target_include_directories(lento_llvm_aarch64 SYSTEM INTERFACE ${include_dir})
target_link_libraries(lento_llvm_aarch64 INTERFACE ${libraries} ${system_libraries})

# oneDNN: matrix products and convolutions of the CPU backend.
add_library(lento_onednn INTERFACE)
find_path(ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.h)
find_library(ONEDNN_LIBRARY dnnl)
if(NOT ONEDNN_INCLUDE_DIR OR NOT ONEDNN_LIBRARY)
  message(FATAL_ERROR "oneDNN is needed; scripts/setup installs it")
endif()
target_include_directories(lento_onednn SYSTEM INTERFACE ${ONEDNN_INCLUDE_DIR})
target_link_libraries(lento_onednn INTERFACE ${ONEDNN_LIBRARY})

# The OpenMP runtime that oneDNN uses, to tell it that it has one thread; whatever compiler Lento is built with.
add_library(lento_openmp INTERFACE)
target_link_libraries(lento_openmp INTERFACE gomp)

mark_as_advanced(LAPACKE_INCLUDE_DIR LAPACKE_LIBRARY OPENBLAS_LIBRARY XXHASH_INCLUDE_DIR XXHASH_LIBRARY LLVM_CONFIG
                 ONEDNN_INCLUDE_DIR ONEDNN_LIBRARY)
