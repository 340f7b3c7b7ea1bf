#pragma once
/// \file report.hpp
/// Text shared by several subcommands.

#include <fabricost/hardware/system.hpp>

#include <string>

namespace fabricost::cli {

/// A sentence on the assumed kernel efficiencies of GPU generations without measurements.
[[nodiscard]] std::string assumed_kernels_text(const System& system);

/// A warning of keys of a model's config.json that may say more of its shape; empty: there are none.
[[nodiscard]] std::string unread_text(const Model& model);
}  // namespace fabricost::cli
