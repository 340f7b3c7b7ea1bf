# The same bytes from any folder at any time: no path of the builder in objects, no dates in archives.
# tests/packaging/reproducible.sh holds it.
function(fabricost_reproducible target)
  if(CMAKE_BUILD_TYPE STREQUAL "Sanitized")
    return()  # coverage looks for the sources where they are
  endif()
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=fabricost -ffile-prefix-map=${PROJECT_BINARY_DIR}=build>)
endfunction()

# GNU's and LLVM's ar: D writes no dates, owners and modes. Debian's is built to do so anyway.
if(PROJECT_IS_TOP_LEVEL AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> qcD <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_CXX_ARCHIVE_APPEND "<CMAKE_AR> qD <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_CXX_ARCHIVE_FINISH "<CMAKE_RANLIB> -D <TARGET>")
endif()
