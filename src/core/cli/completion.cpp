/// fabricost completion: a shell script that completes commands, options and names. Commands and options are
/// read from the CLI11 application, so the script is always complete.

#include "cli/runner.hpp"
#include "cli/subcommands.hpp"
#include "text/plain_text.hpp"

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/error.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <array>
#include <memory>
#include <utility>

namespace fabricost::cli {
namespace {

constexpr std::array<std::string_view, 3> shells{"bash", "zsh", "fish"};

/// One subcommand, as the shell script needs it. `words`: possible positional values.
struct Command {
  std::string name, description;
  std::vector<std::string> flags, valued;  ///< options without and with a value
  std::string words;
  bool files = false;  ///< file names are positional values, too

  [[nodiscard]] std::string options() const { return joined(flags, " ") + (valued.empty() ? "" : " " + joined(valued, " ")); }
};

/// Values of the options that take one of a few words, the same under every command.
struct Values {
  std::string option, words;
  bool files = false;
};

[[nodiscard]] std::string system_words() {
  std::vector<std::string> out;
  for (const SystemName& one : system_names()) out.emplace_back(one.name);
  return joined(out, " ");
}

[[nodiscard]] std::vector<Command> commands_of(const CLI::App& app, const std::string& systems) {
  std::vector<Command> out;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    Command command;
    command.name = sub->get_name();
    command.description = sub->get_description();
    for (const CLI::Option* option : sub->get_options()) {
      for (const std::string& name : option->get_lnames())
        (option->get_expected_max() == 0 ? command.flags : command.valued).push_back("--" + name);
      const std::string positional = option->get_name(true, false);
      if (!option->get_positional()) continue;
      if (positional == "OP")
        command.words = joined(collective_names, " ");
      else if (positional == "SHELL")
        command.words = joined(shells, " ");
      else if (positional == "SYSTEM")
        command.words = systems;
      else if (positional == "MODEL")
        command.words = joined(names_in("models"), " ");
      command.files = positional != "OP" && positional != "SHELL";
    }
    out.push_back(std::move(command));
  }
  return out;
}

[[nodiscard]] std::vector<Values> values_of(const std::string& systems) {
  return {{"--system", systems, true},
          {"--dtype", joined(data_type_names, " ")},
          {"--algorithm", joined(algorithm_names, " ")},
          {"--protocol", "ll ll128 simple"},
          {"--choice", "nccl fastest"},
          {"--path", joined(path_names, " ")},
          {"--calibration", "none", true},
          {"--only", "scale_up pcie transport custom memory launch host peer collectives overlap"}};
}

[[nodiscard]] std::string bash_script(const std::vector<Command>& commands, const std::vector<Values>& values) {
  std::string out =
      "# bash completion of fabricost: source <(fabricost completion bash)\n"
      "_fabricost() {\n"
      "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\" words=\"\" options=\"\" files=\"\"\n"
      "  COMPREPLY=()\n"
      "  [[ \"$current\" == = ]] && current=\"\"\n"
      "  [[ \"$previous\" == = ]] && previous=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
      "  if (( COMP_CWORD == 1 )); then\n";
  std::vector<std::string_view> names;
  for (const Command& command : commands) names.push_back(command.name);
  out += fmt::format("    COMPREPLY=($(compgen -W \"{} --help --version\" -- \"$current\"))\n    return\n  fi\n", joined(names, " "));
  out += "  case \"$previous\" in\n";
  for (const Values& value : values)
    out += fmt::format("    {}) words=\"{}\"{} ;;\n", value.option, value.words, value.files ? "; files=yes" : "");
  out += "    *) case \"${COMP_WORDS[1]}\" in\n";
  for (const Command& command : commands)
    out += fmt::format("      {}) options=\"{}\"; words=\"{}\"{} ;;\n", command.name, command.options(), command.words,
                       command.files ? "; files=yes" : "");
  out +=
      "      esac\n"
      "      [[ \"$current\" == -* ]] && { words=\"$options\"; files=\"\"; } ;;\n"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  if [[ -n \"$files\" ]]; then COMPREPLY+=($(compgen -f -- \"$current\")); fi\n"
      "}\n"
      "complete -F _fabricost fabricost\n";
  return out;
}

[[nodiscard]] std::string zsh_script(const std::vector<Command>& commands, const std::vector<Values>& values) {
  std::string out =
      "#compdef fabricost\n"
      "# zsh completion of fabricost: source <(fabricost completion zsh), or save it as _fabricost in a directory of $fpath\n"
      "_fabricost() {\n"
      "  local previous=\"${words[CURRENT-1]}\"\n"
      "  if (( CURRENT == 2 )); then\n"
      "    local -a commands=(\n";
  for (const Command& command : commands) {
    std::string description;
    for (const char c : command.description) description += c == ':' ? ';' : c;  // a colon ends the name
    out += fmt::format("      {}\n", single_quoted(command.name + ":" + description));
  }
  out +=
      "    )\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  case \"$previous\" in\n";
  for (const Values& value : values)
    out += fmt::format("    {}) compadd -- {}{}; return ;;\n", value.option, value.words, value.files ? "; _files" : "");
  out += "  esac\n  case \"${words[2]}\" in\n";
  for (const Command& command : commands) {
    const std::string words = command.words.empty() ? ":" : "compadd -- " + command.words;
    out += fmt::format("    {}) if [[ \"$PREFIX\" == -* ]]; then compadd -- {}; else {}{}; fi ;;\n", command.name, command.options(), words,
                       command.files ? "; _files" : "");
  }
  out +=
      "  esac\n"
      "}\n"
      "if [[ \"${funcstack[1]}\" == _fabricost ]]; then _fabricost \"$@\"; else compdef _fabricost fabricost; fi\n";
  return out;
}

[[nodiscard]] std::string fish_script(const std::vector<Command>& commands, const std::vector<Values>& values) {
  std::string out = "# fish completion of fabricost: fabricost completion fish | source\ncomplete -c fabricost -f\n";
  out += "complete -c fabricost -n __fish_use_subcommand -l help -d 'Print help'\n";
  out += "complete -c fabricost -n __fish_use_subcommand -l version -d 'Print the version'\n";
  for (const Command& command : commands) {
    out += fmt::format("complete -c fabricost -n __fish_use_subcommand -a {} -d {}\n", command.name, single_quoted(command.description));
    const std::string seen = fmt::format("complete -c fabricost -n '__fish_seen_subcommand_from {}'", command.name);
    if (!command.words.empty()) out += fmt::format("{} -a '{}'\n", seen, command.words);
    if (command.files) out += seen + " -F\n";
    for (const std::string& flag : command.flags) out += fmt::format("{} -l {}\n", seen, flag.substr(2));
    for (const std::string& option : command.valued) {
      std::string taken = " -x";
      for (const Values& value : values)
        if (value.option == option) taken = fmt::format("{} -a '{}'", value.files ? " -r -F" : " -x", value.words);
      out += fmt::format("{} -l {}{}\n", seen, option.substr(2), taken);
    }
  }
  return out;
}

}  // namespace

void add_completion(CLI::App& app, Runner& runner) {
  const auto shell = std::make_shared<std::string>();
  CLI::App& sub = *app.add_subcommand("completion", "Shell completion script (bash, zsh, fish)");
  sub.add_option("SHELL", *shell, "bash zsh fish")->option_text(" ");
  sub.footer("Example: source <(fabricost completion bash)");
  runner.add(sub, [shell, &app](const Terminal&) {
    if (shell->empty()) throw RequestError("which shell? One of: " + joined(shells));
    const std::string systems = system_words();
    const std::vector<Command> commands = commands_of(app, systems);
    const std::vector<Values> values = values_of(systems);
    const std::string wanted = fabricost::core::folded(*shell);
    if (wanted == "bash") return bash_script(commands, values);
    if (wanted == "zsh") return zsh_script(commands, values);
    if (wanted == "fish") return fish_script(commands, values);
    throw RequestError(unknown_text(*shell, "a shell we know", shells));
  });
}

}  // namespace fabricost::cli
