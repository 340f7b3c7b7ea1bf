/// \file dials.cpp
/// Reads and turns the dials among a machine's overrides.

#include "specs/parts/dials.hpp"

#include "specs/near_or_all.hpp"
#include "text/amounts.hpp"

#include <fabricost/collective.hpp>
#include <fabricost/refusal.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::io {

double dial_value(Dial dial, const std::string& text, std::string_view named) {
  constexpr double most = 1e6;
  switch (dial) {
    case Dial::nic_bandwidth:
    case Dial::scale_up_bandwidth: return one_way_rate_of(text, named);
    case Dial::hbm_bandwidth: return storage_rate_of(text, named);
    case Dial::hbm_size: return size_of(text, named).value();
    case Dial::arithmetic: return number_from(text, named, 1 / most, most);
    case Dial::nic_count:
    case Dial::domain: return whole_number_from(text, named, 1, static_cast<int>(most));
  }
  return 0;
}

std::vector<std::pair<Dial, double>> take_dials(std::vector<std::pair<std::string, std::string>>& overrides) {
  constexpr std::string_view prefix = "dial.";
  std::vector<std::pair<Dial, double>> out;
  for (const auto& [path, value] : overrides) {
    if (!path.starts_with(prefix)) continue;
    const auto found = fabricost::detail::parse_enum<Dial>(path.substr(prefix.size()), dial_names);
    if (!found)
      throw Refusal(
          fmt::format("<overrides> {}: no such dial; {}", path, near_or_all(std::string_view{path}.substr(prefix.size()), dial_names)));
    std::string_view amount = value;
    while (amount.starts_with(' ')) amount.remove_prefix(1);
    out.emplace_back(*found, dial_value(*found, std::string{amount}, path));
  }
  std::erase_if(overrides, [&](const auto& one) { return one.first.starts_with(prefix); });
  return out;
}

void turn(System& system, const std::vector<std::pair<Dial, double>>& dials, Altered& altered) {
  for (const auto& [dial, value] : dials) {
    system = turned(std::move(system), dial, value);
    (dial == Dial::nic_bandwidth || dial == Dial::nic_count ? altered.outside : altered.inside) = true;
    if (dial == Dial::domain) altered.outside = true;
  }
}

}  // namespace fabricost::io
