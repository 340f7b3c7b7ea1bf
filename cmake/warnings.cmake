# Warnings for our own code only; never part of an exported target.
function(fabricost_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror=format
    $<$<BOOL:${FABRICOST_WARNINGS_AS_ERRORS}>:-Werror>)
endfunction()
