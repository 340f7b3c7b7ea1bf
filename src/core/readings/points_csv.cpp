/// The project's CSV of measured points and the `sources.csv` beside it. An invalid number or name is an
/// error with its place; a well-formed row that is incomplete or not modelled is counted as skipped.

#include "readings/logs/nccl_runs.hpp"
#include "readings/point_readers.hpp"
#include "readings/probe_table.hpp"
#include "specs/data_directory.hpp"
#include "specs/near_or_all.hpp"
#include "specs/parts/identities.hpp"
#include "specs/store.hpp"
#include "text/csv.hpp"
#include "text/joined.hpp"

#include <fabricost/choice/engine_kernels.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace fabricost::core {

namespace {

constexpr int max_counted = 1000000;  ///< nodes, or GPUs of a node: their product must be a valid number of ranks

/// A cell as a number, or the fault of the cell.
struct NumberCell {
  enum class Kind : unsigned char { empty, formula, number, fault };
  Kind kind = Kind::empty;
  double value = 0;
};

NumberCell number_in(CsvTable& table, int column, std::string_view name) {
  const std::string& text = table.cell(column);
  if (text.empty()) return {};
  if (text.front() == '=') return {NumberCell::Kind::formula, 0};
  const auto value = parse_number(text);
  if (!value) {
    table.fault(column, fmt::format("{} is \"{}\", not a number", name, text), "write a number with a point, or leave the cell empty");
    return {NumberCell::Kind::fault, 0};
  }
  if (*value < 0) {
    table.fault(column, fmt::format("{} is negative: {}", name, text), "write a number above 0, or leave the cell empty");
    return {NumberCell::Kind::fault, 0};
  }
  return {NumberCell::Kind::number, *value};
}

/// A whole number from 1; 0 for an empty cell or after a reported fault.
int count_of_cell(CsvTable& table, int column, std::string_view name) {
  const NumberCell cell = number_in(table, column, name);
  if (cell.kind == NumberCell::Kind::empty || cell.kind == NumberCell::Kind::fault) return 0;
  if (cell.kind == NumberCell::Kind::formula || cell.value < 1 || cell.value > max_counted || cell.value != std::floor(cell.value)) {
    table.fault(column, fmt::format("{} is {}, not a whole number from 1 to {}", name, table.cell(column), max_counted),
                "write a count, or leave the cell empty");
    return 0;
  }
  return static_cast<int>(cell.value);
}

std::optional<bool> flag_in(CsvTable& table, int column, std::string_view name) {
  const std::string text = fabricost::core::folded(table.cell(column));
  if (text.empty() || text == "unknown") return std::nullopt;
  if (text == "1" || text == "yes" || text == "true" || text == "on") return true;
  if (text == "0" || text == "no" || text == "false" || text == "off") return false;
  table.fault(column, fmt::format("{} is \"{}\", neither 0 nor 1", name, table.cell(column)), "write 0, 1 or nothing");
  return std::nullopt;
}

template <class Enum, std::size_t N, class Parse>
std::optional<Enum> name_in(CsvTable& table, int column, std::string_view what, const std::array<std::string_view, N>& names, Parse parse) {
  const std::string& text = table.cell(column);
  if (text.empty()) return std::nullopt;
  const auto value = parse(text);
  if (!value) table.fault(column, fmt::format("unknown {} \"{}\"", what, text), near_or_all(text, names));
  return value;
}

struct Columns {
  const CsvTable& t;
  int source = t.column("source"), system = t.column("system"), nodes = t.column("nodes"), gpus_per_node = t.column("gpus_per_node"),
      operation = t.column("operation"), dtype = t.column("dtype"), bytes = t.column("bytes"), time = t.column("time_us"),
      in_place = t.column("in_place"), library = t.column("library"), library_version = t.column("library_version"),
      algorithm = t.column("algorithm"), protocol = t.column("protocol"), notes = t.column("notes"), algbw = t.column("algbw"),
      busbw = t.column("busbw"), path = t.column("path"), both_ways = t.column("both_ways"), streamed = t.column("streamed"),
      ranks = t.column("ranks"), launch = t.column("launch");
};

/// The text of a cell, shared with the previous row if it is the same.
void same_text(SharedText& text, SharedText& last, const std::string& cell) {
  if (!(last == cell)) last = cell;
  text = last;
}

void require(CsvTable& table, const Columns& at) {
  std::vector<std::string> missing;
  if (at.operation < 0) missing.emplace_back("operation");
  if (at.bytes < 0) missing.emplace_back("bytes");
  if (at.time < 0 && at.busbw < 0 && at.algbw < 0) missing.emplace_back("time_us");
  if (missing.empty()) return;
  table.fault(
      -1, fmt::format("the column{} {} {} missing", missing.size() > 1 ? "s" : "", joined(missing), missing.size() > 1 ? "are" : "is"),
      "columns: source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes");
  table.finish();
}

/// Seconds from time_us or, if that is empty, from a bandwidth; a reason if the row has neither.
struct Measured {
  double seconds = 0;
  std::string reason;
};
Measured measured_in(CsvTable& table, const Columns& at, const Point& point) {
  const NumberCell time = number_in(table, at.time, "time_us");
  switch (time.kind) {
    case NumberCell::Kind::fault: return {0, "fault"};
    case NumberCell::Kind::formula: return {0, "time_us is a formula"};
    case NumberCell::Kind::number:
      if (time.value == 0) return {0, "time_us is 0"};
      if (time.value < 1e-3) return {0, "time_us is less than a nanosecond"};
      if (time.value > 86400e6) return {0, "time_us is more than a day"};
      return {time.value * 1e-6, ""};
    case NumberCell::Kind::empty: break;
  }
  for (const bool bus : {false, true}) {
    const NumberCell rate = number_in(table, bus ? at.busbw : at.algbw, bus ? "busbw" : "algbw");
    const double factor = bus ? bus_factor(point.collective, point.ranks()) : 1;
    if (rate.kind == NumberCell::Kind::fault) return {0, "fault"};
    if (rate.kind == NumberCell::Kind::number && rate.value > 0 && factor > 0) {
      const double seconds = point.bytes * factor / (rate.value * 1e9);
      if (!(seconds >= 1e-9 && std::isfinite(seconds))) return {0, bus ? "busbw is no rate of that size" : "algbw is no rate of that size"};
      return {seconds, ""};
    }
  }
  return {0, "time_us is empty"};
}

/// The library's release: that of the column, unless the notes name the release that ran (a folder of measurements named for one release,
/// in whose files a column names another: "version column says 2.29.2").
std::string version_of(const std::string& column, std::string_view notes) {
  static constexpr std::string_view said = "version column says ";
  const std::size_t at = notes.find(said);
  if (at == std::string_view::npos) return column;
  const std::string_view rest = notes.substr(at + said.size());
  const std::string_view version = rest.substr(0, rest.find_first_not_of("0123456789."));
  return version.empty() ? column : std::string{version};
}

/// The launch that a cell or the notes state: XLA times its modules (`module time`); a `loop of` calls inside one launches none of them.
std::optional<LaunchMode> launch_in(CsvTable& table, int column, std::string_view notes) {
  const auto launch = [](std::string_view text) { return fabricost::core::parse_enum<LaunchMode>(text, launch_mode_names); };
  if (const auto stated = name_in<LaunchMode>(table, column, "launch", launch_mode_names, launch)) return stated;
  const bool module = notes.find("module time") != std::string_view::npos && notes.find("loop of") == std::string_view::npos;
  return module ? std::optional{LaunchMode::xla} : std::nullopt;
}

/// The algorithm of a row: NCCL's name of one, an engine's name of its kernel, NCCL's windows, or words for the library's own choice.
void read_algorithm(CsvTable& table, int column, Point& point) {
  point.windows = std::string_view{point.library}.find("(symmetric memory") != std::string_view::npos;
  if (table.cell(column).empty()) return;
  const std::string text = fabricost::core::folded(table.cell(column));
  if (text == "auto" || text == "fallback") return;
  if (text == fabricost::core::folded("symmetric window")) point.windows = true;
  if (const auto engine = parse_inference_library(point.library); engine && !point.windows)
    if ((point.kernel = kernel_of_engine(*engine, table.cell(column)))) point.algorithm = candidate_of(*point.kernel).algorithm;
  if (!point.windows && !point.kernel)
    point.algorithm = name_in<Algorithm>(table, column, "algorithm", algorithm_names, parse_algorithm);
}

/// Whether a collective's buffers were registered with the library (the note `registered`): it may then move data differently.
bool is_registered(std::string_view notes) {
  static constexpr std::string_view key = "registered ";
  return notes.starts_with(key) || notes.find("; " + std::string{key}) != std::string_view::npos;
}

}  // namespace

