/// Reads a log and compares it with its machine; conclude.cpp draws the conclusions.

#include "diagnose/diagnose.hpp"

#include "diagnose/across/against.hpp"
#include "diagnose/context.hpp"
#include "diagnose/inputs/curves.hpp"
#include "diagnose/inputs/inputs.hpp"
#include "diagnose/inputs/split.hpp"
#include "readings/logs/nccl_runs.hpp"
#include "text/joined.hpp"
#include "text/line_reader.hpp"
#include "text/plain_text.hpp"
#include "text/quantile.hpp"

#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>
#include <fabricost/validation/set_aside.hpp>
#include <fabricost/validation/validate.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>

namespace fabricost::observe {

namespace {

using diagnosis::Context;

/// Checks every point against the limits of its machine's wires and of a kernel launch. \param system
/// nullptr: not known \param doubt factor on the rate of the links that is still accepted \param wires of perftest, each of one adapter
diagnosis::Impossible impossible_in(const std::vector<Point>& points, const System* system, double doubt,
                                    const std::vector<diagnosis::WireRate>& wires = {}) {
  const Tier* const nic = system != nullptr ? system->tier(TierRole::nic) : nullptr;
  const bool one_adapter =
      nic != nullptr && !wires.empty() &&
      std::none_of(wires.begin(), wires.end(), [](const auto& one) { return one.adapter.find("bond") != std::string::npos; });

  diagnosis::Impossible out;
  out.of = points.size();
  double worst = 0, top = 0;
  for (const Point& p : points) top = std::max(top, p.bytes);
  for (const Point& p : points) {
    const bool is_large = p.bytes >= top / 16;
    out.of_large += is_large ? 1 : 0;
    const bool one = one_adapter && p.streamed && p.path == Path::nic;
    const double max = system == nullptr ? 0 : doubt * (one ? nic->bandwidth.value.value() : highest_bus_bandwidth(*system, p));
    if (!is_impossible(p, max)) continue;
    ++out.times;
    out.large += is_large ? 1 : 0;
    const double rate = p.bytes / p.seconds * bus_factor(p.collective, p.path ? 2 : p.ranks());
    const double beyond = max > 0 && rate > max ? rate / max : shortest_collective / p.seconds;
    if (beyond <= worst) continue;
    worst = beyond;
    const std::string what = fmt::format("{} in {}", size_text(Bytes::from_value(p.bytes)), time_text(Time::from_value(p.seconds)));
    out.example = max > 0 && rate > max ? fmt::format("{} is {} of bus bandwidth, the wires of {} allow {}", what,
                                                      diagnosis::gigabytes(rate), system->name, diagnosis::gigabytes(max))
                                        : fmt::format("{}; a kernel takes longer to start", what);
  }
  return out;
}

/// Assigns points to the machine they are compared with: a guessed one gets the adapters of the log.
void place_on(Points& points, const diagnosis::Machine& machine) {
  for (Point& p : points.points) {
    p.gpu_direct.reset();  // the comparison is with what the machine should give, whatever this run's messages excuse
    if (machine.nics > 0) p.nics_per_node = machine.nics;
    if (machine.nic_rate > 0) p.nic_rate = LineRate::from_value(machine.nic_rate * 8);
  }
}

/// Removes single rows that contradict their own bandwidth, or that no wire allows: one damaged row must not decide. Where most are alike
/// the log has another unit, or is not what it says.
void set_damaged_aside(Points& points, Context& c, double doubt, std::vector<std::string>& notes) {
  const auto damaged = [&](const Point& p) {
    return p.contradicts_itself || is_impossible(p, c.system ? highest_bus_bandwidth(*c.system, p) * doubt : 0);
  };
  const auto count = std::count_if(points.points.begin(), points.points.end(), damaged);
  if (count == 0 || 3 * count > std::ssize(points.points)) return;
  const Point first = *std::find_if(points.points.begin(), points.points.end(), damaged);
  std::erase_if(points.points, damaged);
  std::erase_if(c.curve, [&](const diagnosis::Shown& row) {
    return std::none_of(points.points.begin(), points.points.end(), [&](const Point& p) { return p.bytes == row.bytes; });
  });
  notes.push_back(fmt::format("{} set aside, as {} in {}: {}", count == 1 ? "1 time" : fmt::format("{} times", count),
                              size_text(Bytes::from_value(first.bytes)), time_text(Time::from_value(first.seconds)),
                              first.contradicts_itself ? "the printed bandwidth is not bytes / time" : "no wire of the machine is so fast"));
}

std::vector<std::string> overrides_of(const DiagnoseRequest& request) {
  std::vector<std::string> out = request.system.overrides;
  out.insert(out.end(), request.overrides.begin(), request.overrides.end());
  return out;
}
std::string calibration_of(const DiagnoseRequest& request) {
  return request.calibration.empty() ? request.system.calibration : request.calibration;
}

void reduce_in_switches(System& system) {
  for (Tier& tier : system.tiers)
    if (tier.role == TierRole::nic) tier.sharp = true;
}

/// Times that only switches which reduce allow, on a machine that does not say that its own do: it becomes one with them.
void consider_sharp(Context& c, const std::vector<Point>& points, double doubt) {
  if (!c.system || c.impossible.believed()) return;
  System with = *c.system;
  reduce_in_switches(with);
  const diagnosis::Impossible seen = impossible_in(points, &with, doubt, c.pairs.wires);
  if (!seen.believed()) return;
  c.faster_than_without_sharp = c.impossible.example;
  c.impossible = seen;
  c.system = std::move(with);
}

/// The predictions of a report's points as if their environment forced nothing.
std::vector<Time> without_forcing(const ValidationReport& report, const ValidationOptions& how) {
  std::vector<Time> out;
  Points free;
  for (const ComparedPoint& one : report.points) {
    out.push_back(one.prediction.time());
    Point p = one.point;
    p.algorithm.reset();
    p.protocol.reset();
    p.nvls = p.pxn = true;
    free.points.push_back(std::move(p));
  }
  const auto forced = [](const ComparedPoint& one) {
    const Point& p = one.point;
    return p.algorithm || p.protocol || !p.nvls || !p.pxn;
  };
  if (std::none_of(report.points.begin(), report.points.end(), forced)) return out;
  ValidationOptions raw = how;
  raw.raw = true;  // already merged
  const ValidationReport without = validate(free, raw);
  for (std::size_t i = 0; i < out.size() && without.points.size() == out.size(); ++i) out[i] = without.points[i].prediction.time();
  return out;
}

/// Of each matrix of copies the middle cell as it stands in the file, of two the slower one, so that every test is judged by its own link.
/// \return the tests in words, by notes and size; empty: the points are not of copies alone
std::map<std::pair<std::string, double>, std::string> one_cell_of_each_test(Points& points) {
  std::map<std::pair<std::string, double>, std::vector<Point>> tests;
  for (const Point& p : points.points) {
    if (!p.path || p.streamed) return {};
    tests[{p.notes.str(), p.bytes}].push_back(p);
  }
  points.points.clear();
  std::map<std::pair<std::string, double>, std::string> out;
  for (auto& [test, cells] : tests) {
    std::sort(cells.begin(), cells.end(), [](const Point& a, const Point& b) { return a.seconds < b.seconds; });
    std::string words = test.first.substr(0, test.first.find(';'));
    const Point& middle = cells[cells.size() / 2];
    if (cells.back().seconds > middle.seconds)
      words += fmt::format(", slowest of {} cells {}", cells.size(), diagnosis::gigabytes(cells.back().bytes / cells.back().seconds));
    out[test] = std::move(words);
    points.points.push_back(middle);
  }
  return out;
}

/// Predicts the log's points.
std::vector<DiagnosedSize> compare(Points points, const DiagnoseRequest& request, bool sharp, std::vector<std::string>& notes) {
  std::vector<DiagnosedSize> out;
  ValidationOptions how{.calibration = calibration_of(request), .overrides = overrides_of(request)};
  if (sharp) how.adjust = reduce_in_switches;
  const auto tests = one_cell_of_each_test(points);
  how.raw = !tests.empty();
  const ValidationReport report = validate(points, how);
  const std::vector<Time> unforced = without_forcing(report, how);
  if (report.points.empty())
    for (const Skipped& one : report.skipped) notes.push_back("no comparison: " + one.reason);
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const ComparedPoint& one = report.points[i];
    const Point& p = one.point;
    out.push_back({.collective = p.collective,
                   .bytes = Bytes::from_value(p.bytes),
                   .ranks = p.ranks(),
                   .nodes = p.nodes,
                   .measured = units::s(p.seconds),
                   .predicted = one.prediction.time(),
                   .low = units::s(one.prediction.low),
                   .high = units::s(one.prediction.high),
                   .unforced = unforced[i],
                   .bus_bandwidth = units::B_per_s(p.bytes / p.seconds * bus_factor(p.collective, p.ranks())),
                   .dtype = p.dtype,
                   .streamed = p.streamed,
                   .basis = one.prediction.basis,
                   .path = p.path});
    if (const auto test = tests.find({p.notes.str(), p.bytes}); test != tests.end()) out.back().test = test->second;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const DiagnosedSize& a, const DiagnosedSize& b) { return a.bytes < b.bytes; });
  return out;
}

