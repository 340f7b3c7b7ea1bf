/// Options of fields, and the printed answers.

#include "cli/command_words.hpp"
#include "cli/question_command.hpp"
#include "text/write_file.hpp"

#include <fabricost/fields/json.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>

namespace fabricost::cli {

std::string_view long_name(std::string_view option) { return option.substr(0, option.find(',')); }

namespace {
[[nodiscard]] bool is_flag(const Field& field) { return field.type->kind == ValueKind::flag; }
[[nodiscard]] bool is_list(const Field& field) { return field.type->kind == ValueKind::list; }
}  // namespace

std::string as_option(Fields fields, std::string_view name, std::string_view value) {
  for (const Field& field : fields)
    if (field.name == name && !field.option.empty())
      return std::string{long_name(field.option)} + (value.empty() || is_flag(field) ? "" : " " + as_typed(value, field.amount));
  return name == "overrides" ? option_text(name, value) : std::string{name};  // Python has them inside of its System
}

bool Typed::given(std::string_view option) const {
  if (const auto text = texts.find(option); text != texts.end()) return !text->second.empty();
  if (const auto flag = flags.find(option); flag != flags.end()) return flag->second;
  const auto list = lists.find(option);
  return list != lists.end() && !list->second.empty();
}

std::string_view given_beyond(const Typed& typed, Fields fields, Fields others) {
  for (const Field& field : fields) {
    const auto same = [&](const Field& other) { return other.option == field.option; };
    if (!field.option.empty() && typed.given(field.option) && std::none_of(others.begin(), others.end(), same))
      return long_name(field.option);
  }
  return {};
}

std::string_view namesake_of(std::string_view option, Fields fields) {
  if (!option.starts_with("--")) return {};
  const std::string_view end = option.substr(1);  // "-batch"
  for (const Field& field : fields)
    if (const std::string_view name = long_name(field.option); name.size() > option.size() && name.ends_with(end)) return name;
  return {};
}

void OptionRows::add(Fields fields, std::string_view question) {
  const auto spell = [&](std::string_view name, std::string_view value) { return as_option(fields, name, value); };
  for (const Field& field : fields) {
    if (field.option.empty()) continue;
    auto at = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.option == field.option; });
    if (at == rows_.end())
      at = rows_.insert(at, Row{field.option, field.kind, is_flag(field), is_list(field), is_type<OutputPath>(*field.type), {}});
    at->words.emplace_back(question, with_fields(field.words, spell));
  }
}

namespace {
/// "storage: all of the weights; incast: of each sender"; words that several questions share appear once.
[[nodiscard]] std::string whose(const std::vector<std::pair<std::string_view, std::string>>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto [question, text] = words[i];
    out += fmt::format("{}{}", i == 0 ? "" : text == words[i - 1].second ? ", " : "; ", question);
    if (i + 1 < words.size() && words[i + 1].second == text) continue;
    if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0)
      text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    out += ": " + text;
  }
  return out;
}
}  // namespace

void OptionRows::add_to(CLI::App& sub, Typed& typed, std::size_t questions, const std::string& group) {
  const auto common = [questions](const Row& row) { return row.words.size() == questions; };
  const auto particular = std::find_if_not(rows_.begin(), rows_.end(), common);
  std::stable_partition(particular, rows_.end(), [&](const Row& row) { return !common(row); });
  for (const Row& row : rows_) {
    const std::string option{row.option}, words = common(row) ? row.words.front().second : whose(row.words);
    const bool by_place = option.front() != '-';
    if (sub.get_option_no_throw(std::string{long_name(option)}) != nullptr) continue;
    std::string names = option.starts_with("SYSTEM") ? "-s,--system," + option : option;  // as every other command spells machines
    const auto has = [&](std::string_view name) {
      return std::any_of(rows_.begin(), rows_.end(), [&](const Row& one) { return long_name(one.option) == name; });
    };
    for (const auto& [name, alike] : {std::pair{"--ranks", "--gpus"}, {"--output", "--out"}, {"--size", "--bytes"}})
      if (long_name(option) == name && !has(alike)) names += fmt::format(",{}", alike);
    CLI::Option* added = row.flag   ? sub.add_flag(names, typed.flags[row.option], words)
                         : row.list ? sub.add_option(names, typed.lists[row.option], words)
                                    : sub.add_option(names, typed.texts[row.option], words);
    if (row.output) Runner::output(*added);
    if (!row.flag) added->option_text(std::string{row.kind});
    if (row.list) added->allow_extra_args(by_place || row.kind.ends_with("..."));
    if (!group.empty()) added->group(group);
  }
}

