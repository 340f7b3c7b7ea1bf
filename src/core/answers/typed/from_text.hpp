#pragma once
/// \file from_text.hpp
/// A field's value from its typed text: "fp8", "64", "10min", "200 Gbit/s", "2,4,8". The caller states how messages name the
/// field: an option of the command, or <name>. Private.

#include "answers/typed/counts.hpp"
#include "text/amounts.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/experts/routing.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/fields/samples.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fabricost {

/// Parses a whole number within the range. \throws RequestError
[[nodiscard]] int whole_of(const std::string& text, std::string_view option, const Range& range);
/// Parses a whole number in the notation of its amount, within the range. \throws RequestError
[[nodiscard]] int whole_of(const std::string& text, std::string_view option, Amount amount, const Range& range);
/// Parses a number in the notation of its amount, within the range. \throws RequestError
[[nodiscard]] double amount_of(const std::string& text, std::string_view option, Amount amount, const Range& range);

/// Parses "balanced", "uniform", "zipf:1.2" or "histogram:FILE". The file has one count per expert in order,
/// separated by blanks, commas or lines; lines that start with # are comments. \throws RequestError naming
/// the option; SpecError with line and column for the file
[[nodiscard]] Routing routing_typed(const std::string& text, std::string_view option);

/// Parses one value of a field. Overloaded for the types of requests; types of a single question are overloaded in its own file.
template <class E>
requires std::is_enum_v<E>
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, E& out) {
  const auto found = worded<E>(text);
  if (!found) throw RequestError(fmt::format("{}{}{}", option, option.empty() ? "" : ": ", unknown_value<E>(text)));
  out = *found;
}
/// yes or no, for an option whose absence has a third meaning.
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, bool& out);
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
inline void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Routing& out) {
  out = routing_typed(text, option);
}
inline void from_text(const std::string& text, std::string_view option, const Amount& amount, const Range& range, int& out) {
  out = whole_of(text, option, amount, range);
}
inline void from_text(const std::string& text, std::string_view option, const Amount& amount, const Range& range, double& out) {
  out = amount_of(text, option, amount, range);
}
template <class Q>
requires is_quantity<Q>
void from_text(const std::string& text, std::string_view option, const Amount& amount, const Range& range, Q& out) {
  out = Q::from_value(amount_of(text, option, amount, range));
}
/// "64B:64KiB:x2"
inline void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, std::vector<Bytes>& out) {
  out = io::sizes_of(text, option);
}
template <class T>
void from_text(const std::string& text, std::string_view option, const Amount& amount, const Range& range, std::optional<T>& out) {
  from_text(text, option, amount, range, out.emplace());
}

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;

}  // namespace fabricost
