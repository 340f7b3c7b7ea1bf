#pragma once
/// How long a search takes by the clock.

#include <fabricost/units.hpp>

#include <chrono>

namespace fabricost::plan {

[[nodiscard]] inline Time since(std::chrono::steady_clock::time_point start) {
  return units::s(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace fabricost::plan
