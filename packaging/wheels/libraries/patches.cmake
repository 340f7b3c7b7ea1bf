# Debian's patches, in its order, to the sources in the working folder: -DPATCHES=FOLDER -DPATCH=PROGRAM -P patches.cmake
file(STRINGS ${PATCHES}/series series REGEX "^[^#]")
foreach(name IN LISTS series)
  string(REGEX REPLACE " .*" "" name "${name}")
  execute_process(COMMAND ${PATCH} --batch --forward -p1 -i ${PATCHES}/${name} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
