# The component "python": what a wheel holds besides the Python files. The library lies beside the extension, which
# finds it by $ORIGIN.
install(TARGETS lento_python LIBRARY DESTINATION lento COMPONENT python)
# A wheel cannot hold links: the library goes in once, under the name the extension asks for.
set(library liblento.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
install(PROGRAMS $<TARGET_FILE:lento> DESTINATION lento COMPONENT python RENAME ${library})
# CMake strips only what it installs as a target.
install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND \"${CMAKE_STRIP}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lento/${library}\"
                  COMMAND_ERROR_IS_FATAL ANY)
endif()" COMPONENT python)
install(DIRECTORY ${LENTO_GENERATED_DIR}/lento/ DESTINATION lento COMPONENT python FILES_MATCHING PATTERN *.pyi)
