/// Derived properties that several rules need; thresholds by name, and values of variables that match.

#include <fabricost/predict/fabric_of.hpp>

#include "diagnose/context.hpp"

#include "text/ascii.hpp"
#include "text/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace fabricost::observe::diagnosis {

std::string uppered(std::string text) {
  for (char& c : text) c = upper(c);
  return text;
}

void Numbers::set(std::string_view name, std::vector<double> values) {
  for (auto& [known, old] : values_)
    if (known == name) {
      old = std::move(values);
      return;
    }
  values_.emplace_back(name, std::move(values));
}

const std::vector<double>* Numbers::find(std::string_view name) const {
  for (const auto& [known, values] : values_)
    if (known == name) return &values;
  return nullptr;
}

const std::vector<double>& Numbers::list(std::string_view name) const {
  const std::vector<double>* values = find(name);
  if (values == nullptr) throw std::logic_error(fmt::format("a signal asks for the threshold \"{}\", which it does not declare", name));
  return *values;
}

bool ValueTest::fits(std::string_view value) const {
  const std::string given = uppered(std::string{value});
  if (!any.empty() && std::find(any.begin(), any.end(), given) == any.end()) return false;
  if (!given.starts_with(starts) || (!not_starts.empty() && given.starts_with(not_starts))) return false;
  if (!holds.empty() && given.find(holds) == std::string::npos) return false;
  if (!max) return true;
  const double number = parse_number(given).value_or(0);
  return number > 0 && number <= *max;
}

int Context::nodes() const {
  if (!sizes.empty() && sizes.front().nodes > 0) return sizes.front().nodes;
  return info.node_count();
}

int Context::ranks() const {
  if (!sizes.empty()) return sizes.front().ranks;
  std::set<int> listed;
  for (const RankLine& one : info.rank_lines) listed.insert(one.rank);
  return std::max(listed.empty() ? 0 : *listed.rbegin() + 1, info.ranks);
}

int Context::ranks_per_node() const {
  if (info.local_ranks > 0) return info.local_ranks;
  const int n = nodes(), r = ranks();
  return n > 0 && r > 0 ? (r + n - 1) / n : 0;
}

bool Context::inside_a_domain() const {
  return system && nodes() > 1 && ranks() <= system->domain && nodes() * system->gpus_per_node <= system->domain;
}

std::optional<bool> Context::multicasts() const {
  if (system) {
    const Tier* tier = system->tier(TierRole::scale_up);
    return tier != nullptr && tier->multicasts;
  }
  for (const RankLine& one : info.rank_lines)
    if (!one.gpu.empty()) return usually_multicasts(one.gpu);
  return std::nullopt;
}

bool Context::wants_tcp() const {
  const Tier* nic = system ? system->tier(TierRole::nic) : nullptr;
  return nic != nullptr && nic->transport.sockets;
}

int adapters_listed(const NcclInfo& info) {
  const auto bonded = [](const std::string& one) { return one.find("bond") != std::string::npos; };
  return std::any_of(info.adapters.begin(), info.adapters.end(), bonded) ? 0 : static_cast<int>(info.adapters.size());
}

bool all_adapters_are(const NcclInfo& info, std::string_view layer) {
  return !info.adapters.empty() &&
         std::all_of(info.adapters.begin(), info.adapters.end(), [&](const std::string& one) { return one.ends_with(layer); });
}

namespace {
/// The link layer that all adapters of the log have; empty: they differ, or the log names none.
std::string_view layer_of_adapters(const NcclInfo& info) {
  for (const std::string_view layer : {"/IB", "/RoCE"})
    if (all_adapters_are(info, layer)) return layer;
  return {};
}
}  // namespace

bool Context::over_infiniband() const {
  if (const std::string_view layer = layer_of_adapters(info); !layer.empty()) return layer == "/IB";
  const Tier* nic = system && !guessed ? system->tier(TierRole::nic) : nullptr;
  return nic != nullptr && is_infiniband(nic->transport);
}

bool Context::over_roce() const {
  if (const std::string_view layer = layer_of_adapters(info); !layer.empty()) return layer == "/RoCE";
  const Tier* nic = system ? system->tier(TierRole::nic) : nullptr;
  return nic != nullptr && nic->transport.roce;
}

double Context::best_bus() const {
  double best = 0;
  for (const Shown& row : curve)
    if (row.bytes >= largest() / 16) best = std::max(best, row.bus);
  return best;
}

std::optional<Forcing> Context::forcing() const {
  if (!judged.compared || judged.slow || judged.slow_small || !(judged.at->unforced > Time{})) return std::nullopt;
  const DiagnosedSize& at = *judged.at;
  Forcing out;
  out.without = (at.bus_bandwidth * (at.measured / at.unforced)).value();
  out.share = 1 - at.unforced / at.predicted;
  const double least = numbers("judgement")["forcing_costs"];
  if (out.share < least || 1 - at.unforced / at.measured < least) return std::nullopt;
  for (const char* variable : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_PXN_DISABLE"})
    if (const Setting* one = info.setting(variable); one != nullptr) {
      if (out.settings.empty()) out.line = one->line;
      out.settings += fmt::format("{}{}={}", out.settings.empty() ? "" : " and ", variable, one->value);
      out.variables += fmt::format("{}{}", out.variables.empty() ? "" : " ", variable);
    }
  return out.settings.empty() ? std::nullopt : std::optional{out};
}

Fabric fabric_of(const NcclInfo& info) {
  Fabric out;
  for (const auto& [name, use] : info.net) {
    if (name == "Socket") continue;
    out.times += use.times;
    out.direct += use.direct;
    out.devices.insert(use.devices.begin(), use.devices.end());
    if (out.first.number == 0) out.first = use.first;
    if (out.first_indirect.number == 0) out.first_indirect = use.first_indirect;
  }
  return out;
}

namespace {
/// The tabs of a table of columns as one space, with the spaces beside them.
std::string without_tabs(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of(" \t", i), text.size());
    const std::string blank = text.substr(i, end - i);
    out += blank.find('\t') == std::string::npos ? blank : " ";
    i = std::min(text.find_first_of(" \t", end), text.size());
    out += text.substr(end, i - end);
  }
  return out;
}
}  // namespace

std::string cited(const LogLine& line) {
  if (line.number <= 0) return without_tabs(line.text);
  return fmt::format("{}{}line {}: {}", line.file, line.file.empty() ? "" : " ", line.number, without_tabs(line.text));
}

std::string cited(const Seen& seen) {
  const int lines = seen.events > 0 ? seen.events : seen.times;
  return lines > 1 ? fmt::format("{} ({} such lines)", cited(seen.first), lines) : cited(seen.first);
}

std::string gigabytes(double bytes_per_second) { return fmt::format("{:.3g} GB/s", bytes_per_second / 1e9); }

}  // namespace fabricost::observe::diagnosis