/// Maximum points kept of a long log: more than any nccl-tests run prints, some 100 MB.
constexpr std::size_t max_points = 65536;
struct MostRead {};

/// The first points of a log. \param whole false if there are more
Points first_points(const std::filesystem::path& file, const PointDefaults& source, bool& whole) {
  Points out;
  try {
    out.skipped = read_points(file, source, [&](Point&& point) {
      if (out.points.size() == max_points) throw MostRead{};
      out.points.push_back(std::move(point));
    });
  } catch (const MostRead&) {
    whole = false;
  }
  return out;
}

/// Reads the points; if the ranks are unknown, tries the only power of two of full nodes that fits.
Points read_with_ranks(const std::filesystem::path& file, const PointDefaults& source, const std::vector<LogRun>& runs,
                       std::vector<std::string>& notes, bool& whole) {
  try {
    return first_points(file, source, whole);
  } catch (const SpecError& error) {
    if (source.ranks > 0 || error.issues().front().message.find("how many ranks") == std::string::npos) throw;
    const int per_node = load_system(source.system).gpus_per_node;
    const Ratio bounds = ratio_bounds(runs);
    std::optional<Points> only;
    int ranks = 0;
    for (int n = 2 * per_node; n <= 65536 && bounds.low > 0; n *= 2) {
      if (source.nodes > 0 && n != source.nodes * per_node) continue;
      try {
        PointDefaults of_n = source;
        of_n.nodes = n / per_node;
        of_n.ranks = n;
        Points some = first_points(file, of_n, whole);
        const double factor = some.points.empty() ? 0 : bus_factor(some.points.front().collective, n);
        if (factor < bounds.low || factor > bounds.high) continue;
        if (only) throw;
        only = std::move(some);
        ranks = n;
      } catch (const RequestError&) {
        continue;  // does not fit the table
      }
    }
    if (!only) throw;
    notes.push_back(
        fmt::format("the log does not list its ranks; of full nodes in powers of two, its bandwidths fit {} ranks only", ranks));
    return std::move(*only);
  }
}

