/// Writes calibration files: constants with their units, the uncertainty of each, and the residuals.

#include "text/joined.hpp"
#include "text/yaml_text.hpp"

#include <fabricost/calibrate/calibrate.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::core {

namespace {

constexpr double gigabyte = 1e9;

std::string rate(double bytes_per_second) { return fmt::format("{:.6g} GB/s per direction", bytes_per_second / gigabyte); }
std::string size(double bytes) {
  if (bytes < kibibyte) return fmt::format("{:.10g} B", bytes);
  if (bytes < mebibyte) return fmt::format("{:.10g} KiB", bytes / kibibyte);
  return fmt::format("{:.6g} MiB", bytes / mebibyte);
}

std::string written(const Parameter& p, const CalibratedSet& set, const Constants& constants) {
  const double value = p.value(constants);
  switch (p.measure()) {
    case Measure::time: return fmt::format("{:.6g} us", value / microsecond);
    case Measure::share: return rate(value * set.bandwidth.value());
    case Measure::size: return size(value);
    case Measure::number: break;
  }
  return fmt::format("{:.6g}", value);
}

/// The items of a list, each a plain word or quoted.
template <class Words>
std::string words(const Words& all) {
  std::string out;
  for (const auto& one : all) out += (out.empty() ? "" : ", ") + yaml_word(one);
  return out;
}

/// Keys with a point become sections.
template <class Value>
std::string nested(const std::vector<std::pair<std::string, Value>>& entries, const std::string& margin) {
  std::string out, open;
  for (const auto& [key, value] : entries) {
    const auto point = key.find('.');
    if (point == std::string::npos) {
      out += fmt::format("{}{}: {}\n", margin, key, value);
      continue;
    }
    const std::string section = key.substr(0, point);
    if (section != open) out += fmt::format("{}{}:\n", margin, section);
    open = section;
    out += fmt::format("{}  {}: {}\n", margin, key.substr(point + 1), value);
  }
  return out;
}

/// The machines of a set, with the operations measured on each.
std::string fitted_on_yaml(const CalibratedSet& set, const std::string& margin) {
  std::string out;
  for (const FittedOn& one : set.fitted_on) {
    std::vector<std::string_view> names;
    const std::span<const std::string_view> all = measured_names(set.set);
    for (std::size_t place = 0; place < all.size(); ++place)
      if (MeasuredOperations::has(one.measured, place)) names.push_back(all[place]);
    if (out.empty()) out = margin + "fitted_on:\n";
    out += fmt::format("{}  - {{system: {}, domain: {}, {}{}: [{}]}}\n", margin, yaml_word(one.system), one.domain,
                       one.rate > 0 ? fmt::format("bandwidth: {}, ", rate(one.rate)) : "", measured_key(set.set), joined(names));
  }
  return out;
}

/// The keys of one set, each line indented by `margin`.
std::string set_yaml(const CalibratedSet& set, const std::string& margin) {
  std::string out = fmt::format("kind: {}\n", name(set.set));
  const bool kernels = is_of_kernels(set.set);
  if (!kernels && set.library != Library::other) out += fmt::format("{}library: {}\n", margin, name(set.library));
  if (kernels || set.set == ConstantSet::scale_up) out += fmt::format("{}generation: {}\n", margin, name(set.generation));
  if (set.set == ConstantSet::transport) out += fmt::format("{}transport: {}\n", margin, yaml_word(set.transport.family().view()));
  std::string measured;
  if (set.bandwidth > Bandwidth{}) measured = fmt::format("bandwidth: {}, ", rate(set.bandwidth.value()));
  if (set.largest > Bytes{}) measured += fmt::format("smallest: {}, largest: {}, ", size(set.smallest.value()), size(set.largest.value()));
  measured += fmt::format("fewest_ranks: {}, most_ranks: {}", set.fewest_ranks, set.most_ranks);
  if (set.set == ConstantSet::transport) measured += fmt::format(", most_nodes: {}", set.most_nodes);
  if (!set.launches.empty()) measured += fmt::format(", launches: [{}]", words(set.launches));
  if (!set.libraries.empty()) measured += fmt::format(", libraries: [{}]", words(set.libraries));
  if (set.set != ConstantSet::compute) out += fmt::format("{}measured: {{{}}}\n", margin, measured);
  out += fitted_on_yaml(set, margin);
  out += fmt::format("{}constants:\n", margin);
  std::vector<std::pair<std::string, std::string>> constants, deviations;
  const auto is_fitted = [&](const Parameter& p) {
    return std::any_of(set.fitted.begin(), set.fitted.end(), [&](const FittedConstant& c) { return c.key == p.key; });
  };
  const Constants prior;
  for (const Parameter& p : parameters_of(set.set)) {
    if (set.only_fitted && !is_fitted(p)) continue;
    std::string value = written(p, set, set.constants);
    if (p.fitted == FitTreatment::form && value == written(p, set, prior)) continue;  // constants common to all machines are in data/priors
    constants.emplace_back(p.key, std::move(value));
  }
  out += nested(constants, margin + "  ");
  std::string widths;
  for (const ClassResidual& c : set.classes) widths += fmt::format("{}{}: {:.3g}", widths.empty() ? "" : ", ", c.key, c.width);
  if (!widths.empty()) out += fmt::format("{}intervals: {{{}}}  # half widths in log: nine in ten measurements\n", margin, widths);
  out += fmt::format("{}residuals:  # percent\n", margin);
  out += fmt::format("{}  all: {{points: {}, median: {:.3g}, mean: {:.3g}}}\n", margin, set.points, set.median_ape, set.mape);
  for (const ClassResidual& c : set.classes)
    if (c.points > 0)
      out += fmt::format("{}  {}: {{points: {}, median: {:.3g}, mean: {:.3g}}}\n", margin, c.key, c.points, c.median_ape, c.mape);
  if (!set.fitted.empty()) out += fmt::format("{}deviations:  # standard errors in percent; those not listed were held\n", margin);
  for (const FittedConstant& c : set.fitted)
    deviations.emplace_back(c.key, fmt::format("{:.2g}{}{}", 100 * c.deviation, c.determined ? "" : "  # not determined by the data",
                                               c.shared ? "  # one value for all generations fitted together" : ""));
  out += nested(deviations, margin + "  ");
  return out;
}

std::string heading(std::string_view name, std::string_view title, const std::vector<std::string>& systems, std::string_view date,
                    std::string_view origin) {
  std::string out = fmt::format("name: {}\ntitle: {}\n", yaml_word(name), title);
  out += fmt::format("systems: [{}]\n", words(systems));
  out += fmt::format("source: {}\nconfidence: measured\ndate: {}\n", in_quotes(origin), date);
  return out;
}

}  // namespace

std::string calibration_yaml(const Calibration& calibration, std::string_view name, std::string_view date, std::string_view origin) {
  std::vector<std::string> systems;
  if (!calibration.system.empty()) systems.push_back(calibration.system);
  if (systems.empty())
    for (const CalibratedSet& set : calibration.sets)
      for (const std::string& system : set.systems)
        if (std::find(systems.begin(), systems.end(), system) == systems.end()) systems.push_back(system);
  std::string out = heading(name, in_quotes(fmt::format("Fitted to measurements of {}", joined(systems))), systems, date, origin);
  out += "parts:\n";
  for (const CalibratedSet& set : calibration.sets) out += "  - " + set_yaml(set, "    ");
  return out;
}

std::string calibration_yaml(const CalibratedSet& set, std::string_view date, std::string_view origin) {
  const std::string title = fmt::format("Fitted to measurements of {}", joined(set.systems));
  return heading(set.name, in_quotes(title), set.systems, date, origin) + set_yaml(set, "");
}

std::string calibration_name(const std::filesystem::path& file) {
  std::string out;
  for (const char c : file.stem().string()) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (upper || fine)
      out += upper ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "calibration" : out;
}

}  // namespace fabricost::core
