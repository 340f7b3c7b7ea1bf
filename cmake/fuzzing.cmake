# Everything is compiled so that a fuzzer sees where an input leads and a sanitizer what it breaks. tests/robustness/fuzz/run.sh configures such a
# build.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "FABRICOST_BUILD_FUZZERS needs clang++ or afl-clang-fast++: configure with -DCMAKE_CXX_COMPILER=clang++")
endif()
set(FABRICOST_SANITIZERS address,undefined,float-cast-overflow)
add_compile_options(-fsanitize=fuzzer-no-link,${FABRICOST_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer)
add_compile_definitions(_GLIBCXX_ASSERTIONS)
add_link_options(-fsanitize=${FABRICOST_SANITIZERS})
