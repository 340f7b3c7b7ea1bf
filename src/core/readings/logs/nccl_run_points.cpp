/// Converts a log of nccl-tests to points: the operation, and the number of ranks and nodes. Where the log
/// does not state them, they follow from its numbers: busbw / algbw is 2(n-1)/n for all_reduce and (n-1)/n
/// for all_gather, reduce_scatter and all_to_all; size / (count x element size) is n for the latter three and
/// 1 for the others. An ambiguous log is refused.

#include "readings/logs/nccl_runs.hpp"
#include "readings/point_readers.hpp"
#include "text/ascii.hpp"
#include "text/line_reader.hpp"
#include "text/quantile.hpp"

#include <fabricost/error.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace fabricost::core {

namespace {

/// ratio_bounds of one run; empty if its rows contradict each other.
Ratio ratio_of(const LogRun& run) {
  const Ratio out = ratio_bounds({&run, 1});
  return out.low > out.high ? Ratio{} : out;
}

/// size / (count x element size); 0 if rows disagree or are not multiples.
int parts_of(const LogRun& run) {
  int parts = 0;
  for (const LogRow& row : run.rows) {
    const double own = row.dtype ? row.count * bytes_of(*row.dtype) : 0;
    if (!(own > 0) || !(row.bytes > 0)) continue;
    const double times = row.bytes / own;
    if (times < 1 || times > 1e9 || times != std::floor(times)) return 0;
    if (parts != 0 && parts != static_cast<int>(times)) return 0;
    parts = static_cast<int>(times);
  }
  return parts;
}

/// True if out-of-place results were checked and in-place ones were not: the operation has no in-place form.
bool only_out_of_place_checked(const LogRun& run) {
  bool pattern = false;
  for (const LogRow& row : run.rows)
    if (row.sides == 2) {
      if (!row.side[0].checked || row.side[1].checked) return false;
      pattern = true;
    }
  return pattern;
}

/// Operations that a file name suggests: full names anywhere, or `ar`, `ag`, `rs`, `a2a` as words.
std::vector<Collective> hinted(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  const std::string folded = fabricost::core::folded(stem);
  std::vector<Collective> out;
  for (std::size_t i = 0; i < collective_names.size(); ++i) {
    const auto c = static_cast<Collective>(i);
    if (c != Collective::reduce && folded.find(fabricost::core::folded(collective_names[i])) != std::string::npos) out.push_back(c);
  }
  std::string word;
  for (std::size_t i = 0; i <= stem.size(); ++i) {
    const char c = i < stem.size() ? stem[i] : '_';
    if (is_letter(c) || is_digit(c)) {
      word += lower(c);
      continue;
    }
    if (word != "a2a")
      while (!word.empty() && is_digit(word.back())) word.pop_back();
    if (word == "ar") out.push_back(Collective::all_reduce);
    if (word == "ag") out.push_back(Collective::all_gather);
    if (word == "rs") out.push_back(Collective::reduce_scatter);
    if (word == "a2a") out.push_back(Collective::all_to_all);
    if (word == "reduce") out.push_back(Collective::reduce);
    word.clear();
  }
  return out;
}

/// The constraints that a run's own numbers put on its operation and ranks.
struct Evidence {
  Ratio ratio;
  int parts = 0;
  bool sums = false, copies = false;  ///< a reduction such as sum is named; none is
  bool rooted = false;
  bool unchecked_in_place = false;
  int ranks = 0;  ///< listed ones; 0: unknown

