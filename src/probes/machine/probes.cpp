/// Reads the probes of a measurement, and fits robust lines to them.

#include "machine/figures.hpp"

#include "readings/probe_table.hpp"
#include "text/csv.hpp"
#include "text/quantile.hpp"

#include <algorithm>
#include <cmath>

namespace fabricost::probes {

namespace {

/// "spread 0.004; gpu 0; pinned yes"
std::map<std::string, std::string, std::less<>> notes_in(std::string_view text) {
  std::map<std::string, std::string, std::less<>> out;
  while (!text.empty()) {
    const auto end = std::min(text.find(';'), text.size());
    std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    const auto blank = one.find(' ');
    if (blank != std::string_view::npos) out.emplace(one.substr(0, blank), one.substr(blank + 1));
  }
  return out;
}

}  // namespace

std::vector<ProbeRow> read_probes(const std::filesystem::path& file) {
  CsvTable table(file);
  const int operation = table.column("operation"), bytes = table.column("bytes"), time = table.column("time_us"),
            notes = table.column("notes"), path = table.column("path"), both = table.column("both_ways");
  std::vector<ProbeRow> out;
  while (table.next()) {
    ProbeRow row;
    row.notes = notes_in(table.cell(notes));
    row.path = parse_path(table.cell(path));
    const core::ProbeType* probe = core::probe_named(table.cell(operation));
    const bool transfer = parse_collective(table.cell(operation)) == Collective::send_recv && row.path;
    if (probe == nullptr && !transfer) continue;
    row.probe = probe != nullptr ? std::string{probe->word} : std::string{row.note("probe")};
    row.bytes = parse_number(table.cell(bytes)).value_or(0);
    row.seconds = 1e-6 * parse_number(table.cell(time)).value_or(0);
    row.both_ways = table.cell(both) == "1";
    if (row.seconds > 0 && row.bytes >= 0) out.push_back(std::move(row));
  }
  table.finish();
  return out;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

std::optional<ProbeLine> line_through(const std::vector<const ProbeRow*>& rows, double max) {
  ProbeLine out;
  for (const ProbeRow* row : rows) {
    out.largest = std::max(out.largest, row->bytes);
    out.smallest = out.points == 0 ? row->bytes : std::min(out.smallest, row->bytes);
    ++out.points;
  }
  std::vector<const ProbeRow*> streaming;
  for (const ProbeRow* row : rows)
    if (row->bytes >= out.largest / 16) streaming.push_back(row);
  std::vector<std::pair<double, double>> slopes;  // with the sizes between: the larger the distance, the smaller the effect of noise
  double best = 0, apart = 0;
  for (std::size_t i = 0; i < streaming.size(); ++i) {
    best = std::max(best, streaming[i]->bytes / streaming[i]->seconds);
    for (std::size_t j = 0; j < i; ++j)
      if (const double bytes = streaming[i]->bytes - streaming[j]->bytes; bytes != 0) {
        slopes.emplace_back((streaming[i]->seconds - streaming[j]->seconds) / bytes, std::fabs(bytes));
        apart += std::fabs(bytes);
      }
  }
  std::sort(slopes.begin(), slopes.end());
  double slope = 0, passed = 0;
  for (const auto& [value, weight] : slopes) {  // the weighted median
    slope = value;
    passed += weight;
    if (passed >= 0.5 * apart) break;
  }
  if (!(best > 0)) return std::nullopt;
  out.streaming = static_cast<int>(streaming.size());
  out.rate = slope > 0 ? std::min(1 / slope, max * best) : best;
  constexpr double few_bytes = 65536;
  std::vector<double> starts;
  for (const ProbeRow* row : rows)
    if (row->bytes <= few_bytes && row->bytes < out.largest) starts.push_back(row->seconds - row->bytes / out.rate);
  if (!starts.empty()) out.start = std::max(0.0, median_of(starts));
  return out;
}

}  // namespace fabricost::probes
