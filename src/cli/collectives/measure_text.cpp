/// \file measure_text.cpp
/// One line per case: its time at the smallest size, its best rate, the spread between batches.

#include "cli/collectives/measure_text.hpp"

#include "cli/runner.hpp"
#include "text/text_table.hpp"

#include <fabricost/text/quantity.hpp>
#include <fabricost/units.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace fabricost::cli {
namespace {

using measure::Measured;
using measure::NotMeasured;
using measure::Row;

constexpr std::size_t max_listed = 20;

[[nodiscard]] std::string size_or_dash(std::uint64_t bytes) { return bytes == 0 ? "-" : size_text(units::B(static_cast<double>(bytes))); }

/// Bytes that cross a wire or a memory interface per byte of the row.
[[nodiscard]] double moved_per_byte(const Row& row) {
  if (const measure::ProbeType* probe = measure::probe_named(row.operation)) return probe->traffic;
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
  for (const char* key : {"gpu", "gpus", "pairs", "nvls", "beside"})
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

/// One line per case; points of one size on many GPUs or pairs share a line.
[[nodiscard]] std::vector<Line> lines_of(const std::vector<Row>& rows) {
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

[[nodiscard]] std::string table_of(const std::vector<Row>& rows) {
  TextTable table{
      {{"measured"}, {"points", right}, {"time us", right}, {"at", right}, {"GB/s", right}, {"at", right}, {"spread %", right}}};
  for (const Line& line : lines_of(rows)) {
    const Row& min =
        line.many ? *slowest(line.rows)
                  : **std::min_element(line.rows.begin(), line.rows.end(), [](const Row* a, const Row* b) { return a->bytes < b->bytes; });
    const auto rate = [](const Row* r) { return moved_per_byte(*r) * static_cast<double>(r->bytes) / r->seconds; };
    const Row& best =
        line.many ? min
                  : **std::max_element(line.rows.begin(), line.rows.end(), [&](const Row* a, const Row* b) { return rate(a) < rate(b); });
    std::vector<double> spreads;
    for (const Row* row : line.rows) spreads.push_back(spread_of(*row));
    std::nth_element(spreads.begin(), spreads.begin() + static_cast<std::ptrdiff_t>(spreads.size() / 2), spreads.end());
    const bool has_rate = rate(&best) > 0;
    table.row({title_of(line), std::to_string(line.rows.size()), fmt::format("{:.4g}", 1e6 * min.seconds), size_or_dash(min.bytes),
               has_rate ? fmt::format("{:.4g}", rate(&best) / 1e9) : "-", has_rate ? size_or_dash(best.bytes) : "-",
               fmt::format("{:.2f}", 100 * spreads[spreads.size() / 2])});
  }
  return table.text(2);
}

[[nodiscard]] std::string missing_text(const std::vector<NotMeasured>& missing) {
  if (missing.empty()) return "";
  std::string out = "\nNot measured\n";
  for (std::size_t i = 0; i < std::min(max_listed, missing.size()); ++i) {
    const NotMeasured& one = missing[i];
    out += wrapped("  ", fmt::format("{}{}: {}", one.what, one.bytes ? ", " + size_or_dash(*one.bytes) : "", one.reason), 100);
  }
  if (missing.size() > max_listed) out += fmt::format("  and {} more, listed beside the machine\n", missing.size() - max_listed);
  return out;
}

[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<NotMeasured>& missing) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const NotMeasured& one : missing)
    out.push_back(
        {{"what", one.what}, {"bytes", one.bytes ? nlohmann::ordered_json(*one.bytes) : nlohmann::ordered_json()}, {"reason", one.reason}});
  return out;
}

template <class T>
[[nodiscard]] nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(name(*value)) : nlohmann::ordered_json();
}

}  // namespace

