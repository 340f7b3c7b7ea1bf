#pragma once
/// What -h, --help and `fabricost help` print: at most 80 columns wide, -h on one screen.

#include <fabricost/namespaces.hpp>

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace fabricost::cli {

/// The help of the command, or of one of its subcommands. \param whole all options in groups; else what is needed and a dozen common ones
[[nodiscard]] std::string help_text(const CLI::App& app, bool whole);

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
