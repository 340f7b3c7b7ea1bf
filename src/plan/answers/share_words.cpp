/// Parses collectives and layouts as a planner writes them. An unknown word is refused with the valid ones.

#include "text/amounts.hpp"

#include <fabricost/plan/answers/share.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

namespace fabricost::plan {
namespace {

constexpr std::string_view form = "OP SIZE [over AXIS|COUNT] [every STRIDE] [by ALGORITHM] [under PROTOCOL] [in TYPE] [weight W]";

[[nodiscard]] std::vector<std::string> words_in(const std::string& text) {
  std::istringstream in{text};
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

[[nodiscard]] double weight_of(const std::string& text) {
  double out = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (fault != std::errc{} || end != text.data() + text.size() || !(out > 0) || !(out < 1e6))
    throw RequestError(fmt::format("weight \"{}\" is not a number above zero, as in weight 2", text));
  return out;
}

[[nodiscard]] Over over_of(const std::string& text) {
  if (text == "all") return {};
  const bool counts = text.front() >= '0' && text.front() <= '9';
  return {.axis = text, .size = counts ? count_of(text, "over") : 0};
}

template <class E>
[[nodiscard]] E one_of(const std::string& text) {
  const auto found = worded<E>(text);
  if (!found) throw RequestError(unknown_value<E>(text));
  return *found;
}

}  // namespace

LayoutAxes layout_from(const std::string& text, std::string_view named) {
  LayoutAxes out;
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    const std::size_t equals = one.find('=');
    Axis axis{.name = one.substr(0, equals), .size = 0};
    if (axis.name.empty()) throw RequestError(fmt::format("{}: \"{}\" misses a name; write it as in tp=8,pp=4,dp", named, text));
    if (equals != std::string::npos) {
      if (equals + 1 == one.size()) throw RequestError(fmt::format("{}: {} misses its size; write {}=8", named, axis.name, axis.name));
      axis.size = count_of(one.substr(equals + 1), fmt::format("{} {}", named, axis.name));
    }
    out.axes.push_back(axis);
    at = end + 1;
  }
  return out;
}

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, LayoutAxes& out) {
  out = layout_from(text, option);
}

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, GroupedRequest& out) {
  try {
    out = grouped_from(text);
  } catch (const RequestError& e) {
    throw RequestError(fmt::format("{} \"{}\": {}", option, text, e.what()));
  }
}

GroupedRequest grouped_from(const std::string& text) {
  const std::vector<std::string> words = words_in(text);
  if (words.size() < 2) throw RequestError(fmt::format("an operation and a size are needed: {}", form));
  GroupedRequest out;
  out.written = text;
  out.operation.collective = one_of<Collective>(words[0]);
  out.operation.bytes = parse_size(words[1]);
  out.name = fmt::format("{} {}", name(out.operation.collective), size_text(out.operation.bytes));
  constexpr std::array<std::string_view, 6> known{"over", "every", "by", "under", "in", "weight"};
  for (std::size_t i = 2; i < words.size(); i += 2) {
    const std::string& word = words[i];
    if (std::find(known.begin(), known.end(), word) == known.end()) throw RequestError(unknown_text(word, "a word known here", known));
    if (i + 1 == words.size()) throw RequestError(fmt::format("\"{}\" misses what it is followed by: {}", word, form));
    const std::string& value = words[i + 1];
    if (word == "over")
      out.over = over_of(value);
    else if (word == "every")
      out.every = count_of(value, "every");
    else if (word == "weight")
      out.weight = weight_of(value);
    else if (word == "in")
      out.operation.dtype = one_of<DataType>(value);
    else if (word == "by")
      out.algorithm = one_of<Algorithm>(value);
    else
      out.protocol = one_of<Protocol>(value);
    if (word == "over" || word == "every") out.name += fmt::format(" {} {}", word, value);
  }
  return out;
}

}  // namespace fabricost::plan
