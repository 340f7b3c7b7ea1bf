#pragma once
/// \file typed.hpp
/// Values of a request's fields as people write them, in the command and in the page: 256MiB, 30s, 1:64:x2, dgx-h100. Parameters called
/// `option` name the field in messages, as its face spells it.

#include "faces/amounts.hpp"
#include "faces/counts.hpp"
#include "faces/names.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/experts/routing.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/fields/samples.hpp>

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fabricost::faces {

/// Parses a whole number within the range. \throws RequestError
[[nodiscard]] int whole_of(const std::string& text, std::string_view option, const Range& range);
/// Names of OP, with those of expert exchange.
[[nodiscard]] std::vector<std::string> operation_names();
/// Parses a number in the notation of its amount, within the range. \throws RequestError
[[nodiscard]] double amount_of(const std::string& text, std::string_view option, Amount amount, const Range& range);

/// "18.5ms" for 0.0185 seconds: a number in the notation of its amount; other values are unchanged.
[[nodiscard]] std::string as_typed(std::string_view value, Amount amount);

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;

/// Parses "balanced", "uniform", "zipf:1.2" or "histogram:FILE". The file has one count per expert in order,
/// separated by blanks, commas or lines; lines that start with # are comments. \throws RequestError naming
/// the option; SpecError with line and column for the file
[[nodiscard]] Routing routing_typed(const std::string& text, std::string_view option);

/// Parses one value. Overloaded for the types of requests; types of a single question are overloaded in its
/// own file, in namespace fabricost.
template <class E>
requires std::is_enum_v<E>
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, E& out) {
  const auto found = worded<E>(text);
  if (!found) throw RequestError(fmt::format("{}{}{}", option, option.empty() ? "" : ": ", unknown_value<E>(text)));
  out = *found;
}
/// The positional argument OP.
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Collective& out);
/// yes or no, for an option whose absence has a third meaning.
inline void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, bool& out) {
  constexpr std::array<std::string_view, 2> no_yes{"no", "yes"};
  out = *one_of<unsigned char>(text, no_yes, "an answer", option) == 1;
}
inline void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Counts& out) {
  out.values = counts_of(text, option);
}
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, std::filesystem::path& out) { out = text; }
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, std::string& out) { out = text; }
inline void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Inference& out) {
  out = engine_named(text, option);
}
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, Machine& out) { out.name = text; }
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, Sample& out) { out.file = text; }
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, NamedModel& out) { out.name = text; }
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, NamedStack& out) { out.name = text; }
inline void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Routing& out) {
  out = routing_typed(text, option);
}
inline void from_text(const std::string& text, std::string_view option, const Amount&, const Range& range, int& out) {
  out = whole_of(text, option, range);
}
inline void from_text(const std::string& text, std::string_view option, const Amount& amount, const Range& range, double& out) {
  out = amount_of(text, option, amount, range);
}
/// "64B:64KiB:x2"
inline void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, std::vector<double>& out) {
  for (const Bytes& size : sizes_of(text, option)) out.push_back(size.value());
}
template <class T>
void from_text(const std::string& text, std::string_view option, const Amount& amount, const Range& range, std::optional<T>& out) {
  from_text(text, option, amount, range, out.emplace());
}

}  // namespace fabricost::faces
