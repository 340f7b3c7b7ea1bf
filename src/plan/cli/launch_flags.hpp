#pragma once
/// The command line with which another program runs a layout that plan found.

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// A field of the layout, of the answer or of the question, by its name in JSON; null: there is none.
using ValueOf = std::function<nlohmann::ordered_json(const std::string& field)>;

struct LaunchCommand {
  std::string command;
  std::vector<std::string> by_hand;  ///< what was priced and the command does not say
  std::vector<std::string> notes;    ///< what the reader adds, and what the step assumes that no flag says
};

/// \param program of data/launchers, as in vllm \param question train or serve
/// \throws RequestError for an unknown program or one of the other question, and for what the program has no flags for
[[nodiscard]] LaunchCommand launch_of(std::string_view program, std::string_view question, const ValueOf& value_of);

/// The stack whose steps the program runs: the one named, or where none is the machine's usual one if it is of the program, else its own.
/// \throws RequestError for a stack that is named and of another program
[[nodiscard]] std::string stack_to_launch(std::string_view program, const std::string& named, const std::string& usual);

}  // namespace fabricost::plan
