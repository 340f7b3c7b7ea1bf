#pragma once
/// Quantities in specs: a number, a unit, and for a link a direction. Each function returns the value in
/// coherent units, or the fault and its remedy.

#include <fabricost/namespaces.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace fabricost::core {

struct QuantityFault {
  std::string message;
  std::string remedy;
};
using ParsedQuantity = std::variant<double, QuantityFault>;

enum class QuantityKind {
  link_rate,
  line_rate,
  memory_rate,
  size,
  time,
  flop_rate,
  clock,
  power,
  money,
  rent,
  fraction,
  ratio,
  count,
  number
};

/// \return bytes/s in one direction, line bits/s, bytes, seconds, flop/s, Hz, W, USD, USD/s or a plain number
[[nodiscard]] ParsedQuantity parse_quantity(std::string_view text, QuantityKind kind);

/// Bytes of a unit of sizes: 1048576 of "MiB"; nothing for another text.
[[nodiscard]] std::optional<double> size_unit(std::string_view name);

/// A number with a decimal point at the start of a text, in any locale; the trimmed rest is left in `rest`.
/// NaN if there is none.
[[nodiscard]] double leading_number(std::string_view text, std::string_view& rest);

}  // namespace fabricost::core