/// Refuses a file without any known content: no NCCL message, table or figure about communication.
[[noreturn]] void refuse(const std::filesystem::path& file) {
  LineReader lines(file);
  std::string line;
  while (lines.next(line) && line.find_first_not_of(" \t") == std::string::npos) {}
  if (lines.number() == 0)
    throw fault_of_file(file.string(), "is empty", "give the output of nccl-tests, or of any program run with NCCL_DEBUG=INFO");
  if (line.find("<system ") != std::string::npos)
    throw fault_of_file(file.string(), "is a topology of NCCL, and no log", fmt::format("fabricost topo {}", file.string()));
  throw SpecError(
      {fault_in_line(file.string(), std::max(1, lines.number()), 1, line.substr(0, 120), "nothing in this file speaks of a run",
                         "expected output of nccl-tests, or of any program run with NCCL_DEBUG=INFO")});
}

/// True for figures with an algorithm, a version, or a number of nodes or GPUs; for repeated times; or for
/// lines with terms of the field.
bool about_communication(const std::vector<diagnosis::Quoted>& quoted) {
  constexpr std::ptrdiff_t repeats = 4;
  if (std::count_if(quoted.begin(), quoted.end(), [](const diagnosis::Quoted& q) { return q.seconds > 0; }) >= repeats) return true;
  return std::any_of(quoted.begin(), quoted.end(), [](const diagnosis::Quoted& q) {
    if (!q.algorithm.empty() || !q.version.empty() || q.nodes > 0 || !q.pair.first.empty() || !q.gpus.empty()) return true;
    for (const char* word :
         {"busbw", "NCCL", "nccl", "all_reduce", "allreduce", "AllReduce", "_perf", "ib_write", "all_gather", "alltoall"})
      if (q.line.text.find(word) != std::string::npos) return true;
    return false;
  });
}

