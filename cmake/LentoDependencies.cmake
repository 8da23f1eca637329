# External libraries. None of them shows in the public headers.
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)

# LAPACK through LAPACKE; OpenBLAS carries both on most systems.
add_library(lento_lapack INTERFACE)
find_path(LAPACKE_INCLUDE_DIR lapacke.h PATH_SUFFIXES openblas lapacke)
find_library(LAPACKE_LIBRARY lapacke)
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

# xxHash: the hash of plan keys.
add_library(lento_xxhash INTERFACE)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)
target_include_directories(lento_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
target_link_libraries(lento_xxhash INTERFACE ${XXHASH_LIBRARY})
