# lento_layer(<name> [FOLDER <folder under src/>] [NO_GENERATED] [SEES <layer>...] [LINKS <target>...])
#
# Makes the OBJECT library lento_<name> of all .cpp files below src/<folder> and of the layer's generated
# sources. SEES lists the layers directly below; LINKS external libraries that only this layer uses. A
# folder without sources yet is an empty layer.
set_property(GLOBAL PROPERTY LENTO_LAYERS)
configure_file(${PROJECT_SOURCE_DIR}/cmake/version.h.in ${PROJECT_BINARY_DIR}/config/lento/version.h @ONLY)

function(lento_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_GENERATED" "FOLDER" "SEES;LINKS")
  if(NOT arg_FOLDER)
    set(arg_FOLDER ${name})
  endif()
  string(TOUPPER ${name} upper)

  set(sees ${name})
  foreach(below IN LISTS arg_SEES)
    get_property(closure GLOBAL PROPERTY LENTO_SEES_${below})
    list(APPEND sees ${closure})
  endforeach()
  list(REMOVE_DUPLICATES sees)
  set_property(GLOBAL PROPERTY LENTO_SEES_${name} ${sees})
  set_property(GLOBAL APPEND PROPERTY LENTO_LAYERS ${name})
  set_property(GLOBAL PROPERTY LENTO_FOLDER_${name} ${arg_FOLDER})

  set(folder ${PROJECT_SOURCE_DIR}/src/${arg_FOLDER})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  list(APPEND sources ${LENTO_GENERATED_${upper}})
  if(NOT sources)
    add_library(lento_${name} INTERFACE)
    return()
  endif()
  add_library(lento_${name} OBJECT ${sources})
  target_include_directories(lento_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                             ${LENTO_GENERATED_DIR} ${PROJECT_BINARY_DIR}/config)
  target_compile_definitions(lento_${name} PRIVATE LENTO_WITHOUT_METHODS)
  foreach(below IN LISTS arg_SEES)
    target_link_libraries(lento_${name} PUBLIC lento_${below})
  endforeach()
  target_link_libraries(lento_${name} PUBLIC ${arg_LINKS})
  if(name STREQUAL "base")
    lento_precompile(lento_base)
  else()
    target_precompile_headers(lento_${name} REUSE_FROM lento_base)
  endif()
  if(NOT arg_NO_GENERATED)
    add_dependencies(lento_${name} lento_generated)
  endif()
endfunction()

# lento_link_layers(<target> <layer>...): links the objects of these layers and of all they see.
function(lento_link_layers target)
  set(all)
  foreach(layer IN LISTS ARGN)
    get_property(closure GLOBAL PROPERTY LENTO_SEES_${layer})
    list(APPEND all ${closure})
  endforeach()
  list(REMOVE_DUPLICATES all)
  list(TRANSFORM all PREPEND lento_)
  target_link_libraries(${target} PRIVATE ${all})
  add_dependencies(${target} lento_generated)
endfunction()

# lento_layer_outside(<name> FOLDER <folder, seen from src/> SEES <layer>...): what is built elsewhere, and includes the
# headers of exactly these layers.
function(lento_layer_outside name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "SEES")
  list(JOIN arg_SEES "," sees)
  set_property(GLOBAL APPEND PROPERTY LENTO_LAYERS_OUTSIDE "${name} ${arg_FOLDER} ${name},${sees}")
endfunction()

# Checks in every build that no file includes a header of a layer it may not see.
function(lento_layer_check)
  get_property(layers GLOBAL PROPERTY LENTO_LAYERS)
  set(spec "# <layer> <folder> <layers it sees>\n")
  foreach(layer IN LISTS layers)
    get_property(folder GLOBAL PROPERTY LENTO_FOLDER_${layer})
    get_property(sees GLOBAL PROPERTY LENTO_SEES_${layer})
    list(JOIN sees "," sees)
    string(APPEND spec "${layer} ${folder} ${sees}\n")
  endforeach()
  get_property(outside GLOBAL PROPERTY LENTO_LAYERS_OUTSIDE)
  foreach(line IN LISTS outside)
    string(APPEND spec "${line}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/layers.txt CONTENT "${spec}" @ONLY)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/src/*.cpp
       ${PROJECT_SOURCE_DIR}/src/*.inc ${PROJECT_SOURCE_DIR}/include/lento/*.h
       ${PROJECT_SOURCE_DIR}/python/src/*.h ${PROJECT_SOURCE_DIR}/python/src/*.cpp)
  set(stamp ${PROJECT_BINARY_DIR}/layers.stamp)
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} -DSPEC=${PROJECT_BINARY_DIR}/layers.txt -DROOT=${PROJECT_SOURCE_DIR}
            -P ${PROJECT_SOURCE_DIR}/cmake/check_layers.cmake
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${files} ${PROJECT_BINARY_DIR}/layers.txt ${PROJECT_SOURCE_DIR}/cmake/check_layers.cmake
    COMMENT "Checking layers"
    VERBATIM)
  add_custom_target(lento_check_layers ALL DEPENDS ${stamp})
endfunction()
