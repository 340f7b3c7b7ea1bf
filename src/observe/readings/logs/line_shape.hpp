#pragma once
/// Which part of a line tells of an event. Settings, options of a help text, legends and progress bars hold the words of failures as
/// names ("watchdog_timeout=300", "--abort-on-error  end at the first one") and say nothing of what happened.

#include <fabricost/namespaces.hpp>

#include <string>
#include <string_view>

namespace fabricost::observe {

/// The line without its settings and its progress bar; empty for a legend, a setting, or an option of a help text.
/// \param line without prefixes (unprefix)
[[nodiscard]] std::string event_text(std::string_view line);

/// Help texts: options, and the deeper lines below each that say what it does.
class HelpText {
 public:
  /// Whether the next line belongs to one. \param line with its indentation
  [[nodiscard]] bool take(std::string_view line);

 private:
  std::size_t option_ = std::string_view::npos;  ///< indentation of the last option; npos: the text has ended
};

/// A program's message that all goes as it should: a level or a server's time before it, and no word of trouble.
/// NCCL's own messages are none: they are read one by one. \param stamped a time in brackets stood before the line
[[nodiscard]] bool is_status(std::string_view line, bool stamped);

}  // namespace fabricost::observe
