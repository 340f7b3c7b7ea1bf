# What code is compiled for:
#   fabricost_compiled_for(TARGET model)   prices: as fast as the same code from headers
#   fabricost_compiled_for(TARGET speed)   fits, searches, prices many questions
#   fabricost_compiled_for(TARGET size)    runs once per question: small code starts sooner than fast code would win back
#   fabricost_compiled_for(TARGET build)   tests, examples, pages: what is compiled more often than it runs
# With FABRICOST_QUICK_BUILD (./quickstart) code for size counts as code for the build: two thirds of the compile time, a fifth more code.
option(FABRICOST_QUICK_BUILD "Compile what does not price or search in less time, to larger code" OFF)
function(fabricost_compiled_for target purpose)
  set(model -O3)
  set(speed -O2)
  set(size $<IF:$<BOOL:${FABRICOST_QUICK_BUILD}>,-Og,-Os>)
  set(build -Og)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${${purpose}}>)
  if(purpose MATCHES "model|speed")  # instrumented, all else compiles three times as fast without optimisation
    target_compile_options(${target} PRIVATE $<$<CONFIG:Sanitized>:-O1>)
  endif()
endfunction()
