/// Parsing, dispatch, errors and the one place that writes to stdout and stderr.

#include "cli/runner.hpp"

#include "cli/command_words.hpp"
#include "cli/help.hpp"
#include "cli/progress.hpp"
#include "cli/subcommands.hpp"

#include "specs/overrides.hpp"
#include "specs/store.hpp"
#include "text/plain_text.hpp"

#include <fabricost/error.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/version.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string_view>
#include <system_error>

namespace fabricost::cli {
namespace {

/// A fault of the command line itself; the message ends with a pointer to the help.
class UsageError : public Error {
 public:
  using Error::Error;
};

[[nodiscard]] std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  return out;
}

/// A word that people know from another tool, and the word used here.
struct OtherWord {
  std::string_view theirs, ours;
};
constexpr OtherWord other_commands[] = {{"train", "plan train"}, {"training", "plan train"},
                                        {"serve", "plan serve"}, {"inference", "plan serve"},
                                        {"rl", "plan rl"},       {"list", "machine"},
                                        {"machines", "machine"},   {"clusters", "machine"},
                                        {"simulate", "predict"},   {"estimate", "predict"},
                                        {"check", "diagnose"},     {"analyze", "diagnose"},
                                        {"fit", "calibrate"},      {"price", "cost"},
                                        {"buy", "compare"},        {"benchmark", "measure"},
                                        {"bench", "measure"},      {"topology", "topo"}};
constexpr OtherWord other_options[] = {{"--num-gpus", "--ranks"},
                                       {"--ngpus", "--ranks"},
                                       {"-g", "--ranks"},
                                       {"--ranks", "--gpus"},
                                       {"--bytes", "--size"},
                                       {"-b", "--size"},
                                       {"--machine", "--system"},
                                       {"--cluster", "--system"},
                                       {"--nodes", "--gpus"},
                                       {"--hardware", "--system"},
                                       {"-m", "--model"},
                                       {"-n", "--nodes"},
                                       {"-N", "--nodes"},
                                       {"--input-length", "--isl"},
                                       {"--output-length", "--osl"},
                                       {"--batch-size", "--batch (serving) or --global-batch (training)"},
                                       {"--input-len", "--isl"},
                                       {"--output-len", "--osl"},
                                       {"--itl", "--tpot"},
                                       {"--gpu", "--system"},
                                       {"--systems", "--system"},
                                       {"--tensor-parallel", "--tp"},
                                       {"--tensor-parallel-size", "--tp"},
                                       {"--tensor-model-parallel-size", "--tp"},
                                       {"--pipeline-parallel-size", "--pp"},
                                       {"--pipeline-model-parallel-size", "--pp"},
                                       {"--context-parallel-size", "--cp"},
                                       {"--expert-model-parallel-size", "--ep"},
                                       {"--micro-batch-size", "--microbatch"},
                                       {"--gbs", "--global-batch"},
                                       {"--seq-len", "--sequence"},
                                       {"--drafts", "--draft-tokens"},
                                       {"--num-speculative-tokens", "--draft-tokens"},
                                       {"--rate", "--request-rate"},
                                       {"--qps", "--request-rate"},
                                       {"--prefix-cache", "--prefix"},
                                       {"--sharp", "--set nic.sharp=true"},
                                       {"--collnet", "--set nic.sharp=true"}};

/// The word here for one of theirs, if it is one of `known`; empty for other words. (Of a command the first word has to be known.)
[[nodiscard]] std::string_view word_here(std::string_view typed, std::span<const OtherWord> words, const std::vector<std::string>& known) {
  for (const OtherWord& word : words)
    if (word.theirs == typed && std::find(known.begin(), known.end(), word.ours.substr(0, word.ours.find(' '))) != known.end())
      return word.ours;
  return {};
}

/// Why a word that belongs to no option is refused, with the option that takes it: values follow their option.
[[nodiscard]] std::string extra_text(const std::string& extra, const std::vector<std::string>& known) {
  const auto has = [&](std::string_view name) { return std::find(known.begin(), known.end(), name) != known.end(); };
  const auto ships = [&](std::string_view folder) { return !SpecStore{}.find(folder, extra).empty(); };
  std::string what = "quote values that contain blanks";
  if (!extra.empty() && extra.front() >= '0' && extra.front() <= '9' && has("--size"))
    what = "write --size " + extra;
  else if (has("--system") && ships("systems"))
    what = "write --system " + extra;
  else if (has("--model") && ships("models"))
    what = "write --model " + extra;
  else if (has("--size") && parse_collective(extra))
    what = "the operation comes first, the machine after --system";
  return fmt::format("\"{}\" is one word too many ({})", extra, what);
}

[[nodiscard]] bool colour_wanted() {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0') &&
         !(terminal != nullptr && std::strcmp(terminal, "dumb") == 0);
}

[[nodiscard]] std::size_t columns_of_output() {
  constexpr std::size_t usual = 80, least = 40, most = 1000;
  std::size_t columns = 0;
  if (const char* text = std::getenv("COLUMNS"); text != nullptr) {
    std::from_chars(text, text + std::strlen(text), columns);
  } else if (winsize size{}; isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    columns = size.ws_col;
  }
  return columns == 0 ? usual : std::clamp(columns, least, most);
}

/// Writes all of the text or nothing, except that a full disk or a closed pipe may truncate it.
[[nodiscard]] bool write_all(std::FILE* stream, const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  return std::fflush(stream) == 0 && written;
}

/// Prints an error without control characters, which typed or read text may contain.
void complain(const std::string& text) {
  std::string line = plain_text(brief_text(text));
  if (line.empty() || line.back() != '\n') line += '\n';
  (void)write_all(stderr, line);
}

std::vector<const CLI::Option*>& output_options() {
  static std::vector<const CLI::Option*> all;
  return all;
}

std::map<const CLI::Option*, std::vector<Runner::Claim>>& claims() {
  static std::map<const CLI::Option*, std::vector<Runner::Claim>> all;
  return all;
}

/// Refuses an option with an empty value, the result of an unset variable in a script. (For a machine and a
/// size the question itself reports what is missing.)
void refuse_empty_values(const CLI::App& sub) {
  for (const CLI::Option* option : sub.get_options()) {
    if (option->get_lnames().empty() || option->get_expected_max() == 0) continue;
    if (option->get_lnames().front() == "system" || option->get_lnames().front() == "size") continue;
    for (const std::string& value : option->results())
      if (value.empty())
        throw UsageError(fmt::format("--{}: its value is empty; give it one, or leave the option out", option->get_lnames().front()));
  }
}

/// Refuses an option that stands where a value was missing and was taken for it: "--size --ranks 8", "--system= --size 1KiB".
void refuse_swallowed_options(const CLI::App& sub, const std::vector<std::string>& known) {
  for (const CLI::Option* option : sub.get_options())
    for (const std::string& value : option->results())
      if (value.starts_with("-") && !option->get_lnames().empty() && option->get_expected_max() > 0 &&
          std::find(known.begin(), known.end(), value.substr(0, value.find('='))) != known.end())
        throw UsageError(fmt::format("--{}: its value is missing; {} is the next option", option->get_lnames().front(), value));
}

/// The place of a path that may not be there yet.
[[nodiscard]] std::filesystem::path place_of_path(const std::string& path) {
  std::error_code error;
  std::filesystem::path out = std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  return error ? std::filesystem::path{path} : out;
}

[[nodiscard]] bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code error;
  return place_of_path(one) == place_of_path(other) || std::filesystem::equivalent(one, other, error);
}