/// True where one of the first lines has a word of the field: there may be nothing to judge in it, but it is of a run.
bool names_the_field(const std::filesystem::path& file) {
  constexpr int most_lines = 2000;
  LineReader lines(file);
  for (std::string line; lines.number() < most_lines && lines.next(line);)
    for (const char* word : {"NCCL", "nccl", "CUDA", "torch", "GPU", "RDMA", "mlx5", "InfiniBand", "all_reduce", "allreduce", "busbw",
                             "libcuda", "RVS", "p2p", "slurm", "srun", "salloc", "MPI", "nvidia", "amdgpu", "SHARP", "sharp", "NVSHMEM",
                             "nvshmem", "gloo", "ibv_", "UCX", "libfabric", "vllm", "vLLM", "sglang", "Megatron", "HSA_", "CCL_", "PMIx",
                             "NIXL", "Mooncake", "NVRM", "rocm", "ROCm", "num_tokens", "gpu_worker", "pid="})
      if (!line.starts_with("#source") && line.find(word) != std::string::npos) return true;
  return false;
}

/// Words about machines also occur in documents and sources: they count only in a file that may be a log.
bool is_notes(const std::filesystem::path& file) {
  const std::string extension = file.extension().string();
  return extension.empty() || extension == ".txt" || extension == ".log" || extension == ".out" || extension == ".err";
}

/// The runs of a log, each with at most the rows kept at once, and no more runs than a person would look at.
std::vector<LogRun> first_runs(const std::filesystem::path& file) {
  constexpr std::size_t max_runs = 256;
  std::vector<LogRun> out;
  std::size_t rows = 0;
  bool fresh = true;
  try {
    (void)read_nccl_runs(file, [&](const LogRun& run, bool last) {
      if (fresh && (out.size() == max_runs || rows >= max_points)) throw MostRead{};
      if (fresh) {
        out.push_back(run);
        rows += run.rows.size();
      }
      fresh = last;
    });
  } catch (const MostRead&) {  // the rest is not used
  }
  return out;
}

/// Removes terminal control characters from every text, since texts quote the log.
void make_plain(Diagnosis& out) {
  const auto plain = [](std::string& text) { text = plain_text(std::move(text)); };
  plain(out.verdict);
  plain(out.normal);
  for (Difference& one : out.differences) {
    plain(one.here);
    plain(one.there);
  }
  for (Finding& finding : out.causes) {
    plain(finding.evidence);
    plain(finding.remedy);
    plain(finding.what);
  }
  std::for_each(out.notes.begin(), out.notes.end(), plain);
}

