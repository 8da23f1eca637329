# liblento.so from the objects of all layers, and its installation.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(LENTO_LAYERS GLOBAL PROPERTY LENTO_LAYERS)

add_library(lento SHARED)
add_library(lento::lento ALIAS lento)
lento_link_layers(lento ${LENTO_LAYERS})
target_link_libraries(lento PRIVATE Threads::Threads)
lento_link(lento lento.map)
# The objects by name, for LentoBuilt.cmake.
list(TRANSFORM LENTO_LAYERS REPLACE "(.+)" "$<TARGET_OBJECTS:lento_\\1>" OUTPUT_VARIABLE objects)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/objects.txt CONTENT "$<JOIN:${objects},\n>\n")
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

# An installed library has no debug information; a packager who wants to take it out himself says so.
option(LENTO_STRIP "Install the library without debug information" ${PROJECT_IS_TOP_LEVEL})
if(LENTO_STRIP)
  install(CODE "if(NOT CMAKE_INSTALL_CONFIG_NAME MATCHES \"^(Debug|Sanitize)$\")
  set(CMAKE_INSTALL_DO_STRIP ON)
endif()" COMPONENT development)
endif()

# The installed library finds what it was linked to in a folder beside it, whatever the system has. RPATH, not RUNPATH,
# because only that is looked at for what those libraries need in turn.
option(LENTO_BUNDLE "Install the libraries that Lento needs beside it" ${PROJECT_IS_TOP_LEVEL})
if(LENTO_BUNDLE)
  set_target_properties(lento PROPERTIES INSTALL_RPATH "$ORIGIN/lento")
  target_link_options(lento PRIVATE -Wl,--disable-new-dtags)
  set(bundled RUNTIME_DEPENDENCY_SET lento_bundle)
endif()

# The component "development": the library, its headers, and what find_package(lento) and pkg-config read.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/lento)
install(TARGETS lento EXPORT lentoTargets ${bundled}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  NAMELINK_COMPONENT development)
if(LENTO_BUNDLE)
  # Not the C and C++ runtimes: those of the system are at least as new as those of anything else in the process.
  set(of_the_system "^ld-linux" "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+|z)\\.so")
  find_program(PATCHELF_PROGRAM patchelf)
  mark_as_advanced(PATCHELF_PROGRAM)
  if(PATCHELF_PROGRAM)
    list(APPEND of_the_system "^libOpenCL")  # scripts/without-opencl
  endif()
  install(RUNTIME_DEPENDENCY_SET lento_bundle COMPONENT development PRE_EXCLUDE_REGEXES ${of_the_system}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lento)
  if(PATCHELF_PROGRAM)
    # They find each other also where a linker looks for what Lento needs, on a system that has none of them.
    install(CODE "set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/lento\")
execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/scripts/without-opencl\" \"\${folder}\" \"${PATCHELF_PROGRAM}\"
                COMMAND_ERROR_IS_FATAL ANY)
file(GLOB libraries \"\${folder}/lib*\")
execute_process(COMMAND \"${PATCHELF_PROGRAM}\" --set-rpath \"\\\$ORIGIN\" \${libraries} COMMAND_ERROR_IS_FATAL ANY)"
      COMPONENT development)
  endif()
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
file(RELATIVE_PATH LENTO_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" LENTO_PREFIX_FROM_PC "${LENTO_PREFIX_FROM_PC}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/lento.pc.in ${PROJECT_BINARY_DIR}/config/lento.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/config/lento.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