/// Refuses two outputs to one file, and an output to a file that another option names: before any work. (The writer knows every file that
/// was read, also those inside a folder or behind another file; it refuses them when the work is done.)
void refuse_to_write_inputs(const CLI::App& sub) {
  for (const CLI::Option* output : sub.get_options()) {
    if (!Runner::is_output(*output) || output->results().empty()) continue;
    const std::string target = output->results().back(), name = output->get_lnames().front();
    std::error_code error;
    for (const CLI::Option* other : sub.get_options()) {
      if (other == output || other->get_expected_max() == 0) continue;
      const bool writes = Runner::is_output(*other);
      for (const std::string& named : other->results()) {
        if (writes && is_same_file(target, named))
          throw UsageError(fmt::format("--{} and --{}: both write {}; name two files", name, other->get_lnames().front(), target));
        if (!writes && std::filesystem::is_regular_file(target, error) && std::filesystem::equivalent(target, named, error))
          throw UsageError(fmt::format("--{} {}: is also read ({}), and would be lost; write to another file", name, target, named));
      }
    }
  }
}

/// The command's name: "fabricost explore".
[[nodiscard]] std::string full_name(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? std::string{"fabricost"} : "fabricost " + chosen.front()->get_name();
}

/// The command that was asked, for messages: "fabricost plan", which --vary makes explore.
[[nodiscard]] std::string asked_name(const CLI::App& app) {
  const std::string name = full_name(app), asked = asked_command(typed_words());
  return asked.empty() || app.get_subcommands().empty() ? name : "fabricost " + asked;
}

}  // namespace

