#pragma once
/// The diagnosis of logs that are no traces. Private.

#include <fabricost/observe/diagnose/diagnose.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace fabricost::core {
struct System;
}  // namespace fabricost::core

namespace fabricost::observe {

/// A diagnosis of these files, whatever logs the request names. \throws as answer
[[nodiscard]] Diagnosis diagnose(const std::vector<std::filesystem::path>& files, const DiagnoseRequest& request = {});
/// The same while they are written.
[[nodiscard]] Diagnosis diagnose_while_it_runs(const std::vector<std::filesystem::path>& files, const DiagnoseRequest& request = {});

/// GPUs and ranks in a log that this machine cannot have; empty: they agree, or the log does not state any.
[[nodiscard]] std::string contradiction(const std::filesystem::path& log, const System& system);

/// The usual machine of the GPUs in a log, by its name in data/; the one with a bridge where only its wires allow the
/// times. Empty: ambiguous, or none that is described whole.
/// \throws SpecError as diagnose
[[nodiscard]] std::string usual_system(const std::filesystem::path& log);

}  // namespace fabricost::observe
