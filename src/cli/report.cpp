/// \file report.cpp
/// Text shared by several subcommands.

#include "cli/report.hpp"

#include <fmt/format.h>

namespace fabricost::cli {

std::string assumed_kernels_text(const System& system) {
  return fmt::format(
      "Assumed: nobody measured what kernels reach on {} ({}). The shares of the peak that NVIDIA's reach are taken, which "
      "widens the range.",
      system.gpu.name, name(system.gpu.generation));
}

}  // namespace fabricost::cli
