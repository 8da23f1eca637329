# The component "python": what a wheel holds besides the Python files.
install(TARGETS lento_python LIBRARY DESTINATION lento COMPONENT python)
install(DIRECTORY ${LENTO_GENERATED_DIR}/lento/ DESTINATION lento COMPONENT python FILES_MATCHING
        PATTERN *.py PATTERN *.pyi)
