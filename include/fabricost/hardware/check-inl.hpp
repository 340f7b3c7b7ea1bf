#pragma once
/// Bodies of check.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/hardware/check.hpp>

namespace fabricost::core::detail {

FABRICOST_BODY bool widths_in_range(const IntervalWidths& widths) {
  constexpr std::size_t count = interval_widths.size() + general_widths.size();
  static_assert(sizeof(IntervalWidths) == count * sizeof(double), "a width was added: give it a row in data/priors/intervals.yaml");
  const double* const values = reinterpret_cast<const double*>(&widths);
  std::uint64_t outside = 0;
  for (std::size_t i = 0; i < count; ++i)
    outside |= static_cast<std::uint64_t>(!(values[i] >= width_bounds.min)) | static_cast<std::uint64_t>(!(values[i] <= width_bounds.max));
  return outside == 0;
}

FABRICOST_BODY std::string field_number(double value) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

FABRICOST_BODY std::string field_out_of_range(const System& s, const std::string& field, double value, double min, double max) {
  std::string out = (s.name.empty() ? std::string{"a System without a name"} : s.name) + ": " + field + " is " + field_number(value);
  return out + (min == max ? ", it must be " + field_number(min) : ", outside " + field_number(min) + " to " + field_number(max));
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY void check_parts(const System& s, const CheckedParts& parts) {
  detail::InRange all;
  detail::visit_machine(s, all);
  if (parts.gpu) detail::visit_gpu(s, all);
  bool fine = all.fine & detail::widths_in_range(s.constants.interval);
  detail::visit_constants(s.constants, parts,
                  [&fine](const auto& block, const auto&, const auto& bounds) { fine = fine & detail::in_range(block, bounds); });
  if (!fine || s.domain % s.gpus_per_node != 0) [[unlikely]]
    detail::refuse_machine(s, parts);
}

}  // namespace fabricost::core
