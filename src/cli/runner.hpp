#pragma once
/// \file runner.hpp
/// Runs the subcommand that was asked for and turns what happens into text and an exit status: 0 fine; 2 the caller can mend it,
/// message on stderr and nothing on stdout; 1 a fault of ours. A subcommand returns its whole output, so none is half written.

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::cli {

/// What stdout can show.
struct Terminal {
  bool colour = false;  ///< a terminal, and NO_COLOR is unset
  /// In bold where there is colour.
  [[nodiscard]] std::string strong(std::string_view text) const;
  /// Lines that start at the margin in bold: headings above indented text.
  [[nodiscard]] std::string strong_headings(std::string_view text) const;
};

class Runner {
 public:
  using Job = std::function<std::string(const Terminal&)>;

  Runner();
  [[nodiscard]] CLI::App& app() { return app_; }
  /// `job` runs when `subcommand` was asked for; its options have their values by then.
  void add(CLI::App& subcommand, Job job);
  /// \return the exit status
  [[nodiscard]] int run(int argc, char** argv);

 private:
  struct Entry {
    CLI::App* subcommand;
    Job job;
  };
  [[nodiscard]] std::string output(int argc, char** argv);
  void check_extras() const;

  CLI::App app_;
  std::vector<Entry> entries_;
};

}  // namespace fabricost::cli