/// Adds differences from a run that went well, which also decides the verdict without another comparison.
void compare_with(const std::filesystem::path& good, const Context& c, const std::filesystem::path& file, Diagnosis& out) {
  const diagnosis::Inputs inputs({good});
  std::string test;
  diagnosis::Shows there{read_nccl_info(inputs.file(), c.rules->signs), read_rank_reports(inputs.file()),
                         diagnosis::curve_of(first_runs(inputs.file()), test), inputs.file()};
  const diagnosis::Shows here{c.info, c.reports, c.test == test ? c.curve : std::vector<diagnosis::Shown>{}, file};
  const diagnosis::Numbers& thresholds = c.numbers("against");
  out.differences = diagnosis::differences(here, there, thresholds);
  const diagnosis::Slowest worst = diagnosis::slowest_size(here.curve, there.curve);
  if (out.state == RunState::nothing_to_judge && worst.share < thresholds["share"]) {
    out.state = RunState::slow;
    out.healthy = false;
    out.verdict = fmt::format("slow: {} of bus bandwidth at {}, where the run that went well has {}", diagnosis::gigabytes(worst.here),
                              size_text(Bytes::from_value(worst.bytes)), diagnosis::gigabytes(worst.there));
  }
  std::map<double, double> apart;
  for (const diagnosis::Shown& one : here.curve)
    for (const diagnosis::Shown& other : there.curve)
      if (one.bytes == other.bytes && other.bus > 0) apart[one.bytes] = one.bus / other.bus;
  const Collective collective = c.sizes.empty() ? Collective::all_reduce : c.sizes.front().collective;
  if (std::string words = diagnosis::plain_factor(apart, collective, c.ranks()); !words.empty())
    out.notes.insert(out.notes.begin(), "with the run that went well " + words);
  if (out.differences.empty()) out.notes.push_back("nothing differs from the run that went well");
}

/// All ranks of the log, each with a device of its own, are on fewer hosts than the request says nodes. Host names may be those of
/// containers, but two of these would share their devices' numbers.
void refuse_more_nodes(const NcclInfo& info, int nodes, const std::filesystem::path& file) {
  std::map<std::string, std::set<std::string>> devices;
  for (const RankLine& one : info.rank_lines) {
    const std::size_t at = one.line.text.find(" device ");
    if (at == std::string::npos || !devices[one.host].insert(one.line.text.substr(at, one.line.text.find('[', at) - at)).second) return;
  }
  const std::size_t ranks = info.rank_lines.size();
  if (ranks == 0 || ranks != static_cast<std::size_t>(info.ranks > 0 ? info.ranks : static_cast<int>(ranks)) || nodes <= std::ssize(devices)) return;
  std::vector<std::string> hosts;
  for (const auto& one : devices) hosts.push_back(one.first);
  throw Refusal(fmt::format("{}: line {}: all {} ranks are on {}; leave <nodes> out", file.string(), info.rank_lines.front().line.number, ranks,
                            diagnosis::first_of(hosts, 4)));
}

