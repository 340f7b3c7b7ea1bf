/// The values of an unknown where the request names none.

#include "answers/need/usual.hpp"

#include "text/joined.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::plan::need {

using varied::Kind;
using varied::Varied;

namespace {

constexpr double most_gpus = 1 << 20, most_batch = 1 << 17, max_sequence = 1 << 20;

/// A wide range: counts 1, 2, 3, 4, 6, 8, 12 and so on to `most`; domains that NVLink and its like were built for, too. \param each GPUs
/// that come together (a node)
[[nodiscard]] std::vector<double> counts_to(double most, int each) {
  std::vector<double> out;
  for (double at = each; at <= most; at *= 2) {
    out.push_back(at);
    if (at > each && at * 1.5 <= most) out.push_back(at * 1.5);
  }
  if (each == 1 && most >= 3) out.push_back(3);
  return out;
}
void add_racks(std::vector<double>& out, double most, int each) {
  for (const double racks : {36, 72, 144, 288, 576})  // trays of four, and of two
    if (racks <= most && std::fmod(racks, each) == 0) out.push_back(racks);
}
/// From a 64th to 64 times of where a parameter stands, four to an octave.
[[nodiscard]] std::vector<double> octaves_around(double now) {
  std::vector<double> out;
  for (int quarter = -24; quarter <= 24; ++quarter) out.push_back(now * std::exp2(0.25 * quarter));
  return out;
}

}  // namespace

std::vector<int> sizes_of_run(const System& machine, int batch, double least, double most) {
  constexpr auto all_gpus = static_cast<long long>(most_gpus);
  std::vector<int> all;
  const auto add = [&](long long size) {
    if (size <= all_gpus && size % machine.gpus_per_node == 0 && static_cast<double>(size) >= least) all.push_back(static_cast<int>(size));
  };
  for (const long long each : {machine.gpus_per_node, std::max(machine.domain, machine.gpus_per_node)})
    for (long long octave = 1; octave * each <= all_gpus; octave *= 2)
      for (long long eighths = 8; eighths < 16; ++eighths)
        if (octave * eighths % 8 == 0) add(each * octave * eighths / 8);
  for (long long size = batch; size <= all_gpus; size *= 2) add(size), add(3 * size);
  for (int size = batch; size % 2 == 0 && size > 1; size /= 2) add(size / 2), add(3LL * (size / 2));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto above = std::find_if(all.begin(), all.end(), [most](int size) { return size > most; });
  if (above != all.end()) all.erase(above + 1, all.end());
  return all;
}

std::vector<double> usual_values(Varied& unknown, const System& machine, const std::optional<int>& gpus, bool parts) {
  constexpr double max_options = 1024;
  switch (unknown.kind) {
    case Kind::gpus: {
      std::vector<double> out = counts_to(most_gpus, machine.gpus_per_node);
      for (int part = 1; parts && part < machine.gpus_per_node; part *= 2) out.push_back(part);
      return out;
    }
    case Kind::nodes: return counts_to(most_gpus / machine.gpus_per_node, 1);
    case Kind::batch: return counts_to(most_batch, 1);
    case Kind::sequence: return counts_to(max_sequence, 256);
    case Kind::parameter: break;
    case Kind::declared:
      if (!unknown.values.empty()) return varied::values_of(joined(unknown.values, ","), unknown, "over").numbers;
      [[fallthrough]];
    default:
      if (unknown.kind == Kind::option && unknown.whole) {
        std::vector<double> out = counts_to(std::min(unknown.range.max, max_options), 1);
        if (unknown.range.min <= 0) out.push_back(0);
        return out;
      }
      throw Refusal(fmt::format("<over>: no range of {} is known; name the values, with their unit, as in <over=1:16:x2>", unknown.name));
  }
  if (unknown.parameter == DesignParameter::domain) {
    const int each = machine.domain == machine.gpus_per_node ? 1 : machine.gpus_per_node;
    const double most = std::min(4096.0, static_cast<double>(gpus.value_or(4096)));
    std::vector<double> out = counts_to(most, each);
    add_racks(out, most, each);
    return out;
  }
  return unknown.whole ? counts_to(128, 1) : octaves_around(value_of(machine, *unknown.parameter) / unknown.worth);
}

}  // namespace fabricost::plan::need
