# Hardens code that reads strangers' files: checked stack and copies of known size; linker's tables read-only once a program runs.
#   fabricost_hardened(TARGET [small|fast])    small: code that runs once per question; fast: only functions with buffers of characters
# The model's headers, which price millions of questions and parse nothing, are compiled into programs as these are. A build with sanitizers
# or fuzzers checks more by itself.
function(fabricost_hardened target)
  if(EMSCRIPTEN OR APPLE OR FABRICOST_BUILD_FUZZERS OR NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    return()
  endif()
  set(strong "")
  if(ARGV1 STREQUAL "small")
    set(strong "-strong")
  endif()
  if(ARGC GREATER 1)
    target_compile_options(${target} PRIVATE "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-fstack-protector${strong};-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  endif()
  get_target_property(type ${target} TYPE)
  if(NOT type MATCHES "OBJECT|STATIC")
    target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now)
  endif()
endfunction()
