# cmake -DSOURCE=<project> -DHERE=<this folder> -DSCRATCH=<folder> -DCXX=<compiler> -DGENERATOR=<generator>
#       -DPYTHON=<interpreter> -P one_entry.cmake
cmake_minimum_required(VERSION 3.25)
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${SCRATCH}/ops)
file(COPY ${SOURCE}/ops DESTINATION ${SCRATCH})
file(COPY ${HERE}/new_op.yaml DESTINATION ${SCRATCH}/ops)

run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE} -B ${SCRATCH}/build -DLENTO_OPS_DIR=${SCRATCH}/ops
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0 -DPython_EXECUTABLE=${PYTHON}
    -DLENTO_BUILD_TESTS=OFF -DLENTO_BUILD_BENCH=OFF -DLENTO_BUILD_EXAMPLES=OFF)
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)

run(${CXX} -std=c++20 -I${SOURCE}/include -I${SCRATCH}/build/generated -I${SCRATCH}/build/config ${HERE}/use_new_op.cpp
    -o ${SCRATCH}/use_new_op -L${SCRATCH}/build/lib -llento -Wl,-rpath,${SCRATCH}/build/lib)
run(${SCRATCH}/use_new_op)
run(${CMAKE_COMMAND} -E env PYTHONPATH=${SCRATCH}/build/python ${PYTHON} ${HERE}/use_new_op.py)