  [[nodiscard]] bool allows(Collective c) const {
    const bool same = ratio.allows(1);
    switch (c) {
      case Collective::all_reduce: return parts <= 1 && !copies && !rooted && (!ratio.known() || (ratio.high >= 1 && ratio.low < 2));
      case Collective::reduce_scatter: return parts != 1 && !copies && !rooted;
      case Collective::all_gather:
      case Collective::all_to_all: return parts != 1 && !sums && !rooted;
      case Collective::broadcast: return parts <= 1 && !sums && same;
      case Collective::reduce: return parts <= 1 && !copies && rooted && same;
      case Collective::send_recv: return parts <= 1 && !rooted && same;
    }
    return false;
  }
};

Evidence evidence_of(const LogRun& run, int ranks) {
  Evidence e;
  e.ratio = ratio_of(run);
  e.parts = parts_of(run);
  e.unchecked_in_place = only_out_of_place_checked(run);
  e.ranks = ranks;
  for (const LogRow& row : run.rows) {
    e.copies = e.copies || row.copies;
    e.sums = e.sums || row.combines;
    if (row.root && *row.root >= 0) e.rooted = true;
  }
  return e;
}

/// The operation of a run; empty if its numbers and file name leave it open.
std::optional<Collective> operation_of(const Evidence& e, const std::filesystem::path& file) {
  for (const Collective c : hinted(file))
    if (e.allows(c)) return c;
  std::vector<Collective> left;
  for (std::size_t i = 0; i < collective_names.size(); ++i)
    if (e.allows(static_cast<Collective>(i))) left.push_back(static_cast<Collective>(i));
  const auto only = [&](Collective c) { return std::find(left.begin(), left.end(), c) != left.end(); };
  if (left.size() == 1) return left.front();
  // which of these is not checked in place?
  if (e.unchecked_in_place && only(Collective::all_to_all) && !only(Collective::send_recv)) return Collective::all_to_all;
  if (e.unchecked_in_place && only(Collective::send_recv) && !only(Collective::all_to_all)) return Collective::send_recv;
  if (only(Collective::all_reduce) && e.sums) {
    // a factor of 1 belongs to two ranks, or to a transfer
    const bool pair = e.ratio.known() && e.ratio.allows(1);
    if (!pair || e.ranks == 2 || e.ranks == 0) return Collective::all_reduce;
    return only(Collective::send_recv) ? std::optional{Collective::send_recv} : std::nullopt;
  }
  return std::nullopt;
}

/// Numbers of ranks with this busbw / algbw, multiples of `step`; empty if it does not depend on them.
std::vector<int> ranks_by_ratio(Collective c, const Ratio& ratio, int step) {
  std::vector<int> out;
  if (!ratio.known() || bus_factor(c, 2) == bus_factor(c, 3)) return out;
  for (int n = 2; n <= 65536 && bus_factor(c, n) <= ratio.high + 1e-9; ++n)
    if (n % step == 0 && ratio.allows(bus_factor(c, n))) out.push_back(n);
  return out;
}

/// The ranks in the list of devices. Logs lose lines, so a list may be too short, but never too long.
struct Listed {
  int ranks = 0;     ///< a lower bound
  int nodes = 0;     ///< all with the same number of ranks; 0: unknown
  int per_node = 0;  ///< ranks of the first node; 0: unknown
  bool whole = false, split = false;
};
Listed listed_in(const LogRun& run) {
  Listed out;
  const std::set<int> numbers(run.ranks_listed.begin(), run.ranks_listed.end());
  if (numbers.empty()) return out;
  out.ranks = *numbers.rbegin() + 1;
  out.whole = static_cast<int>(numbers.size()) == out.ranks;
  out.split = std::set<int>(run.groups.begin(), run.groups.end()).size() > 1;
  if (!out.whole) return out;
  out.nodes = static_cast<int>(std::set<std::string>(run.hosts.begin(), run.hosts.end()).size());
  if (out.nodes > 1) out.per_node = static_cast<int>(std::count(run.hosts.begin(), run.hosts.end(), run.hosts.front()));
  return out;
}

/// Seconds per printed unit of time, from the header or from size / algbw (version 1: milliseconds).
double unit_of(const LogRun& run) {
  if (run.time_unit > 0) return run.time_unit;
  std::vector<double> powers;
  for (const LogRow& row : run.rows)
    for (const LogSide& s : row.halves())
      if (s.time > 0 && row.bytes > 0 && s.algbw > 10 * s.algbw_slack) powers.push_back(std::log10(row.bytes / (s.algbw * 1e9) / s.time));
  if (powers.empty()) return 1e-6;
  return upper_median(powers) > -4.5 ? 1e-3 : 1e-6;
}

/// Whether NCCL's messages in a log show GPUDirect RDMA: on every connection between nodes, on none, or unknown.
[[nodiscard]] std::optional<bool> gpu_direct_in(const std::filesystem::path& file) {
  std::error_code error;
  constexpr std::uintmax_t worth_reading = 64U << 20U;  // messages are at the start of runs, not in gigabytes of output
  if (std::filesystem::file_size(file, error) > worth_reading || error) return std::nullopt;
  bool direct = false, staged = false;  // "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA"
  LineReader lines(file);
  for (std::string line; lines.next(line);) {
    const auto via = line.find(" via NET/");
    if (via == std::string::npos || line.starts_with("#source")) continue;
    const bool rdma = line.find("GDRDMA", via) != std::string::npos;
    direct = direct || rdma;
    staged = staged || !rdma;
  }
  return direct == staged ? std::nullopt : std::optional{direct};
}

}  // namespace

