# Instead of the layers: the library and the generated sources of another build folder (LENTO_BUILT). So a Python
# extension for one more version of Python compiles nothing but itself.
cmake_path(ABSOLUTE_PATH LENTO_BUILT BASE_DIRECTORY ${PROJECT_SOURCE_DIR} NORMALIZE)
set(library ${LENTO_BUILT}/lib/liblento.so)
if(NOT EXISTS ${library})
  message(FATAL_ERROR "LENTO_BUILT: ${LENTO_BUILT} has no lib/liblento.so; build it first")
endif()
file(REAL_PATH ${library} library)  # what links point to is installed, not the links
set(LENTO_GENERATED_DIR ${LENTO_BUILT}/generated)
file(GLOB LENTO_GENERATED_PYTHON ${LENTO_GENERATED_DIR}/python/*.gen.cpp)
add_custom_target(lento_generated)
find_package(fmt REQUIRED)
add_library(lento SHARED IMPORTED GLOBAL)
set_target_properties(lento PROPERTIES IMPORTED_LOCATION ${library} IMPORTED_SONAME
                      liblento.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(lento INTERFACE cxx_std_20)
target_include_directories(lento INTERFACE ${PROJECT_SOURCE_DIR}/include ${LENTO_GENERATED_DIR} ${LENTO_BUILT}/config)
