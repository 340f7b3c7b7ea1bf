/// What compiled_part.hpp refers to, in the library that every program links.

#include "compiled_part.hpp"

#include <fabricost/compiled_part.hpp>

#include <atomic>

extern "C" void FABRICOST_COMPILED_PART() noexcept {}

namespace fabricost::core {

namespace {
/// Set before main by programs compiled with an installed package; constant-initialised, so that no later
/// constructor resets it.
constinit std::atomic<const char*> known = nullptr;
}  // namespace

bool remember_package_data(const char* directory) noexcept {
  known = directory;
  return true;
}

const char* package_data() noexcept { return known; }

}  // namespace fabricost::core
