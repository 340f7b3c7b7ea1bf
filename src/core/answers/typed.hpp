#pragma once
/// Numbers and words from their typed text, "64", "10min", "200 Gbit/s", "2,4,8", and back. The caller states how messages name the
/// field: an option of the command, or <name>. Private.

#include "text/amounts.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/experts/routing.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/namespaces.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

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

/// "8", "2,4,8", "1:2048:x2" (each twice the previous one), "1:16:+1", or several of these separated by
/// commas; none for "".
/// \throws RequestError naming the option and a valid value
[[nodiscard]] std::vector<int> counts_of(const std::string& text, std::string_view option);

/// "18.5ms" for 0.0185 seconds: a number in the notation of its amount; other values are unchanged.
[[nodiscard]] std::string as_typed(std::string_view value, Amount amount);

}  // namespace fabricost::core
