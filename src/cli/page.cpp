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

std::string unread_text(const Model& model) {
  return model.unread.empty() ? std::string{}
                              : fmt::format(
                                    "Not read of its config.json: {}. If the model's shape follows from them, describe it as in "
                                    "data/models.",
                                    model.unread);
}

}  // namespace fabricost::cli