diagnosis::Part diagnose_one(const std::filesystem::path& file, const diagnosis::Dumps& dumps,
                             const diagnosis::Rules& rules, const DiagnoseRequest& request) {
  diagnosis::Part part;
  Diagnosis& out = part.answer;
  Context c;
  c.dumps = &dumps;
  if (!request.expected.empty()) c.expected = diagnosis::parse_expectation(request.expected);
  if (request.system) c.system = request.system.load(request.overrides, {}, request.calibration);
  c.rules = &rules;
  const diagnosis::Numbers& judgement = c.numbers("judgement");
  c.info = read_nccl_info(file, c.rules->signs);
  c.quoted = diagnosis::quoted_figures(file);
  const std::vector<LogRun> runs = first_runs(file);
  c.curve = diagnosis::curve_of(runs, c.test);
  c.reports = read_rank_reports(file);
  c.pairs = diagnosis::read_pair_rates(file);
  c.steps = read_step_times(file);
  for (const std::string& gpu : c.info.rank_lines.empty() ? c.pairs.gpus : std::vector<std::string>{})
    c.info.rank_lines.push_back({static_cast<int>(c.info.rank_lines.size()), "", gpu, {}});
  for (const LogRun& run : runs)
    for (const LogRow& row : run.rows) c.last_row = std::max(c.last_row, row.line);
  c.rows_follow = c.last_row == 0 && c.info.has("table_head");
  if (request.nodes > 0) refuse_more_nodes(c.info, request.nodes, file);
  if (request.nodes > 0) c.info.nodes = request.nodes;
  if (request.ranks > 0) c.info.ranks = request.ranks;

  diagnosis::Machine machine{request.system.name, 0, 0, {}};
  if (!c.system) {
    if (const auto guess = diagnosis::guessed_machine(c.info, file)) {
      machine = *guess;
      c.system = load_system(machine.system, overrides_of(request), calibration_of(request));
      c.guessed = true;
    }
  }
  if (c.system && !c.guessed) c.contradiction = diagnosis::contradiction_of(c.info, *c.system, true);
  bool table = !runs.empty();
  try {
    const PointDefaults source = stated(machine.system.empty() ? "dgx-h100" : machine.system, request.nodes, request.ranks, request.launch,
                                      request.library);
    if (runs.empty() || !machine.system.empty()) {
      bool whole = true;
      Points points = read_with_ranks(file, source, runs, out.notes, whole);  // also JSON and point CSVs
      table = true;
      c.nodes_assumed = std::any_of(points.points.begin(), points.points.end(), [](const Point& p) { return p.nodes_assumed; });
      if (c.nodes_assumed && !machine.system.empty() && !points.points.front().path)
        throw fault_of_file(file.string(), "the log does not say how many ranks took part", "add <ranks=N> (and <nodes=N>)");
      if (!whole) out.notes.push_back(fmt::format("the log is long: the first {} times were compared, and no more", max_points));
      place_on(points, machine);
      if (const std::string allows = diagnosis::machine_that_allows(machine, points.points); allows != machine.system) {
        c.system = load_system(allows, overrides_of(request), calibration_of(request));
        for (Point& p : points.points) p.system = allows;
      }
      const double doubt = c.guessed ? judgement["wires_of_guess"] : 1;
      c.impossible = impossible_in(points.points, c.system ? &*c.system : nullptr, doubt, c.pairs.wires);
      consider_sharp(c, points.points, doubt);
      for (const Skipped& s : points.skipped)
        out.notes.push_back(fmt::format("{} row{} set aside: {}", s.rows, s.rows == 1 ? "" : "s", s.reason));
      if (c.impossible.believed()) set_damaged_aside(points, c, doubt, out.notes);
      if (runs.empty()) c.curve = diagnosis::transfers_of(points.points);
      c.transfers = !c.curve.empty() && runs.empty();
      c.unplaced = runs.empty() && c.curve.empty() && !points.points.empty() && machine.system.empty();
      if (!machine.system.empty() && c.contradiction.empty())
        c.sizes = compare(points, request, !c.faster_than_without_sharp.empty(), out.notes);
    }
  } catch (const SpecError& error) {
    const Issue& first = error.issues().front();
    const auto option = [](std::string_view field, std::string_view value) { return fmt::format("--{} {}", field, value); };
    const std::string remedy = with_fields(first.remedy, option);
    if (table) out.notes.push_back(fmt::format("no comparison: {}{}{}", first.message, remedy.empty() ? "" : ": ", remedy));
  } catch (const RequestError& error) {
    if ((!c.guessed && request.system) || request.ranks > 0 || request.nodes > 0) throw;
    out.notes.push_back(fmt::format("no comparison: {}", error.what()));
  }
  c.impossible.without = diagnosis::rows_without_time(runs);
  if (!c.contradiction.empty()) c.impossible = {};
  c.wrong_results = diagnosis::wrong_results_of(runs);
  c.ends_early = diagnosis::early_end_of(runs, c.info);
  const bool words = is_notes(file) && (c.info.says_words || about_communication(c.quoted) || names_the_field(file));
  const bool dumped = !dumps.flights.empty() || !dumps.inspected.empty() || c.reports.ras.seen;
  const bool failed = is_notes(file) && diagnosis::says_a_failure(c);
  if (!table && !c.info.says_anything && !words && !dumped && !failed && c.steps.empty() && c.pairs.streams.empty()) refuse(file);

  if (!c.sizes.empty() && c.sizes.front().collective == Collective::all_to_all)
    std::erase_if(c.curve,
                  [&](const diagnosis::Shown& row) { return static_cast<long long>(row.bytes) / c.sizes.front().ranks % 16 != 0; });
  c.judged = diagnosis::judge(c.sizes, c.guessed, judgement);
  if (c.system) out.system = c.system->name;
  out.system_guessed = c.guessed;
  if (const auto ports = c.guessed ? diagnosis::slow_ports(c.info, *c.system) : std::nullopt; ports && machine.nic_rate > 0)
    out.adapters = ports->there;
  if (c.judged.compared) out.basis = c.judged.at->basis;
  if (c.impossible.believed() && c.contradiction.empty()) out.normal = diagnosis::normal_in_words(c);
  diagnosis::conclude(out, c);
  if (c.judged.compared && (c.judged.slow || c.judged.above || c.judged.faster)) {
    std::map<double, double> apart;
    for (const DiagnosedSize& one : c.sizes)
      if (one.collective == c.judged.at->collective && one.ranks == c.judged.at->ranks) apart[one.bytes.value()] = 1 / one.ratio();
    if (const std::string factor = diagnosis::plain_factor(apart, c.judged.at->collective, c.judged.at->ranks); !factor.empty())
      out.notes.insert(out.notes.begin(), "measured and predicted: " + factor);
  }
  if (!request.against.empty()) compare_with(request.against, c, file, out);
  make_plain(out);
  out.sizes = c.sizes;
  part.curve = std::move(c.curve);
  return part;
}