Ratio ratio_bounds(std::span<const LogRun> runs) {
  Ratio out;
  for (const LogRun& run : runs)
    for (const LogRow& row : run.rows)
      for (const LogSide& s : row.halves()) {
        if (!(s.algbw > 20 * s.algbw_slack) || !(s.busbw > 20 * s.busbw_slack)) continue;
        out.low = std::max(out.low, (s.busbw - s.busbw_slack) / (s.algbw + s.algbw_slack));
        out.high = std::min(out.high, (s.busbw + s.busbw_slack) / (s.algbw - s.algbw_slack));
      }
  return out;
}

/// One run: its operation, ranks and machine, then its points.
class RunsToPoints::RunPoints {
 public:
  RunPoints(const LogRun& run, const std::filesystem::path& file, const PointDefaults& otherwise, const RunDescriptions& descriptions)
      : run_(run), file_(file), otherwise_(otherwise) {
    if (const auto found = descriptions.find(file.stem().string()); found != descriptions.end()) described_ = found->second;
    identify();
    model_.source = file.stem().string();
    model_.library = run.library.empty() ? "nccl" : run.library;
    model_.library_version = run.version;
    add_environment(model_, run.environment);
    model_.launch = launch_of(run);
    model_.early_tests = is_early(run);
    unit_ = unit_of(run);
    describe(model_, descriptions);
  }

  void add(const LogRun& run, std::vector<Skipped>& skipped, const PointSink& sink) const {
    for (const Skipped& s : run.skipped) count_skipped(skipped, s.reason, s.rows);
    if (reason_.empty()) {
      for (const LogRow& row : run.rows) add(row, skipped, sink);
      return;
    }
    int rows = 0;
    for (const LogRow& row : run.rows) rows += row.sides;
    if (rows > 0) count_skipped(skipped, reason_, rows);
  }

 private:
  void identify() {
    const Listed listed = listed_in(run_);
    if (listed.split) {
      reason_ = "several groups of ranks at once (NCCL_TESTS_SPLIT): they share the links";
      return;
    }
    const NamedOperation named = operation_named(run_.test);
    if (named.known && !named.modelled) {
      reason_ = fmt::format("operation not modelled: {}", run_.test);
      return;
    }
    if (run_.rows.empty()) return;
    const Evidence evidence = evidence_of(run_, listed.whole && listed.ranks > 1 ? listed.ranks : 0);
    const auto operation = named.modelled ? named.modelled : operation_of(evidence, file_);
    if (!operation)
      throw fault("the table does not say which operation it timed, and its numbers fit more than one",
                  "keep the line \"# Collective test starting: ...\", or put the name into the file's, as in all_gather.txt");
    system_ = !otherwise_.system.empty() ? otherwise_.system : described_.system;
    if (system_.empty()) throw fault("the log does not say which machine it ran on", "add <system=NAME> (`fabricost machine` lists them)");
    const int ranks = ranks_of(*operation, evidence, listed);
    if (ranks < 2) {
      reason_ = "one rank: nothing moves";
      return;
    }
    const int nodes = nodes_of(ranks, listed);
    if (ranks % nodes != 0) {
      reason_ = fmt::format("{} ranks do not spread evenly over {} nodes", ranks, nodes);
      return;
    }
    model_.system = system_;
    model_.collective = *operation;
    model_.nodes = nodes;
    model_.gpus_per_node = ranks / nodes;
  }

