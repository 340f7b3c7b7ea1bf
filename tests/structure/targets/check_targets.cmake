# Configures the project with toolchains that only claim what their target is: those we do not support must be refused, with the reason, and
# a 64-bit little-endian one must get past that check.
#
#     cmake -DSOURCE=... -DWORK=... -DGENERATOR=Ninja -P check_targets.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
foreach(case "32-bit|4|LITTLE_ENDIAN|needs a 64-bit target"
    "big-endian|8|BIG_ENDIAN|needs a little-endian target"
    "supported|8|LITTLE_ENDIAN|got past the check")
  string(REPLACE "|" ";" case "${case}")
  list(POP_FRONT case title pointer order reason)
  file(WRITE ${WORK}/${title}/toolchain.cmake
    "set(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_CXX_COMPILER_FORCED TRUE)\nset(CMAKE_CXX_COMPILER \"${CMAKE_COMMAND}\")\n"
    "set(CMAKE_SIZEOF_VOID_P ${pointer})\nset(CMAKE_CXX_BYTE_ORDER ${order})\n")
  # nothing of the project itself is wanted: a file in place of src/ ends the configuration of the supported one
  file(COPY ${SOURCE}/CMakeLists.txt ${SOURCE}/cmake DESTINATION ${WORK}/${title}/source)
  file(WRITE ${WORK}/${title}/source/src/CMakeLists.txt "message(FATAL_ERROR \"got past the check\")\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${WORK}/${title}/source -B ${WORK}/${title}/build -G ${GENERATOR}
      -DCMAKE_TOOLCHAIN_FILE=${WORK}/${title}/toolchain.cmake
    RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(NOT failed OR NOT output MATCHES "${reason}")
    message(FATAL_ERROR "a ${title} target: expected \"${reason}\" in\n${output}")
  endif()
  message(STATUS "${title}: ${reason}")
endforeach()
