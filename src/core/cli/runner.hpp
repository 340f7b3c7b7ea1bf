#pragma once
/// Runs a subcommand and turns its result into output and an exit status: 0 success; 1 a finding
/// that --check asked for; 2 the caller's error, with a message on stderr and nothing on stdout; 70 an internal error. A subcommand returns
/// its whole output, so it is never half written.

#include "text/joined.hpp"

#include <fabricost/namespaces.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// CLI11 takes three seconds to compile: files that only hand an App on do without it.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fabricost::cli {

using core::joined;

/// A field of a request whose options are not known here: "--path nic" of <path=nic>, "--set" of <overrides>.
[[nodiscard]] std::string option_text(std::string_view name, std::string_view value);

/// Capabilities of stdout.
struct Terminal {
  bool colour = false;       ///< a terminal, and NO_COLOR is unset
  std::size_t columns = 80;  ///< $COLUMNS, or the terminal's
  /// In bold where colour is on.
  [[nodiscard]] std::string strong(std::string_view text) const;
  /// Lines without indentation in bold: headings.
  [[nodiscard]] std::string strong_headings(std::string_view text) const;
};

/// Thrown by a job that asks for exit status 1 with its whole output: there is a finding.
struct CheckFailed {
  std::string output;
};

class Runner {
 public:
  using Job = std::function<std::string(const Terminal&)>;

  Runner();
  ~Runner();
  [[nodiscard]] CLI::App& app() { return *app_; }
  /// Runs `job` when `subcommand` was selected and its options are parsed.
  void add(CLI::App& subcommand, Job job);
  /// Marks an option whose value is a file or folder that the command writes. No two of a command line may name the same, nor what
  /// another option names; the writer refuses whatever else the command has read (text/write_file.hpp).
  static void output(const CLI::Option& option);
  [[nodiscard]] static bool is_output(const CLI::Option& option);
  /// An option of a command with several questions belongs to this one, and means this there; one that none claims belongs to all.
  struct Claim {
    std::string_view question;
    std::string words;  ///< empty: as the option is described
  };
  static void claim(const CLI::Option& option, Claim claim);
  [[nodiscard]] static std::span<const Claim> claims_of(const CLI::Option& option);
  /// \param words those after "fabricost" \return the exit status
  [[nodiscard]] int run(const std::vector<std::string>& words);

 private:
  struct Entry {
    CLI::App* subcommand;
    Job job;
  };
  [[nodiscard]] std::string printed(std::vector<std::string> words);
  void check_extras() const;
  /// Why a word that is no option of the command is refused, with the option that is meant.
  [[nodiscard]] std::string option_refused(const CLI::App& sub, const std::string& typed) const;

  std::unique_ptr<CLI::App> app_;
  std::vector<Entry> entries_;
};

}  // namespace fabricost::cli
