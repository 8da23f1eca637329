# The component "python": what a wheel holds besides the Python files. The library lies beside the extension, which
# finds it by $ORIGIN.
install(TARGETS lento_python LIBRARY DESTINATION lento COMPONENT python)
install(TARGETS lento LIBRARY DESTINATION lento COMPONENT python NAMELINK_SKIP)
install(DIRECTORY ${LENTO_GENERATED_DIR}/lento/ DESTINATION lento COMPONENT python FILES_MATCHING PATTERN *.pyi)
