/// Parsing, dispatch, errors and the one place that writes to stdout and stderr.

#include "cli/runner.hpp"

#include "cli/command_words.hpp"
#include "cli/help.hpp"
#include "cli/progress.hpp"
#include "cli/subcommands.hpp"
#include "fields/other_words.hpp"

#include "specs/overrides.hpp"
#include "specs/store.hpp"
#include "text/ascii.hpp"
#include "text/plain_text.hpp"
#include "text/text_table.hpp"

#include <fabricost/answers/predict.hpp>
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

/// As options are spelt: "--global_batch" is "global-batch".
[[nodiscard]] std::string without_dashes(std::string_view typed) {
  std::string out{typed.substr(std::min(typed.find_first_not_of('-'), typed.size()))};
  std::replace(out.begin(), out.end(), '_', '-');
  return lowered(out);
}

/// Why a word that belongs to no option is refused, with the option that takes it: values follow their option.
[[nodiscard]] std::string extra_text(const std::string& extra, const std::vector<std::string>& known) {
  const auto has = [&](std::string_view name) { return std::find(known.begin(), known.end(), name) != known.end(); };
  const auto ships = [&](std::string_view folder) { return !SpecStore{}.find(folder, extra).empty(); };
  std::string what = "quote values that contain blanks";
  if (!extra.empty() && extra.front() >= '0' && extra.front() <= '9' && has("--size"))
    what = "write --size " + extra;
  else if (has("--set") && extra.find('=') != std::string::npos)
    what = "repeat --set: --set " + extra;
  else if (has("--system") && ships("systems"))
    what = "write --system " + extra;
  else if (has("--model") && ships("models"))
    what = "write --model " + extra;
  else if (std::error_code error; has("--from") && std::filesystem::is_regular_file(extra, error))
    what = "write --from " + extra;
  else if (has("--of") && parse_collective(extra.substr(0, extra.find(' '))))
    what = fmt::format("write --of \"{}{}\"", extra, extra.find(' ') == std::string::npos ? " 1GiB" : "");
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

/// Writes all of the text or nothing, except that a full disk or a closed pipe may truncate it.
[[nodiscard]] bool write_all(std::FILE* stream, const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  return std::fflush(stream) == 0 && written;
}

/// $COLUMNS, or those of the terminal that the stream is; 0: neither is known.
[[nodiscard]] std::size_t columns_of(int stream) {
  constexpr std::size_t least = 40, most = 1000;
  std::size_t columns = 0;
  if (const char* text = std::getenv("COLUMNS"); text != nullptr) {
    std::from_chars(text, text + std::strlen(text), columns);
  } else if (winsize size{}; isatty(stream) == 1 && ioctl(stream, TIOCGWINSZ, &size) == 0) {
    columns = size.ws_col;
  }
  return columns == 0 ? 0 : std::clamp(columns, least, most);
}

/// A line broken between words, and indented where it goes on. Below a mark that leaves little room the words begin at the left.
[[nodiscard]] std::string broken_line(const std::string& line, std::size_t columns) {
  if (shown_width(line) <= columns) return line + "\n";
  constexpr std::size_t room = 40, left = 4;
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size()), mark = line.substr(indent).starts_with("^ ") ? 2 : 0;
  if (mark > 0 && indent + mark + room > columns && indent > left)
    return line.substr(0, indent + 1) + "\n" + wrapped(std::string(left, ' '), line.substr(indent + mark), columns);
  if (indent > 0) return wrapped(line.substr(0, indent + mark), line.substr(indent + mark), columns);
  return wrapped("  ", line, columns).substr(2);
}

/// Prints an error without control characters, which typed or read text may contain. Lines are broken at $COLUMNS or the terminal's, but
/// not one of a file, which a mark below points into; a program that reads them gets them whole.
void complain(const std::string& text) {
  const std::string plain = plain_text(brief_text(text));
  const std::size_t columns = columns_of(STDERR_FILENO);
  std::string out;
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t end = std::min(plain.find('\n', at), plain.size());
    const std::string line = plain.substr(at, end - at);
    at = end + 1;
    const std::size_t below = plain.find_first_not_of(' ', std::min(at, plain.size()));
    const bool marked = line.starts_with(" ") && below != std::string::npos && plain[below] == '^';
    out += columns == 0 || marked ? line + "\n" : broken_line(line, columns);
  }
  (void)write_all(stderr, out.empty() ? "\n" : out);
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
    if (const std::string_view here = command_meant(lowered(extras.front()), names); !here.empty())
      throw UsageError(fmt::format("\"{}\" is not a command; here it is fabricost {}", extras.front(), here));
    if (worded<Collective>(extras.front()))
      throw UsageError(fmt::format("\"{0}\" is not a command; write fabricost predict {0} ...", extras.front()));
    if (std::error_code error; std::filesystem::exists(extras.front(), error))
      throw UsageError(fmt::format("\"{0}\" is not a command; for a log write fabricost diagnose {0}", extras.front()));
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
    if (extra.starts_with("-") && extra != "--") throw UsageError(option_refused(sub, extra.substr(0, extra.find('='))));
  for (const std::string& extra : extras)
    if (extra != "--") throw UsageError(extra_text(extra, known));
}

