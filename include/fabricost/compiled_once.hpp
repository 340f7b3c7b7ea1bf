#pragma once
/// Where bodies are compiled. The library compiles the bodies of the model once, from the -inl.hpp file beside each header; a program that defines
/// FABRICOST_HEADER_ONLY (target fabricost::header_only) compiles them itself and links nothing.

#ifdef FABRICOST_HEADER_ONLY
#define FABRICOST_BODY inline
#else
#define FABRICOST_BODY
#endif
