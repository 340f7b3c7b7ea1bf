#pragma once
/// \file question.hpp
/// The question that predict, explain and sweep share: its options as they were typed, and what they mean.

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
/// --library: whose all-reduce kernels run; --launch: in a CUDA graph or from Python.
void add_library(CLI::App& subcommand, Question& question);

/// --lost-rails: NICs of a node that are down.
void add_lost_rails(CLI::App& subcommand, Question& question);

/// Checks everything that needs no file first, then loads the system. The operation's bytes are --size where `sized`, else zero.
/// \throws RequestError, SpecError
[[nodiscard]] Asked ask(const Question& question, bool sized);

/// What a question says of the machine beyond its name, a sentence each, for explanations.
[[nodiscard]] std::vector<std::string> notes_of(const Question& question);

/// "256 MiB over 16 ranks on 2 nodes of dgx-h100"; without a size for sweeps. Resolved numbers come from a prediction of it.
[[nodiscard]] std::string title(const Asked& asked, int ranks, int nodes, bool sized);

/// A whole number from 1 to 10 million; 0 when nothing was given. \throws RequestError naming the option
[[nodiscard]] int count_of(const std::string& text, std::string_view option);
/// The same; none when nothing was given. \throws as count_of
[[nodiscard]] std::optional<int> given_count(const std::string& text, std::string_view option);

/// \throws RequestError naming the near ones
[[nodiscard]] DataType data_type_of(const std::string& text, std::string_view option = "--dtype");

/// Names of OP, those of expert exchange included.
[[nodiscard]] std::vector<std::string> operation_names();

}  // namespace fabricost::cli