std::string Runner::option_refused(const CLI::App& sub, const std::string& typed) const {
  const std::string plain = without_dashes(typed);
  std::string unknown = fmt::format("\"{}\" is not an option", typed);
  if (plain == "mpi" && sub.get_name() == "measure")
    return fmt::format("{}; run the OSU benchmarks or nccl-tests, whose output calibrate --from reads", unknown);
  const std::vector<std::string> known = options_asked(sub);
  const auto has = [&](const std::string& name) { return std::find(known.begin(), known.end(), name) != known.end(); };
  if (has("--" + plain)) return fmt::format("{}; write --{}", unknown, plain);
  const std::string_view here = option_meant(plain, known);
  if (const std::string several = fmt::format("--{}s", plain); has(several))  // gpu: how many, or which
    return fmt::format("{}; write {}{}", unknown, several, here.empty() ? "" : fmt::format(", or {}", here));
  if (!here.empty()) return fmt::format("{}; write {}", unknown, here);
  for (const CLI::Option* option : sub.get_options([](const CLI::Option* one) { return one->get_positional(); })) {
    const std::string name = option->get_name(true, false), word = lowered(name);
    if (word == plain || word == plain + "s" || (word == "op" && (plain.starts_with("op") || plain == "collective")))
      return fmt::format("{}; give {} without one: fabricost {} {} ...", unknown, word == "op" ? "the operation" : "the " + word,
                         sub.get_name(), word == "op" ? "all_reduce" : name);
  }
  constexpr std::size_t read_at_once = 15;
  if (!near_names(typed, known).empty() || known.size() <= read_at_once)
    return unknown_text(typed, asked_name(*app_) != full_name(*app_) ? "an option of " + full_name(*app_) : "an option", known);
  Runner all;  // this one has the command that was asked alone
  for (const Subcommand& one : subcommands())
    if (one.add != nullptr) one.add(all.app(), all);
  std::vector<std::string> others;
  for (const Entry& entry : all.entries_)
    if (entry.subcommand->get_option_no_throw("--" + plain) != nullptr) others.push_back(entry.subcommand->get_name());
  if (const std::string_view elsewhere = way_elsewhere(plain); !elsewhere.empty()) return fmt::format("{} here; {}", unknown, elsewhere);
  constexpr std::size_t few = 3;
  if (!others.empty() && others.size() <= few) return fmt::format("{} here; it is one of fabricost {}", unknown, joined(others, " and "));
  return unknown;
}

std::string Runner::printed(std::vector<std::string> words) {
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app_->parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    if (app_->get_subcommands().empty() && !app_->remaining().empty()) check_extras();  // help of what is no command
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
    if (says("received")) throw UsageError(option + ": given more than once; keep one of them");
    if (says("override")) throw UsageError(option + ": takes no value");
    const std::vector<CLI::App*> chosen = app_->get_subcommands();
    const CLI::Option* const missing = chosen.empty() ? nullptr : chosen.front()->get_option_no_throw(option);
    std::string why = option + ": its value is missing";
    if (missing != nullptr) why += fmt::format("; write {} {}: {}", option, missing->get_option_text(), missing->get_description());
    std::replace(why.begin(), why.end(), '\n', ' ');
    throw UsageError(why);
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
  constexpr std::size_t usual = 80;
  const std::size_t columns = columns_of(STDOUT_FILENO);
  const Terminal terminal{colour_wanted(), columns == 0 ? usual : columns};
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
    std::string out = fmt::format("{}: {}", asked_name(*app_), text);
    constexpr std::string_view of_sweep = "--sizes:";  // of predict a range is --size, too
    if (const std::size_t at = out.find(of_sweep); at != std::string::npos && asked_command(typed_words()) == "predict")
      out.replace(at, of_sweep.size(), "--size:");
    complain(out);
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
    const std::vector<CLI::App*> chosen = app_->get_subcommands();
    const std::string asked = asked_name(*app_);
    const bool by_another = asked != full_name(*app_);  // predict over sizes, which sweep answers
    return refuse(fmt::format("{}\nSee {} -h", error.what(), chosen.empty() || by_another ? asked : "fabricost " + question_name(*chosen.front())));
  } catch (const SpecError& error) {
    std::string text;
    for (Issue issue : error.issues()) {
      if (issue.file.starts_with(override_mark)) issue.file.replace(0, override_mark.size(), "--set ");
      text += issue.text(option_text) + "\n";
    }
    complain(text);  // starts with file:line:column, as editors like it
    return 2;
  } catch (const Refusal& error) {
    std::string text = with_fields(error.text(), option_text);
    if (error.missing())
      if (const std::string others = joined(needed_beside(*app_->get_subcommands().front(), text)); !others.empty())
        text += "\nAlso needed: " + others;
    return refuse(text);
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
