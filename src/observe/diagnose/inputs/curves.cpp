/// The median of the repeats of each size, of the table with the most sizes.

#include "diagnose/inputs/curves.hpp"

#include "text/quantile.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace fabricost::observe::diagnosis {

namespace {

double in_place_over_out(std::array<std::vector<double>, 2>& places) {
  auto& [out, in] = places;
  return out.empty() || in.empty() ? 0 : lower_median(in) / lower_median(out);
}

}  // namespace

std::vector<Shown> curve_of(const std::vector<LogRun>& runs, std::string& test) {
  std::vector<Shown> best;
  for (const LogRun& run : runs) {
    const double unit = run.time_unit > 0 ? run.time_unit : 1e-6;
    std::map<double, std::array<std::vector<double>, 2>> sizes;
    std::map<double, int> lines;
    std::map<double, std::array<std::vector<double>, 2>> places;
    const std::set<int> ranks(run.ranks_listed.begin(), run.ranks_listed.end());
    const bool exchange = run.test.find("alltoall") != std::string::npos || run.test.find("all_to_all") != std::string::npos;
    for (const LogRow& row : run.rows)
      for (const LogSide& side : row.halves())
        if (row.bytes > 0 && side.time > 0 && side.busbw <= 2 * (side.algbw + side.algbw_slack) + side.algbw_slack) {  // no factor is above 2
          if (exchange && ranks.size() > 1 && static_cast<long long>(row.bytes) / static_cast<long long>(ranks.size()) % 16 != 0) continue;
          auto& [time, bus] = sizes[row.bytes];
          time.push_back(side.time * unit);
          bus.push_back(side.busbw * 1e9);
          lines.try_emplace(row.bytes, row.line);
          if (side.known_place) places[row.bytes][side.in_place ? 1 : 0].push_back(side.time);
        }
    if (sizes.size() <= best.size()) continue;
    best.clear();
    for (auto& [bytes, v] : sizes)
      best.push_back({bytes, lower_median(v[0]), lower_median(v[1]), lines[bytes], *std::max_element(v[1].begin(), v[1].end()),
                      in_place_over_out(places[bytes])});
    test = run.test;
  }
  return best;
}

std::vector<Shown> transfers_of(const std::vector<Point>& points) {
  constexpr std::size_t least_sizes = 5;
  std::map<std::string, std::map<double, std::vector<double>>> streams;
  for (const Point& p : points)
    if (p.path && p.streamed && p.bytes > 0 && p.seconds > 0) streams[p.notes.str()][p.bytes].push_back(p.seconds);
  std::vector<Shown> best;
  for (auto& [test, sizes] : streams) {
    if (sizes.size() < least_sizes || sizes.size() <= best.size()) continue;
    best.clear();
    for (auto& [bytes, times] : sizes) {
      const double seconds = lower_median(times);
      best.push_back({bytes, seconds, bytes / seconds, 0});
    }
  }
  return best;
}

std::string wrong_results_of(const std::vector<LogRun>& runs) {
  int rows = 0;
  std::string first;
  for (const LogRun& run : runs)
    for (const LogRow& row : run.rows) {
      const auto halves = row.halves();
      const auto wrong = std::find_if(halves.begin(), halves.end(), has_wrong_results);
      if (wrong == halves.end()) continue;
      if (rows++ == 0) first = fmt::format("line {}: {:.0f} wrong elements at {}", row.line, wrong->wrong, size_text(Bytes::from_value(row.bytes)));
    }
  return rows > 1 ? fmt::format("{} ({} such rows)", first, rows) : first;
}

std::string early_end_of(const std::vector<LogRun>& runs, const NcclInfo& info) {
  if (runs.empty() || !stops_early(runs.back())) return {};
  const LogRow& last = runs.back().rows.back();
  if (std::any_of(info.averages.begin(), info.averages.end(), [&](const auto& one) { return one.second.number > last.line; })) return {};
  return fmt::format("{}, before {}", size_text(Bytes::from_value(last.bytes)), size_text(Bytes::from_value(runs.back().max_bytes)));
}

int rows_without_time(const std::vector<LogRun>& runs) {
  int rows = 0;
  for (const LogRun& run : runs)
    for (const LogRow& row : run.rows) {
      ++rows;
      for (const LogSide& side : row.halves())
        if (side.time > 0) return 0;
    }
  return rows;
}

}  // namespace fabricost::observe::diagnosis
