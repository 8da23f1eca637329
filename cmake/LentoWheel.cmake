# The component "python": what a wheel holds besides the Python files. The library lies beside the extension, which
# finds it by $ORIGIN.
install(TARGETS lento_python LIBRARY DESTINATION lento COMPONENT python)
# A wheel cannot hold links: the library goes in once, under the name the extension asks for.
install(PROGRAMS $<TARGET_FILE:lento> DESTINATION lento COMPONENT python
  RENAME liblento.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
install(DIRECTORY ${LENTO_GENERATED_DIR}/lento/ DESTINATION lento COMPONENT python FILES_MATCHING PATTERN *.pyi)
