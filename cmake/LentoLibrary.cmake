# liblento.so from the objects of all layers, and its installation.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(LENTO_LAYERS GLOBAL PROPERTY LENTO_LAYERS)

add_library(lento SHARED)
add_library(lento::lento ALIAS lento)
lento_link_layers(lento ${LENTO_LAYERS})
target_link_libraries(lento PRIVATE Threads::Threads)
# Calls between exported functions go straight to them instead of through the table that lets programs replace them.
target_link_options(lento PRIVATE -Wl,-Bsymbolic-functions)
# Nothing of a static library, such as LLVM, shows outside.
target_link_options(lento PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections)
# Whatever OpenMP runtime the process has by then, oneDNN and this library must find the same one: both look at once.
target_link_options(lento PRIVATE -Wl,-z,now)
# Compiled code on disk is good for this very build alone.
target_link_options(lento PRIVATE -Wl,--build-id=sha1)
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

# The installed library finds what it was linked to in a folder beside it, whatever the system has. RPATH, not RUNPATH,
# because only that is looked at for what those libraries need in turn.
option(LENTO_BUNDLE "Install the libraries that Lento needs beside it" ${PROJECT_IS_TOP_LEVEL})
if(LENTO_BUNDLE)
  set_target_properties(lento PROPERTIES INSTALL_RPATH "$ORIGIN/lento")
  target_link_options(lento PRIVATE -Wl,--disable-new-dtags)
  set(bundled RUNTIME_DEPENDENCY_SET lento_bundle)
endif()

# The Python package carries a copy of the library beside its extension; everything else is the component
# "development": the library, its headers and the package that find_package(lento) reads.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/lento)
install(TARGETS lento EXPORT lentoTargets ${bundled}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  NAMELINK_COMPONENT development)
if(LENTO_BUNDLE)
  # Not the C and C++ runtimes: those of the system are at least as new as those of anything else in the process.
  install(RUNTIME_DEPENDENCY_SET lento_bundle COMPONENT development
    PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+|z)\\.so"
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lento)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lento DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development FILES_MATCHING PATTERN *.h)
install(DIRECTORY ${LENTO_GENERATED_DIR}/lento DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development FILES_MATCHING PATTERN *.gen.h PATTERN *.gen.inc)
install(FILES ${PROJECT_BINARY_DIR}/config/lento/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lento
  COMPONENT development)
install(EXPORT lentoTargets NAMESPACE lento:: DESTINATION ${package_folder} COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lentoConfig.cmake.in
  ${PROJECT_BINARY_DIR}/config/lentoConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/config/lentoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/config/lentoConfig.cmake ${PROJECT_BINARY_DIR}/config/lentoConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)
