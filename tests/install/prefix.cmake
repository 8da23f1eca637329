# cmake -DBUILD=<build folder> -DSCRATCH=<folder>: installs Lento into SCRATCH/moved, for the tests in this folder.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${SCRATCH})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --component development
                COMMAND_ERROR_IS_FATAL ANY)
# The folder is moved: what is installed must not depend on where it was built or put first.
file(RENAME ${SCRATCH}/prefix ${SCRATCH}/moved)
