/// One line per case: its time at the smallest size, its best rate, the spread between batches.

#include "cli/measure_text.hpp"

#include "readings/probe_table.hpp"
#include "text/quantile.hpp"

#include <algorithm>
#include <charconv>

namespace fabricost::cli {
namespace {

using measure::Row;

constexpr std::size_t max_listed = 20;

[[nodiscard]] std::string size_or_dash(std::uint64_t bytes) { return bytes == 0 ? "-" : bytes_text(static_cast<double>(bytes)); }

/// Bytes that cross a wire or a memory interface per byte of the row.
[[nodiscard]] double moved_per_byte(const Row& row) {
  if (const core::ProbeType* probe = core::probe_named(row.operation)) return probe->traffic;
  const auto operation = parse_collective(row.operation);
  return operation && !row.path ? bus_factor(*operation, row.nodes * row.gpus_per_node) : 1;
}

[[nodiscard]] std::string case_of(const Row& row) {
  std::string out = row.operation;
  if (const std::string_view probe = row.note("probe"); !probe.empty()) out = probe;
  if (row.dtype && !row.path) out += fmt::format(", {} ranks, {}", row.nodes * row.gpus_per_node, name(*row.dtype));
  if (row.algorithm) out += fmt::format(", {}", name(*row.algorithm));
  if (row.protocol) out += fmt::format(" {}", name(*row.protocol));
  if (row.in_place.value_or(false)) out += ", in place";
  for (const char* key : {"gpu", "gpus", "pairs", "nvls", "registered", "beside"})
    if (const std::string_view value = row.note(key); !value.empty()) out += fmt::format(", {} {}", key, value);
  if (row.note("pinned") == "no") out += ", pageable";
  if (row.both_ways.value_or(false) && row.note("probe") != "host_both_ways") out += ", both ways";
  if (!row.note("cold").empty()) out += ", cold";
  return out;
}

[[nodiscard]] double spread_of(const Row& row) {
  const std::string_view text = row.note("spread");
  double out = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

[[nodiscard]] const Row* slowest(const std::vector<const Row*>& rows) {
  return *std::max_element(rows.begin(), rows.end(), [](const Row* a, const Row* b) { return a->seconds < b->seconds; });
}

/// The rows of one case, or of one size on many GPUs or pairs.
struct Line {
  std::string title;
  std::vector<const Row*> rows;
  bool many = false;
};

constexpr std::size_t few = 3;  ///< GPUs or pairs beside the first that have lines of their own

/// Rows that differ only in the place of the measurement belong to one probe.
[[nodiscard]] bool elsewhere(const Row& a, const Row& b) {
  const bool one_size = a.bytes == b.bytes && a.operation == b.operation && a.both_ways == b.both_ways;
  return one_size && a.note("probe") == b.note("probe") && a.note("pinned") == b.note("pinned") &&
         (a.path || !parse_collective(a.operation));
}

/// One line a case; points of one size on many GPUs or pairs are one.
[[nodiscard]] std::vector<Line> lines_of(const std::vector<MeasuredPoint>& rows) {
  std::vector<Line> cases;
  for (const Row& row : rows) {
    const std::string title = case_of(row);
    auto found = std::find_if(cases.begin(), cases.end(), [&](const Line& line) { return line.title == title; });
    if (found == cases.end()) found = cases.insert(cases.end(), {title, {}});
    found->rows.push_back(&row);
  }
  std::vector<Line> out;
  for (Line& line : cases) {
    const auto alike = [&](const Line& other) { return other.rows.size() == 1 && elsewhere(*other.rows[0], *line.rows[0]); };
    if (line.rows.size() > 1 || static_cast<std::size_t>(std::count_if(cases.begin(), cases.end(), alike)) <= few) {
      out.push_back(std::move(line));
      continue;
    }
    const auto same = std::find_if(out.begin(), out.end(), [&](const Line& other) { return other.many && alike({"", {other.rows[0]}}); });
    if (same == out.end())
      out.push_back({line.title, line.rows, true});
    else
      same->rows.push_back(line.rows[0]);
  }
  return out;
}

/// "peer_copy, 55 other pairs": the reader looks for the slow one.
[[nodiscard]] std::string title_of(const Line& line) {
  if (!line.many) return line.title;
  const Row& first = *line.rows.front();
  const bool pairs = !first.note("pairs").empty();
  std::string out = first.operation;
  if (const std::string_view probe = first.note("probe"); !probe.empty()) out = probe;
  return fmt::format("{}, {} other {}, slowest {}", out, line.rows.size(), pairs ? "pairs" : "GPUs",
                     slowest(line.rows)->note(pairs ? "pairs" : "gpu"));
}

[[nodiscard]] Cells cells_of(const Line& line) {
  const auto rate = [](const Row* r) { return moved_per_byte(*r) * static_cast<double>(r->bytes) / r->seconds; };
  const auto smallest =
      std::min_element(line.rows.begin(), line.rows.end(), [](const Row* a, const Row* b) { return a->bytes < b->bytes; });
  const auto fastest = std::max_element(line.rows.begin(), line.rows.end(), [&](const Row* a, const Row* b) { return rate(a) < rate(b); });
  const Row& min = line.many ? *slowest(line.rows) : **smallest;
  const Row& best = line.many ? min : **fastest;
  std::vector<double> spreads;
  for (const Row* row : line.rows) spreads.push_back(spread_of(*row));
  const bool has_rate = rate(&best) > 0;
  return {title_of(line),
          std::to_string(line.rows.size()),
          figure(1e6 * min.seconds),
          size_or_dash(min.bytes),
          has_rate ? figure(rate(&best) / 1e9) : "-",
          has_rate ? size_or_dash(best.bytes) : "-",
          fmt::format("{:.2f}", 100 * upper_median(spreads))};
}

void add_missing(Page& page, const std::vector<NotMeasuredAnswer>& missing) {
  if (missing.empty()) return;
  page.section("Not measured");
  for (std::size_t i = 0; i < std::min(max_listed, missing.size()); ++i) {
    const NotMeasuredAnswer& one = missing[i];
    page.say("{}{}: {}", one.what, one.bytes ? ", " + size_or_dash(*one.bytes) : "", one.reason);
  }
  if (missing.size() > max_listed) page.line("and {} more, listed beside the machine", missing.size() - max_listed);
}

}  // namespace

void text_of(Page& page, const MeasureAnswer& a) {
  page.title(a.title);
  page.title("{} points in {:.0f} s: {}, {}", a.rows.size(), a.time.value(), a.file, a.machine_file);
  page.title(a.system ? fmt::format("Stock system: {} ({})", *a.system, a.system_because)
                      : fmt::format("No stock system: {}; readers of the points need --system", a.system_because));
  for (const std::string& remark : a.remarks) page.add_headed(wrapped("Note: ", remark, 100));
  page.section("Measured: the time at the smallest size, the best rate (bus bandwidth of collectives)");
  page.table({"measured", ">points", ">time us", ">at", ">GB/s", ">at", ">spread %"}, lines_of(a.rows), cells_of);
  add_missing(page, a.not_measured);
}

void text_of(Page& page, const MeasurePlanAnswer& a) {
  page.title(a.title);
  page.section("Would be measured, in this order while the time lasts");
  page.table({"what", ">sizes", ">from", ">to", ""}, a.steps, [](const PlannedStep& step) {
    const auto [min, max] = std::minmax_element(step.sizes.begin(), step.sizes.end());
    return cells(step.what, step.sizes.size(), size_or_dash(*min), size_or_dash(*max), step.refined ? "and where it bends" : "");
  });
  add_missing(page, a.not_measured);
}

}  // namespace fabricost::cli