  [[nodiscard]] SpecError fault(const std::string& message, const std::string& remedy) const {
    return SpecError({fault_in_line(file_.string(), run_.rows.front().line, 1, "", message, remedy)});
  }

  /// True if n ranks can have printed these numbers, within 2 %. In early versions algbw includes the factor.
  [[nodiscard]] static bool fits(Collective operation, const Evidence& e, int n) {
    if (n < 1 || (e.parts > 1 && e.parts != n)) return false;
    const double factor = bus_factor(operation, n);
    if (!e.ratio.known() || (factor * 1.02 >= e.ratio.low && factor * 0.98 <= e.ratio.high)) return true;
    return operation != Collective::all_reduce && e.ratio.allows(1);
  }

  /// Ranks as given, else as listed, else from the run's numbers, else all of a single-node machine.
  [[nodiscard]] int ranks_of(Collective operation, const Evidence& e, const Listed& listed) const {
    if (const int ranks = otherwise_.ranks; ranks > 0) {
      if (ranks < listed.ranks)
        throw fabricost::core::Refusal(fmt::format("{}: lists {} ranks, <ranks> says {}", file_.string(), listed.ranks, ranks));
      if (e.parts > 1 && e.parts != ranks)
        throw fabricost::core::Refusal(
            fmt::format("{}: sizes and counts are of {} ranks, <ranks> says {}", file_.string(), e.parts, ranks));
      if (!fits(operation, e, ranks))
        throw fabricost::core::Refusal(
            fmt::format("{}: busbw / algbw is {:.4g}, that of {} ranks would be {:.4g} (<ranks={}>); leave <ranks> out", file_.string(),
                        0.5 * (e.ratio.low + e.ratio.high), ranks, bus_factor(operation, ranks), ranks));
      return ranks;
    }
    std::vector<int> possible = ranks_by_ratio(operation, e.ratio, 1);
    const bool cut = e.parts > listed.ranks || (!possible.empty() && possible.front() > listed.ranks);
    if (listed.ranks > 0 && !cut) return listed.ranks;
    if (const int given = described_.nodes * described_.gpus_per_node; given > 0 && fits(operation, e, given)) return given;
    if (e.parts > 1) return e.parts;
    const System machine = load_system(system_);
    if (possible.size() > 1) {
      // the number that fills its nodes, if there is only one
      auto even = ranks_by_ratio(operation, e.ratio, listed.per_node > 0 ? listed.per_node : machine.gpus_per_node);
      if (!even.empty()) possible = std::move(even);
    }
    if (possible.size() == 1) return possible.front();
    const int all = std::max(1, otherwise_.nodes) * machine.gpus_per_node;
    if ((otherwise_.nodes > 0 || machine.nodes == 1) && fits(operation, e, all)) return all;
    throw fault(possible.empty() ? std::string{"the log does not say how many ranks took part"}
                                 : fmt::format("the log does not say how many ranks took part: its bandwidths fit {} to {}",
                                               possible.front(), possible.back()),
                "add <ranks=N> (and <nodes=N>)");
  }

