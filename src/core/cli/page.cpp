/// \file page.cpp
/// Sentences shared by several subcommands.

#include "cli/page.hpp"

namespace fabricost::cli {

std::string assumed_kernels_text(const System& system) {
  return fmt::format(
      "Assumed: kernels on {} ({}) were not measured. They are taken to reach the shares of the peak that NVIDIA's reach, which "
      "widens the range.",
      system.gpu.name, name(system.gpu.generation));
}

}  // namespace fabricost::cli