NamedOperation operation_named(std::string_view text) {
  static constexpr std::array<std::string_view, 14> others{"gather",       "scatter",   "barrier",   "all_to_all_v",   "all_gather_v",
                                                           "gather_v",     "scatter_v", "hypercube", "scan",           "exscan",
                                                           "reduce_local", "put",       "multicast", "all_reduce_bias"};
  const auto modelled = parse_collective(text);
  if (modelled) return {modelled, true};
  const std::string folded = fabricost::core::folded(text);
  return {std::nullopt,
          std::any_of(others.begin(), others.end(), [&](std::string_view o) { return fabricost::core::folded(o) == folded; })};
}

Path path_of_copy(Path path, bool both_ways, std::string_view notes) {
  if (path != Path::gpu_host) return path;
  const auto says = [&](std::string_view word) { return notes.find(word) != std::string_view::npos; };
  if (both_ways) return Path::both_ways;
  if (says("host_to_device") || says("CPU(row) -> GPU")) return Path::to_gpu;
  return says("device_to_host") || says("CPU(row) <- GPU") ? Path::from_gpu : path;
}

int gpus_per_node_of(const std::string& system) { return load_system(system).gpus_per_node; }

namespace {

/// The name of a machine in the words of a table: "GB300 NVL72" is gb300-nvl72, "8x B300 node, 6 of 8 GPUs" 8x-b300-node.
std::string machine_named(std::string text) {
  text.resize(std::min(text.find(','), text.size()));
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c == ' ' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

/// The machine that measured points ran on: the request's own file where they call it by its name, else as a shipped file says of their
/// source (`runs:`).
class MachinesOfRuns {
 public:
  /// \param system of the request
  explicit MachinesOfRuns(const std::string& system) : own_(system) {
    if (!is_path(system) || !is_there(system)) return;
    const SpecNode tree = parse_spec(system), *name = tree.find("name");
    names_ = {std::filesystem::path{system}.stem().string(), name != nullptr ? name->text : std::string{}};
  }
  [[nodiscard]] const std::string& of(const std::string& source, const std::string& system) {
    if (!system.empty() && std::find(names_.begin(), names_.end(), system) != names_.end()) return own_;
    if (!runs_) runs_ = machine_identities(data_directory()).runs;
    if (source != source_ || system != system_) {
      source_ = source;
      system_ = system;
      const auto found = runs_->find({source, system});
      of_last_ = found != runs_->end() ? found->second : system.find(' ') != std::string::npos ? machine_named(system) : system;
    }
    return of_last_;
  }

 private:
  std::string own_;
  std::array<std::string, 2> names_;
  std::string source_, system_, of_last_;  // of the row before, whose texts most rows have
  std::optional<std::map<std::pair<std::string, std::string>, std::string>> runs_;
};

/// The fewest nodes that hold so many ranks, as many each; one if the number per node is not known (0).
[[nodiscard]] int nodes_for(int ranks, int per_node) {
  if (per_node == 0) return 1;
  int nodes = (ranks + per_node - 1) / per_node;
  while (ranks % nodes != 0) ++nodes;
  return nodes;
}

}  // namespace

std::vector<Skipped> read_point_csv(const std::filesystem::path& file, const PointDefaults& otherwise, const RunDescriptions& runs,
                                    const PointSink& sink) {
  std::vector<Skipped> skipped;
  CsvTable table(file);
  const Columns at{table};
  require(table, at);
  NodeSizes sizes;
  MachinesOfRuns of_runs(otherwise.system);
  Point last;  // rows with equal texts share them
  while (table.next()) {
    Point point;
    std::string reason;
    const auto because = [&](std::string why) {
      if (reason.empty()) reason = std::move(why);
    };
    same_text(point.source, last.source, table.cell(at.source));
    if (!table.cell(at.system).empty()) same_text(point.system, last.system, of_runs.of(table.cell(at.source), table.cell(at.system)));
    const NamedOperation operation = operation_named(table.cell(at.operation));
    if (operation.modelled) {
      point.collective = *operation.modelled;
    } else if (const core::ProbeType* probe = core::probe_named(table.cell(at.operation))) {
      because(std::string{why_not_priced(*probe)});
    } else if (operation.known) {
      because(fmt::format("operation not modelled: {}", table.cell(at.operation)));
    } else if (table.cell(at.operation).empty()) {
      because("operation is empty");
    } else {
      table.fault(at.operation, fmt::format("unknown operation \"{}\"", table.cell(at.operation)),
                  near_or_all(table.cell(at.operation), collective_names));
    }
    point.dtype = name_in<DataType>(table, at.dtype, "dtype", data_type_names, parse_data_type).value_or(DataType::half);
    point.protocol = name_in<Protocol>(table, at.protocol, "protocol", protocol_names, parse_protocol);
    point.in_place = flag_in(table, at.in_place, "in_place");
    same_text(point.library, last.library, table.cell(at.library));
    read_algorithm(table, at.algorithm, point);
    same_text(point.library_version, last.library_version, version_of(table.cell(at.library_version), table.cell(at.notes)));
    same_text(point.notes, last.notes, table.cell(at.notes));
    Environment environment;
    environment.read(table.cell(at.notes));
    add_environment(point, environment);
    if (is_registered(table.cell(at.notes))) because("buffers registered with the library, which are not priced");
    point.path = name_in<Path>(table, at.path, "path", path_names, parse_path);
    point.both_ways = flag_in(table, at.both_ways, "both_ways").value_or(false);
    if (point.path) point.path = path_of_copy(*point.path, point.both_ways, table.cell(at.notes));
    point.streamed = flag_in(table, at.streamed, "streamed").value_or(false);
    point.nodes = count_of_cell(table, at.nodes, "nodes");
    point.gpus_per_node = count_of_cell(table, at.gpus_per_node, "gpus_per_node");
    const auto stated = launch_in(table, at.launch, table.cell(at.notes));
    point.launch.mode = stated.value_or(LaunchMode::graph);
    if (stated) point.launched = 1U << static_cast<unsigned>(*stated);
    const NumberCell bytes = number_in(table, at.bytes, "bytes");
    if (bytes.kind == NumberCell::Kind::formula) because("bytes is a formula");
    if (bytes.kind == NumberCell::Kind::empty) because("bytes is empty");
    if (bytes.kind == NumberCell::Kind::number && bytes.value == 0) because("bytes is 0");
    if (bytes.value != std::floor(bytes.value))
      table.fault(at.bytes, fmt::format("bytes is {}, not a whole number", table.cell(at.bytes)), "write the size as nccl-tests counts it");
    point.bytes = bytes.value;

    describe(point, runs);
    if (point.system.empty()) point.system = otherwise.system;
    if (point.system.empty()) {
      table.fault(at.system, "the row does not say which machine it was measured on", "add <system=NAME> (`fabricost machine` lists them)");
      table.finish();  // every further row would say the same
    }
    if (point.nodes == 0) point.nodes = otherwise.nodes;
    if (const int ranks = count_of_cell(table, at.ranks, "ranks"); ranks > 0) {
      if (point.nodes == 0) point.nodes = nodes_for(ranks, sizes.of(point.system));
      const int nodes = point.nodes;
      if (ranks % nodes != 0)
        table.fault(at.ranks, fmt::format("{} ranks do not spread evenly over {} nodes", ranks, nodes), "say gpus_per_node instead");
      else if (point.gpus_per_node > 0 && nodes * point.gpus_per_node != ranks)
        table.fault(at.ranks, fmt::format("{} nodes with {} GPUs are not {} ranks", nodes, point.gpus_per_node, ranks),
                    "two of the three are enough");
      point.gpus_per_node = ranks / nodes;
    }
    point.nodes = std::max(1, point.nodes);
    if (point.gpus_per_node == 0 && otherwise.ranks > 0) {
      if (otherwise.ranks % point.nodes != 0)
        throw RequestError(
            fmt::format("{}:{}: {} ranks do not spread evenly over {} nodes", table.name(), table.line(), otherwise.ranks, point.nodes));
      point.gpus_per_node = otherwise.ranks / point.nodes;
    }
    if (static_cast<double>(point.nodes) * point.gpus_per_node > 1e8) {
      because("more than 10^8 ranks");
      point.gpus_per_node = 0;
    }
    const Measured time = measured_in(table, at, point);
    because(time.reason);
    point.seconds = time.seconds;
    if (reason.empty())
      sink(std::move(point));
    else
      count_skipped(skipped, reason);
  }
  table.finish();
  return skipped;
}

namespace {

/// Reads a run's launch mode from its log, if there is one.
void read_head(const std::filesystem::path& log, RunDescription& into) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(log, error)) return;
  bool first = true;
  (void)read_nccl_runs(log, [&](const LogRun& run, bool) {
    if (std::exchange(first, false)) {
      into.launch = launch_of(run);
      into.early_tests = is_early(run);
    }
  });
}

}  // namespace

