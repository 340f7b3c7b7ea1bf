# Targets the library is right on: 64 bits, and wasm32, where sizes and counts that pass 2^32 are doubles or 64 bits wide all the same and
# data is inside the program (tests/web compares its answers with the command's). Elsewhere files and memory are read by size_t, which 32
# bits do not hold. Little-endian, because nobody runs the tests on anything else. A compiler that does not say its byte order passes.
if(NOT EMSCRIPTEN AND (NOT CMAKE_SIZEOF_VOID_P OR CMAKE_SIZEOF_VOID_P LESS 8))
  message(FATAL_ERROR "fabricost needs a 64-bit target; this compiler makes pointers of ${CMAKE_SIZEOF_VOID_P} bytes")
endif()
if(CMAKE_CXX_BYTE_ORDER STREQUAL "BIG_ENDIAN")
  message(FATAL_ERROR "fabricost needs a little-endian target; this compiler's is big-endian")
endif()
