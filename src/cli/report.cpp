/// \file report.cpp
/// Text and JSON shared by several subcommands.

#include "cli/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fabricost::cli {
std::string assumed_kernels_text(const System& system) {
  return fmt::format(
      "Assumed: nobody measured what kernels reach on {} ({}). The shares of the peak that NVIDIA's reach are taken, which "
      "widens the range.",
      system.gpu.name, name(system.gpu.generation));
}

std::string printed(const nlohmann::ordered_json& json) {
  // file names and log lines may contain invalid UTF-8
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace fabricost::cli