std::string machine_text(const measure::Machine& machine, int processes) {
  const bool alone = machine.runtime != "MPI";
  const std::string called = machine.units.empty() || machine.units[0].name.empty() ? "" : " called " + machine.units[0].name;
  const auto count = alone ? static_cast<int>(machine.units.size()) : processes;
  std::string out = fmt::format("{} {}{}{}", count, alone ? "GPU" : "process", count == 1 ? "" : alone ? "s" : "es", alone ? called : "");
  out += fmt::format(", {} {}", machine.runtime, machine.runtime_version);
  if (!machine.driver.empty()) out += fmt::format(", driver {}", machine.driver);
  if (!machine.library.empty()) out += fmt::format(", {} {}", machine.library, machine.library_version);
  return out;
}

std::string text_of(const measure::Machine& machine, int processes, const Measured& measured, const MeasuredFiles& files,
                    const Terminal& terminal) {
  std::string out = machine_text(machine, processes) + "\n";
  out += fmt::format("{} points in {:.0f} s: {}, {}\n", measured.rows.size(), measured.seconds, files.points, files.machine);
  out += files.system.empty() ? fmt::format("No stock system: {}; readers of the points need --system\n", files.system_because)
                              : fmt::format("Stock system: {} ({})\n", files.system, files.system_because);
  for (const std::string& remark : machine.remarks) out += wrapped("Note: ", remark, 100);
  out += "\nMeasured: the time at the smallest size, the best rate (bus bandwidth of collectives)\n" + table_of(measured.rows);
  return terminal.strong_headings(out + missing_text(measured.not_measured));
}

std::string text_of(const measure::Machine& machine, int processes, const measure::Plan& plan, const Terminal& terminal) {
  std::string out = machine_text(machine, processes) + "\n\nWould be measured, in this order while the time lasts\n";
  TextTable table{{{"what"}, {"sizes", right}, {"from", right}, {"to", right}, {""}}};
  for (const measure::Step& step : plan.steps) {
    const auto [min, max] = std::minmax_element(step.sizes.begin(), step.sizes.end());
    table.row({title_of(step.what), std::to_string(step.sizes.size()), size_or_dash(*min), size_or_dash(*max),
               step.refine ? "and where it bends" : ""});
  }
  return terminal.strong_headings(out + table.text(2) + missing_text(plan.not_measured));
}

nlohmann::ordered_json to_json(const Measured& measured, const MeasuredFiles& files) {
  nlohmann::ordered_json out;
  out["points"] = measured.rows.size();
  out["seconds"] = measured.seconds;
  out["complete"] = measured.complete;
  out["file"] = files.points;
  out["machine_file"] = files.machine;
  out["system"] = files.system.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(files.system);
  out["rows"] = nlohmann::ordered_json::array();
  for (const Row& row : measured.rows) {
    nlohmann::ordered_json notes = nlohmann::ordered_json::object();
    for (const auto& [key, value] : row.notes) notes[key] = value;
    out["rows"].push_back({{"operation", row.operation},
                           {"nodes", row.nodes},
                           {"gpus_per_node", row.gpus_per_node},
                           {"dtype", or_null(row.dtype)},
                           {"bytes", row.bytes},
                           {"time_us", 1e6 * row.seconds},
                           {"library", row.library},
                           {"algorithm", or_null(row.algorithm)},
                           {"protocol", or_null(row.protocol)},
                           {"path", or_null(row.path)},
                           {"both_ways", row.both_ways ? nlohmann::ordered_json(*row.both_ways) : nlohmann::ordered_json()},
                           {"notes", std::move(notes)}});
  }
  out["not_measured"] = to_json(measured.not_measured);
  return out;
}

nlohmann::ordered_json to_json(const measure::Plan& plan) {
  nlohmann::ordered_json out;
  out["steps"] = nlohmann::ordered_json::array();
  for (const measure::Step& step : plan.steps)
    out["steps"].push_back({{"what", title_of(step.what)}, {"sizes", step.sizes}, {"refined", step.refine}});
  out["not_measured"] = to_json(plan.not_measured);
  return out;
}

}  // namespace fabricost::cli
