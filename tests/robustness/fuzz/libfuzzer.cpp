// The entry that libFuzzer and AFL++ call. One program holds every target; the name it is started under says which: run.sh makes links.
#include "targets.hpp"

#include <cstddef>
#include <cstdint>

namespace {
const fuzz::Target* chosen = nullptr;
}

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** argv) {
  std::string_view name = (*argv)[0];
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  chosen = fuzz::target_named(name);
  if (chosen == nullptr) {
    std::fprintf(stderr, "\"%.*s\" is no target; start the program under the name of one:\n", static_cast<int>(name.size()), name.data());
    fuzz::for_each_target([](const fuzz::Target& target) { std::fprintf(stderr, "  %s\n", target.name); });
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