void OptionRows::refuse_others(const Typed& typed, std::string_view command, std::string_view question) const {
  const auto takes = [&](const Row& row) {
    return std::any_of(row.words.begin(), row.words.end(), [&](const auto& words) { return words.first == question; });
  };
  for (const Row& row : rows_) {
    if (takes(row)) continue;
    const bool given = typed.given(row.option);
    if (!given) continue;
    std::vector<std::string> others;
    for (const auto& [other, words] : row.words) others.emplace_back(other);
    const auto near = std::find_if(rows_.begin(), rows_.end(), [&](const Row& one) {
      return takes(one) && long_name(one.option).starts_with(long_name(row.option));  // --sizes for --size
    });
    throw RequestError(fmt::format("{} belongs to {} {}; {}", long_name(row.option), command, joined(others, " and "),
                                   near == rows_.end() ? "leave it out" : fmt::format("did you mean {}?", long_name(near->option))));
  }
}

void add_options(CLI::App& sub, Typed& typed, Fields fields, const std::string& group) {
  OptionRows rows;
  rows.add(fields);
  rows.add_to(sub, typed, 1, group);
}

void put_typed(const Typed& typed, Fields fields, void* request) {
  for (const Field& field : fields) {
    if (field.option.empty() || !typed.given(field.option)) continue;
    void* const value = field.in(request);
    if (is_flag(field)) {
      field.type->set_number(value, 1 - field.type->number(value));
    } else if (is_list(field)) {
      for (const std::string& text : typed.lists.at(field.option))
        parse_value(*field.type->inner, text, long_name(field.option), field.amount, field.range, field.type->add(value));
    } else {
      parse_value(*field.type, typed.texts.at(field.option), long_name(field.option), field.amount, field.range, value);
    }
  }
}

void write_output(const OutputPath& to, const std::string& text, std::string_view option) { write_file(to.path, text, option); }

Refusal spelled(const Refusal& refusal, Fields fields) {
  return Refusal(with_fields(refusal.text(), [&](std::string_view name, std::string_view value) { return as_option(fields, name, value); }),
                 refusal.missing());
}

namespace {

/// Raised by a change after which a program that read the JSON before no longer can.
constexpr int json_schema = 1;

}  // namespace

std::string json_text(const ValueType& type, const void* value) {
  const nlohmann::ordered_json answer = json_parts::json_value(type, value);
  nlohmann::ordered_json out{{"schema", json_schema}, {"question", line_of(typed_words())}};
  if (answer.is_object())
    out.update(answer);
  else
    out["rows"] = answer;
  return printed(out);
}

void add_command(CLI::App& app, Runner& runner, const char* name, const char* words, const char* footer, Fields fields,
                 std::function<std::string(const GivenOptions&, const Terminal&)> job, const char* json_words,
                 const std::function<void(CLI::App&, GivenOptions&)>& more) {
  const auto o = std::make_shared<GivenOptions>();
  CLI::App& sub = *app.add_subcommand(name, words);
  add_options(sub, o->typed, fields);
  if (more) more(sub, *o);
  sub.add_flag("--json", o->json, json_words);
  sub.footer(footer);
  runner.add(sub, [o, job = std::move(job)](const Terminal& terminal) { return job(*o, terminal); });
}

void add_file_option(CLI::App& sub, Typed& typed, std::string_view option, const char* words) {
  Runner::output(*sub.add_option(std::string{option}, typed.texts[option], words)->option_text("FILE"));
}

void add_questions(CLI::App& app, Runner& runner, const char* name, const char* words, const char* what, const char* footer,
                   std::vector<Question> questions) {
  struct Options {
    std::string what;
    OptionRows rows;
    Typed typed;
    bool json = false;
  };
  const auto o = std::make_shared<Options>();
  CLI::App& sub = *app.add_subcommand(name, words);
  sub.add_option("WHAT", o->what, what)->option_text(" ");
  for (const Question& one : questions) o->rows.add(one.fields, one.word);
  o->rows.add_to(sub, o->typed, questions.size());
  sub.add_flag("--json", o->json, "Print JSON");
  sub.footer(footer);
  runner.add(sub, [o, name, questions = std::move(questions)](const Terminal& terminal) {
    std::vector<std::string> known;
    for (const Question& one : questions) known.emplace_back(one.word);
    if (o->what.empty()) throw RequestError(fmt::format("{} of what? One of: {}", name, joined(known)));
    for (const Question& one : questions) {
      if (folded(o->what) != one.word) continue;
      o->rows.refuse_others(o->typed, name, one.word);
      return one.output(o->typed, o->json, terminal);
    }
    throw RequestError(unknown_text(o->what, fmt::format("a {}", name), known));
  });
}

}  // namespace fabricost::cli