/// Each of several tests by itself. One that contradicts the request, or cannot be read, leaves the others their
/// answer; the first fault is raised where all have one.
Diagnosis diagnose_each(const diagnosis::Inputs& inputs, const std::vector<diagnosis::Test>& tests,
                        const diagnosis::Rules& rules, const DiagnoseRequest& request) {
  std::vector<diagnosis::Part> parts;
  std::exception_ptr fault;
  const auto none = [&](const diagnosis::Test& test, const char* why) {
    if (!fault) fault = std::current_exception();
    if (test.tables == 0) return;  // lines of other files, which speak of no run
    parts.emplace_back().answer.verdict = std::string{"nothing to judge: "} + why;
    parts.back().answer.healthy = false;
    parts.back().title = test.title();
    parts.back().place = test.place();
  };
  const diagnosis::Dumps nothing;
  bool any = false;
  for (const diagnosis::Test& test : tests) try {
      const diagnosis::PartOfLog part(inputs.file(), test);
      parts.push_back(diagnose_one(part.file(), &test == &tests.back() ? inputs.dumps() : nothing, rules, request));
      parts.back().title = test.title();
      parts.back().file = test.file;
      parts.back().place = test.place();
      parts.back().answer.verdict += test.repeated();
      if (test.hosts.size() == 1) parts.back().host = *test.hosts.begin();
      parts.back().said = plain_text(test.said);
      parts.back().like = fmt::format("{} {} {}", test.operation, test.ranks, joined(std::vector(test.gpus.begin(), test.gpus.end()), ","));
      any = any || test.tables > 0;
    } catch (const SpecError& error) {
      none(test, error.issues().front().message.c_str());
    } catch (const RequestError& error) {
      none(test, error.what());
    }
  if (!any && fault) std::rethrow_exception(fault);
  return diagnosis::together(std::move(parts), rules);
}

Diagnosis diagnose_inputs(const diagnosis::Inputs& inputs, const DiagnoseRequest& request, const diagnosis::Rules& rules) {
  try {
    const std::vector<diagnosis::Test> tests = diagnosis::different_tests(inputs.file());
    Diagnosis out = tests.size() < 2 ? diagnose_one(inputs.file(), inputs.dumps(), rules, request).answer
                                     : diagnose_each(inputs, tests, rules, request);
    if (tests.size() == 1) out.verdict += tests.front().repeated();
    for (const std::string& one : inputs.left_out()) out.notes.push_back("left out: " + plain_text(one));
    return out;
  } catch (const SpecError& error) {
    if (!inputs.temporary()) throw;
    std::vector<Issue> issues = error.issues();
    for (Issue& one : issues)
      if (one.file == inputs.file().string()) one.file = plain_text(inputs.name());
    throw SpecError(std::move(issues));
  }
}

}  // namespace

std::string contradiction(const std::filesystem::path& log, const System& system) {
  return plain_text(diagnosis::contradiction_of(read_nccl_info(log, {}), system));
}

Diagnosis diagnose(const std::vector<std::filesystem::path>& files, const DiagnoseRequest& request) {
  const diagnosis::Inputs inputs(files);
  return diagnose_inputs(inputs, request, diagnosis::load_rules());
}

}  // namespace fabricost::observe