RunDescriptions read_sources(const std::filesystem::path& point_file) {
  const std::filesystem::path file = point_file.parent_path() / "sources.csv";
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) || std::filesystem::equivalent(file, point_file, error)) return {};
  CsvTable table(file);
  const int id = table.column("id");
  if (id < 0) return {};  // another file of that name
  const int system = table.column("system"), nodes = table.column("nodes"), gpus = table.column("gpus_per_node"),
            nics = table.column("nics_per_node"), rate = table.column("nic_gbps"), direct = table.column("gdr"),
            sharp = table.column("sharp"), algorithm = table.column("algorithm_forced"), protocol = table.column("protocol_forced"),
            health = table.column("health"), notes = table.column("notes");
  RunDescriptions out;
  while (table.next()) {
    if (table.cell(id).empty()) continue;
    RunDescription run;
    run.system = table.cell(system);
    run.nodes = count_of_cell(table, nodes, "nodes");
    run.gpus_per_node = count_of_cell(table, gpus, "gpus_per_node");
    run.nics_per_node = count_of_cell(table, nics, "nics_per_node");
    run.nic_rate = units::Gbit_per_s(number_in(table, rate, "nic_gbps").value);
    run.gpu_direct = flag_in(table, direct, "gdr");
    run.sharp = flag_in(table, sharp, "sharp");
    run.environment.read(table.cell(notes));
    if (const auto forced = name_in<Algorithm>(table, algorithm, "algorithm", algorithm_names, parse_algorithm))
      run.environment.algorithm = forced;
    if (const auto forced = name_in<Protocol>(table, protocol, "protocol", protocol_names, parse_protocol)) run.environment.protocol = forced;
    run.health = table.cell(health);
    const auto says = [&](std::string_view words) { return table.cell(notes).find(words) != std::string_view::npos; };
    if (says("event-timed")) run.launch.mode = LaunchMode::eager;  // each call by itself
    if (says("one process, ") || says("one process a node")) run.launch.mode = LaunchMode::one_process;
    read_head(file.parent_path() / "logs" / (table.cell(id) + ".txt"), run);
    if (!out.emplace(table.cell(id), run).second)
      table.fault(id, fmt::format("the id \"{}\" is there twice", table.cell(id)), "an id describes one run");
  }
  table.finish();
  return out;
}

