# The generated tree. `opgen` is built first and run over the catalogue (ops/*.yaml). It rewrites only the files that
# change, so an edit of one entry recompiles little. The compiled files are a fixed list (opgen shards by a stable
# rule), so nothing has to run at configure time.
#
# Sets LENTO_GENERATED_DIR (an include root), LENTO_GENERATED_<LAYER> (sources to compile in that layer) and makes the
# target lento_generated that everything including generated headers depends on.
set(LENTO_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)

set(LENTO_GENERATED_IR ir/op_table.gen.cpp ir/attrs.gen.cpp ir/infer.gen.cpp)
set(LENTO_GENERATED_OPS ops/elementwise.gen.cpp ops/primitives.gen.cpp ops/methods.gen.cpp)
set(LENTO_GENERATED_REFERENCE reference/kernels.gen.cpp)
set(LENTO_GENERATED_AUTOGRAD autograd/vjp.gen.cpp autograd/batch.gen.cpp)
set(LENTO_GENERATED_NN nn/layers.gen.cpp)
set(LENTO_GENERATED_PYTHON)
foreach(shard RANGE 3)
  list(APPEND LENTO_GENERATED_OPS ops/composites_${shard}.gen.cpp)
  list(APPEND LENTO_GENERATED_REFERENCE reference/elementwise_${shard}.gen.cpp)
  list(APPEND LENTO_GENERATED_PYTHON python/functions_${shard}.gen.cpp)
endforeach()

add_custom_target(lento_generated)
set(LENTO_OPS_DIR ${PROJECT_SOURCE_DIR}/ops CACHE PATH "The op catalogue")
file(GLOB LENTO_CATALOGUE CONFIGURE_DEPENDS ${LENTO_OPS_DIR}/*.yaml)
# The functions that an entry's `compute` may call.
file(GLOB LENTO_SCALAR_MATH CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/backends/reference/scalar_*.h)
# Files that call ops include the declarations of those they name (tools/opgen/callers.h).
set(LENTO_CALLERS)
set(callers)
foreach(folder ops=src/ops autograd=src/autograd nn=src/nn optim=src/optim python=python/src)
  string(REGEX REPLACE "^(.*)=(.*)$" "\\1=${PROJECT_SOURCE_DIR}/\\2" named ${folder})
  list(APPEND callers --callers ${named})
  string(REGEX REPLACE "^.*=" "" folder ${named})
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.h ${folder}/*.cpp)
  list(APPEND LENTO_CALLERS ${files})
endforeach()
if(LENTO_CATALOGUE AND EXISTS ${PROJECT_SOURCE_DIR}/tools/opgen/CMakeLists.txt)
  add_subdirectory(${PROJECT_SOURCE_DIR}/tools/opgen)
  set(compiled)
  foreach(layer IR OPS REFERENCE AUTOGRAD NN PYTHON)
    list(TRANSFORM LENTO_GENERATED_${layer} PREPEND ${LENTO_GENERATED_DIR}/)
    list(APPEND compiled ${LENTO_GENERATED_${layer}})
  endforeach()
  set(math ${LENTO_SCALAR_MATH})
  list(TRANSFORM math PREPEND "--math;")
  # The headers that the last run left are outputs too, so that ninja looks at them again once opgen has run. In a new
  # build folder there are none, and nothing that could have included them.
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${LENTO_GENERATED_DIR}/*.gen.h ${LENTO_GENERATED_DIR}/*.gen.inc)
  set(stamp ${PROJECT_BINARY_DIR}/opgen.stamp)
  add_custom_command(
    OUTPUT ${stamp}
    BYPRODUCTS ${compiled} ${headers} ${LENTO_GENERATED_DIR}/lento/_layers.py
    COMMAND opgen generate --ops ${LENTO_OPS_DIR} --out ${LENTO_GENERATED_DIR} --quiet ${math} ${callers}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS opgen ${LENTO_CATALOGUE} ${LENTO_SCALAR_MATH} ${LENTO_CALLERS}
    COMMENT "Generating from the op catalogue"
    VERBATIM)
  add_custom_target(lento_generate DEPENDS ${stamp})
  add_dependencies(lento_generated lento_generate)
else()
  set(LENTO_GENERATED_IR)
  set(LENTO_GENERATED_OPS)
  set(LENTO_GENERATED_REFERENCE)
  set(LENTO_GENERATED_AUTOGRAD)
  set(LENTO_GENERATED_NN)
  set(LENTO_GENERATED_PYTHON)
endif()
