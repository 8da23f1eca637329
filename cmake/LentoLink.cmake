# lento_link(<target> <exports>): how a shared object is linked that holds all of Lento: liblento.so and the Python
# extension. `exports` names a list in cmake/exports: what it shows to others.
function(lento_link target exports)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/exports/${exports}.in ${PROJECT_BINARY_DIR}/config/${exports} @ONLY)
  set(exports ${PROJECT_BINARY_DIR}/config/${exports})
  target_link_options(${target} PRIVATE -Wl,--version-script,${exports} -Wl,--exclude-libs,ALL -Wl,--gc-sections)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${exports})
  # Calls between exported functions go straight to them instead of through the table that lets programs replace them.
  target_link_options(${target} PRIVATE -Wl,-Bsymbolic-functions)
  # Whatever OpenMP runtime the process has by then, oneDNN and this library must find the same one: both look at once.
  target_link_options(${target} PRIVATE -Wl,-z,now)
  # Compiled code on disk is good for this very build alone.
  target_link_options(${target} PRIVATE -Wl,--build-id=sha1)
endfunction()

# lento_embed(<target>): the Python extension holds Lento itself, hidden parts and all, and needs no liblento.so.
function(lento_embed target)
  if(LENTO_BUILT)
    target_link_libraries(${target} PRIVATE lento_built)
  else()
    get_property(layers GLOBAL PROPERTY LENTO_LAYERS)
    lento_link_layers(${target} ${layers})
  endif()
  target_link_libraries(${target} PRIVATE Threads::Threads)
  lento_link(${target} python.map)
endfunction()