void add_environment(Point& point, const Environment& environment) {
  if (!point.algorithm) point.algorithm = environment.algorithm;
  if (!point.protocol) point.protocol = environment.protocol;
  point.nvls = point.nvls && environment.nvls;
  point.pxn = point.pxn && environment.pxn;
}

void describe(Point& point, const RunDescriptions& runs) {
  const auto found = runs.find(point.source);
  if (found == runs.end()) return;
  const RunDescription& run = found->second;
  if (point.system.empty()) point.system = run.system;
  if (point.nodes == 0) point.nodes = run.nodes;
  if (point.gpus_per_node == 0) point.gpus_per_node = run.gpus_per_node;
  add_environment(point, run.environment);
  point.gpu_direct = run.gpu_direct;
  point.sharp = run.sharp;
  point.nics_per_node = run.nics_per_node;
  point.nic_rate = run.nic_rate;
  point.health = run.health;
  if (point.launched == 0 && run.launch.mode != LaunchMode::graph) point.launched = 1U << static_cast<unsigned>(run.launch.mode);
  point.early_tests = point.early_tests || run.early_tests;
  if (point.nodes > 1) return;  // between nodes the constants of transports hold launches
  if (point.launch == CallLaunch{}) point.launch = run.launch;
}

}  // namespace fabricost::core
