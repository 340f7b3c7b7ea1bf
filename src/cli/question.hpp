#pragma once
/// \file question.hpp
/// The question that predict, explain and sweep share: its options as they were typed, and what they mean.

#include "amounts.hpp"

#include <fabricost/choice/choice.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace fabricost::cli {

/// As typed; empty where nothing was.
struct Question {
  std::string operation, system, nodes, ranks, size, dtype, algorithm, protocol, choice, calibration, path, library, launch, lost_rails;
  bool compute = false;  ///< whether the answer needs the constants of compute kernels
  std::vector<std::string> overrides;
};

/// As meant.
struct Asked {
  System system;
  Operation operation;
  Choice choice;
};

/// Adds OP and all options but --size, --sizes and those of the output.
void add_question(CLI::App& subcommand, Question& question);
void add_size(CLI::App& subcommand, Question& question);
/// Checks everything that needs no file first, then loads the system. The operation's bytes are --size where `sized`, else zero.
/// \throws RequestError, SpecError
[[nodiscard]] Asked ask(const Question& question, bool sized);

/// "256 MiB over 16 ranks on 2 nodes of dgx-h100"; without a size for sweeps. Resolved numbers come from a prediction of it.
[[nodiscard]] std::string title(const Asked& asked, int ranks, int nodes, bool sized);

/// \throws RequestError naming the near ones
[[nodiscard]] DataType data_type_of(const std::string& text, std::string_view option = "--dtype");

}  // namespace fabricost::cli
