# cmake -DPREFIX=<where Lento is installed> -DPROJECT=<the programs> -DSCRATCH=<folder> -DCXX=<compiler>
#       -DGENERATOR=<generator>
# Builds the programs against the installed Lento and runs them.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${SCRATCH})
execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${PROJECT} -B ${SCRATCH} -DCMAKE_CXX_COMPILER=${CXX}
                        -DCMAKE_PREFIX_PATH=${PREFIX} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${SCRATCH} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --output-on-failure --no-tests=error WORKING_DIRECTORY ${SCRATCH}
                COMMAND_ERROR_IS_FATAL ANY)
