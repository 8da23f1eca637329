# cmake -DPREFIX=<installed Lento> -DPROJECT=<outside project> -DSCRATCH=<folder> -DCXX=<compiler> -DGENERATOR=<generator>
#       -DBUNDLE=<whether libraries are installed beside Lento>
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${SCRATCH})
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${PROJECT} -B ${SCRATCH} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_PREFIX_PATH=${PREFIX})
run(${CMAKE_COMMAND} --build ${SCRATCH})
execute_process(COMMAND ${SCRATCH}/outside OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
message("${output}")
if(NOT output MATCHES "sum of squares: 14")
  message(FATAL_ERROR "the outside program printed something else")
endif()

# The libraries that Lento brings are those that were installed with it, not the system's.
if(BUNDLE)
  execute_process(COMMAND ldd ${SCRATCH}/outside OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
  message("${needed}")
  foreach(library dnnl openblas gfortran gomp)
    if(NOT needed MATCHES "lib${library}[^ ]* => ([^\n]*)" OR NOT CMAKE_MATCH_1 MATCHES "^${PREFIX}/")
      message(FATAL_ERROR "lib${library} is not the one beside Lento")
    endif()
  endforeach()
endif()
