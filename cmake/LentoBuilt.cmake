# Instead of the layers: the objects and the generated sources of another build folder (LENTO_BUILT). So a Python
# extension for one more version of Python compiles nothing but itself.
cmake_path(ABSOLUTE_PATH LENTO_BUILT BASE_DIRECTORY ${PROJECT_SOURCE_DIR} NORMALIZE)
if(NOT EXISTS ${LENTO_BUILT}/lib/liblento.so)
  message(FATAL_ERROR "LENTO_BUILT: ${LENTO_BUILT} has no lib/liblento.so; build it first")
endif()
file(STRINGS ${LENTO_BUILT}/objects.txt objects REGEX "\\.o$")
set(LENTO_GENERATED_DIR ${LENTO_BUILT}/generated)
file(GLOB LENTO_GENERATED_PYTHON ${LENTO_GENERATED_DIR}/python/*.gen.cpp)
add_custom_target(lento_generated)
include(LentoDependencies)
add_library(lento_built INTERFACE)
target_link_libraries(lento_built INTERFACE ${objects} fmt::fmt lento_xxhash lento_llvm lento_lapack lento_onednn
                      lento_openmp)
target_compile_features(lento_built INTERFACE cxx_std_20)
target_include_directories(lento_built INTERFACE ${PROJECT_SOURCE_DIR}/include ${LENTO_GENERATED_DIR}
                           ${LENTO_BUILT}/config)
