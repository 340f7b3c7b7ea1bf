/// \file layout_words.cpp
/// A collective of a layout as a planner says it. Every word that is not known is refused with those that are.

#include "layout_words.hpp"

#include "names.hpp"
#include "question.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

namespace fabricost::cli {
namespace {

constexpr std::string_view form = "OP SIZE [over AXIS|COUNT] [every STRIDE] [by ALGORITHM] [under PROTOCOL] [in TYPE] [weight W]";

[[nodiscard]] std::vector<std::string> words_of(const std::string& text) {
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

[[nodiscard]] std::vector<std::string> names_of(const std::vector<Axis>& layout) {
  std::vector<std::string> out;
  for (const Axis& axis : layout) out.push_back(axis.name);
  return out;
}

void take_group(GroupedCollective& out, const std::string& text, const std::vector<Axis>& layout) {
  const auto axis = std::find_if(layout.begin(), layout.end(), [&](const Axis& a) { return a.name == text; });
  if (axis != layout.end()) {
    out.size = axis->size;
    out.stride = axis->stride;
  } else if (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    out.size = count_of(text, "over");
  } else if (text != "all") {
    if (layout.empty())
      throw RequestError(
          fmt::format("over \"{}\": no axis of that name; name the axes with --layout, as in --layout tp=8,dp, or give a count", text));
    throw_unknown(text, "an axis of the layout", names_of(layout));
  }
}

}  // namespace

std::vector<Axis> parse_layout(const std::string& text, int gpus) {
  std::vector<Axis> out;
  if (text.empty()) return out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    const std::size_t equals = one.find('=');
    Axis axis{.name = one.substr(0, equals), .size = 0};
    if (axis.name.empty()) throw RequestError(fmt::format("--layout: \"{}\" misses a name; write it as in tp=8,pp=4,dp", text));
    if (equals != std::string::npos) {
      if (equals + 1 == one.size()) throw RequestError(fmt::format("--layout: {} misses its size; write {}=8", axis.name, axis.name));
      axis.size = count_of(one.substr(equals + 1), fmt::format("--layout {}", axis.name));
    }
    out.push_back(axis);
    at = end + 1;
  }
  return sized_axes(std::move(out), gpus, "--layout " + text);
}

GroupedCollective parse_grouped(const std::string& text, const std::vector<Axis>& layout) {
  const std::vector<std::string> words = words_of(text);
  const auto fault = [&](const std::string& what) { throw RequestError(fmt::format("--of \"{}\": {}", text, what)); };
  if (words.size() < 2) fault(fmt::format("an operation and a size are needed: {}", form));
  GroupedCollective out;
  try {
    const auto collective = parse_collective(words[0]);
    if (!collective) throw_unknown(words[0], "an operation", listed(collective_names));
    out.operation.collective = *collective;
    out.operation.bytes = parse_size(words[1]);
    constexpr std::array<std::string_view, 6> known{"over", "every", "by", "under", "in", "weight"};
    for (std::size_t i = 2; i < words.size(); i += 2) {
      const std::string& word = words[i];
      if (std::find(known.begin(), known.end(), word) == known.end()) throw_unknown(word, "a word known here", listed(known));
      if (i + 1 == words.size()) throw RequestError(fmt::format("\"{}\" misses what it is followed by: {}", word, form));
      const std::string& value = words[i + 1];
      if (word == "over") {
        take_group(out, value, layout);
      } else if (word == "every") {
        out.stride = count_of(value, "every");
      } else if (word == "weight") {
        out.weight = weight_of(value);
      } else if (word == "in") {
        out.operation.dtype = data_type_of(value, {});
      } else if (word == "by") {
        out.choice.algorithm = parse_algorithm(value);
        if (!out.choice.algorithm) throw_unknown(value, "an algorithm", listed(algorithm_names));
      } else {
        out.choice.protocol = parse_protocol(value);
        if (!out.choice.protocol) throw_unknown(value, "a protocol", listed(protocol_names));
      }
    }
  } catch (const RequestError& e) {
    fault(e.what());
  }
  out.name = fmt::format("{} {}", name(out.operation.collective), size_text(out.operation.bytes));
  for (std::size_t i = 2; i + 1 < words.size(); i += 2)
    if (words[i] == "over" || words[i] == "every") out.name += fmt::format(" {} {}", words[i], words[i + 1]);
  return out;
}

}  // namespace fabricost::cli
