/// \file typed.cpp
/// Names of operations; numbers written back.

#include "faces/typed.hpp"

#include "text/short_text.hpp"

#include <fabricost/answers/moe.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace fabricost {

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Collective& out) {
  const auto found = worded<Collective>(text);
  if (const auto phase = worded<MoePhase>(text))
    throw RequestError(fmt::format("{} is answered by fabricost predict and fabricost explain alone",
                                   moe_operation_names[static_cast<std::size_t>(*phase)]));
  if (!found)
    throw RequestError((option.starts_with("-") ? std::string{option} + ": " : "") +
                       unknown_text(text, "an operation", faces::operation_names()));
  out = *found;
}

}  // namespace fabricost

namespace fabricost::faces {

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

std::vector<std::string> operation_names() {
  std::vector<std::string> out{collective_names.begin(), collective_names.end()};
  out.insert(out.end(), moe_operation_names.begin() + 1, moe_operation_names.end());  // prepare, the first, belongs to one kernel only
  return out;
}

}  // namespace fabricost::faces
