/// The module's function that JavaScript calls (bindings/web/page/model.js): texts go in and out as UTF-8.

#include "specs/sources/contained.hpp"
#include "web/answer.hpp"
#include "web/contained_files.hpp"

#include <emscripten/emscripten.h>

#include <cstdlib>
#include <string>

extern "C" {

/// \param request made by malloc, and freed here \returns a text that stays until the next call
EMSCRIPTEN_KEEPALIVE const char* fabricost_answer(char* request) {
  static std::string answer;
  answer = fabricost::web::answer(request, ".");
  std::free(request);
  return answer.c_str();
}

}  // extern "C"

int main() {
  fabricost::core::use_contained(fabricost::web::contained_files);
  return 0;
}