std::string option_text(std::string_view name, std::string_view value) {
  std::string out = "--" + std::string{name == "overrides" ? "set" : name};
  std::replace(out.begin(), out.end(), '_', '-');
  return value.empty() ? out : fmt::format("{} {}", out, value);
}

std::string Terminal::strong(std::string_view text) const { return colour ? fmt::format("\033[1m{}\033[0m", text) : std::string{text}; }

std::string Terminal::strong_headings(std::string_view text) const {
  if (!colour) return std::string{text};
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    out += line.empty() || line.front() == ' ' ? std::string{line} : strong(line);
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Runner::Runner()
    : app_(std::make_unique<CLI::App>("Predict and diagnose communication, training and serving on GPU clusters.", "fabricost")) {
  output_options().clear();  // of a Runner before this one
  claims().clear();
  app_->set_help_flag("-h", "Print what is needed and common options");
  app_->set_help_all_flag("--help", "Print all options");
  app_->set_version_flag("-V,--version", FABRICOST_VERSION, "Print the version and exit");
  app_->require_subcommand(0, 1);
  app_->allow_extras();  // reported by check_extras, with suggestions
  app_->footer(
      "Example: fabricost predict all_reduce --system dgx-h100 --size 256MiB\n"
      "Options: fabricost COMMAND -h (common), --help (all). Words: fabricost help" +
      left_out_help());
}

Runner::~Runner() = default;

void Runner::add(CLI::App& subcommand, Job job) {
  subcommand.group("Commands");
  subcommand.allow_extras();
  for (CLI::Option* option : subcommand.get_options([](const CLI::Option* o) { return o->get_expected_max() == 0; }))
    option->disable_flag_override();
  entries_.push_back({&subcommand, std::move(job)});
}

void Runner::output(const CLI::Option& option) { output_options().push_back(&option); }

bool Runner::is_output(const CLI::Option& option) {
  return std::find(output_options().begin(), output_options().end(), &option) != output_options().end();
}

void Runner::claim(const CLI::Option& option, Claim claim) { claims()[&option].push_back(std::move(claim)); }

std::span<const Runner::Claim> Runner::claims_of(const CLI::Option& option) {
  const auto at = claims().find(&option);
  return at == claims().end() ? std::span<const Claim>{} : at->second;
}

void Runner::check_extras() const {
  const std::vector<CLI::App*> chosen = app_->get_subcommands();
  if (chosen.empty()) {
    std::vector<std::string> names;
    for (const Entry& entry : entries_) names.push_back(entry.subcommand->get_name());
    const std::vector<std::string> extras = app_->remaining();
    if (extras.empty()) throw UsageError("which command? One of: " + joined(names));
    if (extras.front() == "version" || extras.front() == "-v") throw UsageError("the version is printed by fabricost --version");
    if (extras.front().starts_with("-"))
      throw UsageError(
          fmt::format("\"{}\" is not an option of fabricost itself; a command comes first: {}", extras.front(), joined(names)));
    if (const std::string why = left_out_text(extras.front()); !why.empty()) throw UsageError(why);
    if (const std::string_view here = word_here(extras.front(), other_commands, names); !here.empty())
      throw UsageError(fmt::format("\"{}\" is not a command; here it is fabricost {}", extras.front(), here));
    throw UsageError(unknown_text(extras.front(), "a command", names));
  }
  const CLI::App& sub = *chosen.front();
  if (sub.get_prefix_command()) return;  // parses its own arguments
  std::vector<std::string> extras = sub.remaining();
  for (const std::string& extra : app_->remaining()) extras.push_back(extra);
  const std::vector<std::string> known = option_names(sub);
  refuse_swallowed_options(sub, known);
  for (const std::string& extra : app_->remaining())
    if (std::find(known.begin(), known.end(), extra.substr(0, extra.find('='))) != known.end())
      throw UsageError(fmt::format("option {0} must come after the command: fabricost {1} ... {0}", extra, sub.get_name()));
  for (const std::string& extra : extras)
    if (extra.starts_with("-") && extra != "--") {
      const std::string typed = extra.substr(0, extra.find('='));
      if (const std::string_view here = word_here(typed, other_options, known); !here.empty())
        throw UsageError(fmt::format("\"{}\" is not an option; write {}", typed, here));
      if ((typed.starts_with("--op") || typed == "--collective") && sub.get_option_no_throw("OP") != nullptr)
        throw UsageError(
            fmt::format("\"{}\" is not an option; the operation is the first word: fabricost {} all_reduce ...", typed, sub.get_name()));
      const bool renamed = asked_name(*app_) != full_name(*app_);
      throw UsageError(unknown_text(typed, renamed ? "an option of " + full_name(*app_) : "an option", known));
    }
  for (const std::string& extra : extras)
    if (extra != "--") throw UsageError(extra_text(extra, known));
}

std::string Runner::printed(std::vector<std::string> words) {
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app_->parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    return help_text(*app_, false);
  } catch (const CLI::CallForAllHelp&) {
    return help_text(*app_, true);
  } catch (const CLI::CallForVersion& version) {
    return fmt::format("fabricost {}\n", version.what());
  } catch (const CLI::ArgumentMismatch& error) {
    check_extras();
    const std::string text = error.what();
    std::string option = text.substr(0, text.find_first_of(": "));
    if (!option.starts_with("-")) option.insert(0, "--");
    const auto says = [&](const char* word) { return text.find(word) != std::string::npos; };
    throw UsageError(option + (says("received")   ? ": given more than once; keep one of them"
                               : says("override") ? ": takes no value"
                                                  : ": its value is missing"));
  } catch (const CLI::ParseError& error) {
    check_extras();  // an unknown option is the more likely cause
    throw UsageError(error.what());
  }
  check_extras();
  for (const CLI::App* sub : app_->get_subcommands()) {
    if (sub->get_prefix_command()) continue;
    refuse_empty_values(*sub);
    refuse_to_write_inputs(*sub);
  }
  const Terminal terminal{colour_wanted(), columns_of_output()};
  const SearchProgress progress;
  for (const Entry& entry : entries_)
    if (entry.subcommand->parsed()) return entry.job(terminal);
  throw std::logic_error("a command without work");
}

