# Warnings for our own code only; never part of an exported target.
function(fabricost_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow> -Werror=format
    $<$<BOOL:${FABRICOST_WARNINGS_AS_ERRORS}>:-Werror>
    # there every file's own names stand above the next file, and g++ takes what one file keeps to itself for a header's
    $<$<BOOL:${CMAKE_UNITY_BUILD}>:-Wno-shadow>
    $<$<AND:$<BOOL:${CMAKE_UNITY_BUILD}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
endfunction()
