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

int whole_of(const std::string& text, std::string_view option, const Range& range) {
  const int min = static_cast<int>(range.min), max = static_cast<int>(range.max);
  if (range.max < any_count.max) return whole_number_from(text, option, min, max);  // the message then names both bounds
  return count_of(text, option, min, max);
}

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Collective& out) {
  const auto found = worded<Collective>(text);
  if (const auto phase = worded<MoePhase>(text))
    throw RequestError(fmt::format("{} is answered by fabricost predict and fabricost explain alone",
                                   moe_operation_names[static_cast<std::size_t>(*phase)]));
  if (!found) throw_unknown(text, "an operation", operation_names(), option.starts_with("-") ? option : "");
  out = *found;
}

std::vector<std::string> operation_names() {
  std::vector<std::string> out = listed(collective_names);
  out.insert(out.end(), moe_operation_names.begin() + 1, moe_operation_names.end());  // prepare, the first, belongs to one kernel only
  return out;
}

namespace {
[[nodiscard]] std::string_view what(Amount amount) {
  switch (amount) {
    case Amount::share: return "a share";
    case Amount::seconds: return "a time";
    case Amount::size:
    case Amount::size_or_unbounded: return "a size";
    default: return "a number";
  }
}
[[nodiscard]] double gibibytes_of(const std::string& text, std::string_view option, const Range& range) {
  const double min = range.min / gibibyte, max = range.max / gibibyte;
  const auto number = io::parse_number(text);
  if (!number || !(*number >= min && *number <= max))
    throw RequestError(fmt::format("{} {}: write GiB of each GPU, from {:.0f} to {:.0f}", option, text.substr(0, 40), min, max));
  return *number * gibibyte;
}
}  // namespace

double amount_of(const std::string& text, std::string_view option, Amount amount, const Range& range) {
  const double value = [&] {
    switch (amount) {
      case Amount::number: return number_from(text, option, range.min, range.max);
      case Amount::count: return static_cast<double>(whole_of(text, option, range));
      case Amount::large_count: return large_count_of(text, option);
      case Amount::seconds: return duration_of(text, option);
      case Amount::share: return share_of(text, option);
      case Amount::bytes_per_second: return storage_rate_of(text, option);
      case Amount::one_way_rate: return one_way_rate_of(text, option);
      case Amount::size: return size_of(text, option).value();
      case Amount::size_or_unbounded: return text == "unbounded" ? std::numeric_limits<double>::infinity() : size_of(text, option).value();
      case Amount::gibibytes: return gibibytes_of(text, option, range);
    }
    return std::nan("");
  }();
  if (range.above && value == range.min)
    throw RequestError(fmt::format("{}: give {} above {:g}{}", option, what(amount), range.min,
                                   amount == Amount::size_or_unbounded ? ", or unbounded" : ""));
  if (!range.holds(value)) throw RequestError(fmt::format("{}: {} is not from {:g} to {:g}", option, text, range.min, range.max));
  return value;
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