int Runner::run(const std::vector<std::string>& words) {
  constexpr int internal_fault = 70;  // EX_SOFTWARE of sysexits.h
  if (words.empty()) {
    (void)write_all(stderr, help_text(*app_, false));
    return 2;
  }
  const auto refuse = [&](std::string_view text) {
    complain(fmt::format("{}: {}", asked_name(*app_), text));
    return 2;
  };
  try {
    if (!write_all(stdout, plain_text(printed(words), colour_wanted()))) {
      complain(fmt::format("fabricost: cannot write the output: {}", std::strerror(errno)));
      return 2;
    }
    return 0;
  } catch (const CheckFailed& failed) {
    (void)write_all(stdout, plain_text(failed.output, colour_wanted()));
    return 1;
  } catch (const UsageError& error) {
    return refuse(fmt::format("{}\nSee {} --help", error.what(), full_name(*app_)));
  } catch (const SpecError& error) {
    std::string text;
    for (Issue issue : error.issues()) {
      if (issue.file.starts_with(override_mark)) issue.file.replace(0, override_mark.size(), "--set ");
      text += issue.text(option_text) + "\n";
    }
    complain(text);  // starts with file:line:column, as editors like it
    return 2;
  } catch (const Refusal& error) {
    return refuse(with_fields(error.text(), option_text));
  } catch (const Error& error) {
    return refuse(error.what());
  } catch (const std::bad_alloc&) {
    return refuse("out of memory");
  } catch (const std::exception& error) {
    refuse(fmt::format("internal error: {}; please report it with this command line", error.what()));
    return internal_fault;
  }
}

}  // namespace fabricost::cli