  /// Nodes as given (host names may be those of containers), else as listed, else the minimum for the ranks.
  [[nodiscard]] int nodes_of(int ranks, const Listed& listed) const {
    if (otherwise_.nodes > 0) return otherwise_.nodes;
    if (listed.nodes > 0 && listed.ranks == ranks) return listed.nodes;
    if (listed.per_node > 0 && ranks % listed.per_node == 0) return ranks / listed.per_node;
    if (described_.nodes > 0) return described_.nodes;
    const int per_node = gpus_per_node_of(system_);
    const int nodes = (ranks + per_node - 1) / per_node;
    if (ranks % nodes != 0) throw fault(fmt::format("the log does not say on how many nodes its {} ranks ran", ranks), "add <nodes=N>");
    return nodes;
  }

  /// True if the printed algbw is neither bytes / time nor that times the bus factor, within digits and 2 %.
  [[nodiscard]] bool contradicts(const LogRow& row, const LogSide& side, double seconds) const {
    if (!(side.algbw > 20 * side.algbw_slack) || !(side.time > 0)) return false;
    const double ratio = side.algbw * 1e9 * seconds / row.bytes, factor = bus_factor(model_.collective, model_.ranks());
    const double allowed = 0.02 + side.algbw_slack / side.algbw + side.time_slack / side.time;
    return std::fabs(ratio - 1) > allowed && std::fabs(ratio / factor - 1) > allowed;
  }

  void add(const LogRow& row, std::vector<Skipped>& skipped, const PointSink& sink) const {
    for (const LogSide& side : row.halves()) {
      if (!row.dtype) {
        count_skipped(skipped, fmt::format("element type not modelled: {}", row.type.view()));
      } else if (!(row.bytes > 0)) {
        count_skipped(skipped, "bytes is 0");
      } else if (!(side.time * unit_ >= 1e-9)) {
        count_skipped(skipped, "time is 0 or N/A");
      } else if (has_wrong_results(side)) {
        count_skipped(skipped, "the test found its results wrong (#wrong)");
      } else {
        Point p = model_;
        p.dtype = *row.dtype;
        p.redop = row.redop;
        p.bytes = row.bytes;
        p.seconds = side.time * unit_;
        if (side.known_place) p.in_place = side.in_place;
        p.contradicts_itself = contradicts(row, side, p.seconds);
        sink(std::move(p));
      }
    }
  }

  const LogRun& run_;
  const std::filesystem::path& file_;
  const PointDefaults& otherwise_;
  RunDescription described_;
  std::string system_;
  Point model_;         ///< the fields that all points of the run share
  double unit_ = 1e-6;  ///< seconds in one printed unit of time
  std::string reason_;  ///< the reason why the run gives no points; empty if it does
};

RunsToPoints::RunsToPoints(const std::filesystem::path& file, const PointDefaults& otherwise, const RunDescriptions& described,
                           const PointSink& sink)
    : file_(file), otherwise_(otherwise), described_(described), sink_(sink) {}
RunsToPoints::~RunsToPoints() = default;

void RunsToPoints::take(const LogRun& run, bool last) {
  if (!run_points_) run_points_ = std::make_unique<RunPoints>(run, file_, otherwise_, described_);
  run_points_->add(run, skipped_, sink_);
  if (last) run_points_.reset();
}

std::vector<Skipped> read_nccl_tests(const std::filesystem::path& file, const PointDefaults& otherwise, const RunDescriptions& runs,
                                     const PointSink& sink) {
  std::optional<std::optional<bool>> direct;  // read from the log once, if a point between nodes does not state it
  const PointSink informed = [&](Point&& point) {
    if (point.nodes > 1 && !point.gpu_direct) {
      if (!direct) direct = gpu_direct_in(file);
      point.gpu_direct = *direct;
    }
    sink(std::move(point));
  };
  RunsToPoints points(file, otherwise, runs, informed);
  const RunSink take = [&points](const LogRun& run, bool last) { points.take(run, last); };
  if (read_nccl_runs(file, take) == 0) throw nothing_recognised(file);
  return std::move(points).skipped();
}

}  // namespace fabricost::core
