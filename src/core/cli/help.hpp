#pragma once
/// What -h, --help and `fabricost help` print: at most 80 columns wide, -h on one screen.

#include <fabricost/namespaces.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace fabricost::cli {

/// The help of the command, or of one of its subcommands. \param whole all options in groups; else what is needed and a dozen common ones
[[nodiscard]] std::string help_text(const CLI::App& app, bool whole);

/// The command with its selected question: "plan train".
[[nodiscard]] std::string question_name(const CLI::App& command);
/// Long names of its options, of a command with several questions those of the selected one.
[[nodiscard]] std::vector<std::string> options_asked(const CLI::App& command);
/// What the command needs and was not given, without what `said` names already.
[[nodiscard]] std::vector<std::string> needed_beside(const CLI::App& command, std::string_view said);

/// Words that `fabricost help` explains beside commands.
struct HelpTopics {
  std::string_view title;
  std::span<const std::string_view> names;
  /// \param name one of them
  std::string (*text)(std::string_view name);
};
/// Those of this build (components.cpp): core's own, the causes of diagnose.
[[nodiscard]] std::span<const HelpTopics> help_topics();
[[nodiscard]] HelpTopics core_topics();
[[nodiscard]] HelpTopics word_topics();
[[nodiscard]] HelpTopics cause_topics();

}  // namespace fabricost::cli
