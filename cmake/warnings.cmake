# Warnings for our own code only; never part of an exported target.
function(fabricost_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror=format
    $<$<BOOL:${FABRICOST_WARNINGS_AS_ERRORS}>:-Werror>
    $<$<BOOL:${CMAKE_UNITY_BUILD}>:-Wno-shadow>)  # there every file's own names stand above the next file
endfunction()
