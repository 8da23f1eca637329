# liblento.so from the objects of all layers, and its installation.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(LENTO_LAYERS GLOBAL PROPERTY LENTO_LAYERS)

add_library(lento SHARED)
add_library(lento::lento ALIAS lento)
lento_link_layers(lento ${LENTO_LAYERS})
target_link_libraries(lento PRIVATE Threads::Threads)
target_compile_features(lento PUBLIC cxx_std_20)
target_include_directories(lento PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${LENTO_GENERATED_DIR}>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/config>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(lento PROPERTIES
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
