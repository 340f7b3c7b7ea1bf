/// \file face.cpp
/// Parses numbers of options and places keys in JSON.

#include "cli/face.hpp"

#include "text/csv.hpp"
#include "text/short_text.hpp"
#include "text/units.hpp"

#include <fabricost/answers/moe.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace fabricost {

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Collective& out) {
  const auto found = worded<Collective>(text);
  if (const auto phase = worded<MoePhase>(text))
    throw RequestError(fmt::format("{} is answered by fabricost predict and fabricost explain alone",
                                   moe_operation_names[static_cast<std::size_t>(*phase)]));
  if (!found) cli::throw_unknown(text, "an operation", cli::operation_names(), option.starts_with("-") ? option : "");
  out = *found;
}

}  // namespace fabricost

namespace fabricost::cli {

std::string_view long_name(std::string_view option) { return option.substr(0, option.find(',')); }

std::string as_typed(std::string_view value, Amount amount) {
  double number = 0;
  const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (fault != std::errc{} || end != value.data() + value.size()) return std::string{value};
  std::string out = amount == Amount::seconds ? number < 60 ? io::short_time_text(number) : duration_text(number)
                    : amount == Amount::size ? size_text(Bytes::from_value(number))
                    : amount == Amount::one_way_rate || amount == Amount::bytes_per_second
                        ? fmt::format("\"{}\"", rate_text(Bandwidth::from_value(number)))
                        : std::string{value};
  if (out.front() != '"') std::erase(out, ' ');
  return out;
}

std::string as_option(const std::vector<OptionField>& fields, std::string_view name, std::string_view value) {
  for (const OptionField& field : fields)
    if (field.name == name && !field.option.empty())
      return std::string{long_name(field.option)} + (value.empty() || field.flag ? "" : " " + as_typed(value, field.amount));
  return name == "overrides" ? option_text(name, value) : std::string{name};  // Python has them inside of its System
}

std::vector<std::string> operation_names() {
  std::vector<std::string> out = listed(collective_names);
  out.insert(out.end(), moe_operation_names.begin() + 1, moe_operation_names.end());  // prepare, the first, belongs to one kernel only
  return out;
}

bool Typed::given(std::string_view option) const {
  if (const auto text = texts.find(option); text != texts.end()) return !text->second.empty();
  if (const auto flag = flags.find(option); flag != flags.end()) return flag->second;
  const auto list = lists.find(option);
  return list != lists.end() && !list->second.empty();
}

std::string_view given_beyond(const Typed& typed, const std::vector<OptionField>& fields, const std::vector<OptionField>& others) {
  for (const OptionField& field : fields) {
    const auto same = [&](const OptionField& other) { return other.option == field.option; };
    if (!field.option.empty() && typed.given(field.option) && std::none_of(others.begin(), others.end(), same))
      return long_name(field.option);
  }
  return {};
}

bool json_parts::is_printed(const Json& into, std::string_view path, bool left_out, bool beside) {
  return !path.empty() && !left_out && (!beside || into.contains(std::string{path.substr(0, path.find('.'))}));
}

void json_parts::put(Json& into, std::string_view path, Json value) {
  const std::size_t dot = path.find('.');
  const bool list = dot == std::string_view::npos && path.ends_with("[]");
  Json& at = into[std::string{list ? path.substr(0, path.size() - 2) : path.substr(0, dot)}];
  if (dot != std::string_view::npos)
    put(at, path.substr(dot + 1), std::move(value));
  else if (list)
    at.push_back(std::move(value));
  else if (at.is_object() && value.is_object())
    at.update(value);
  else
    at = std::move(value);
}

void OptionRows::add(const std::vector<OptionField>& fields, std::string_view question) {
  const auto spell = [&](std::string_view name, std::string_view value) { return as_option(fields, name, value); };
  for (const OptionField& field : fields) {
    if (field.option.empty()) continue;
    auto at = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.option == field.option; });
    if (at == rows_.end()) at = rows_.insert(at, Row{field.option, field.kind, field.flag, field.list, {}});
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
    CLI::Option* added = row.flag   ? sub.add_flag(option, typed.flags[row.option], words)
                         : row.list ? sub.add_option(option, typed.lists[row.option], words)
                                    : sub.add_option(option, typed.texts[row.option], words);
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

}  // namespace fabricost::cli
