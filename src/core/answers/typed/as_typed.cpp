/// \file as_typed.cpp
/// Numbers written back as people type them.

#include "answers/typed/as_typed.hpp"

#include "text/amounts.hpp"
#include "text/short_text.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace fabricost::core {

std::string as_typed(std::string_view value, Amount amount) {
  double number = 0;
  const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (fault != std::errc{} || end != value.data() + value.size()) return std::string{value};
  std::string out = amount == Amount::seconds ? number < 60 ? short_time_text(number) : duration_text(number)
                    : amount == Amount::size ? size_text(Bytes::from_value(number))
                    : amount == Amount::one_way_rate || amount == Amount::bytes_per_second
                        ? fmt::format("\"{}\"", rate_text(Bandwidth::from_value(number)))
                        : std::string{value};
  if (out.front() != '"') std::erase(out, ' ');
  return out;
}

}  // namespace fabricost::core
