#pragma once
/// Input of the signals, and derived properties and words that several of them need. Private.

#include "diagnose/across/pair_rates.hpp"
#include "diagnose/inputs/inputs.hpp"
#include "diagnose/quoted.hpp"
#include "diagnose/rules.hpp"
#include "readings/logs/nccl_info.hpp"
#include "readings/logs/rank_reports.hpp"
#include "readings/step_times.hpp"

#include <fabricost/hardware/system.hpp>
#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/predict/fabric_of.hpp>

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::observe::diagnosis {

/// "3", "3 and 7", "0-5 and 7": at most eight parts.
[[nodiscard]] std::string listed(const std::set<int>& ranks);
/// "a, b and 3 more": the first `most` of a range of names.
template <class Names>
[[nodiscard]] std::string first_of(const Names& names, std::size_t most, std::string_view between = ", ") {
  std::string out;
  std::size_t count = 0;
  for (const std::string& one : names)
    if (++count <= most) out.append(out.empty() ? "" : between).append(one);
  return count > most ? out + " and " + std::to_string(count - most) + " more" : out;
}

/// One size of one table as printed, repeats merged by their median.
struct Shown {
  double bytes = 0, seconds = 0, bus = 0;  ///< bus bandwidth in byte/s
  int line = 0;                            ///< 0: not known
  double best = 0;                         ///< bus bandwidth of the best of the repeats; 0: not known
  double in_place = 0;                     ///< time in place over that out of place; 0: not both are known
};

/// Comparison of a table with the prediction.
struct Judged {
  bool compared = false;
  bool slow = false;        ///< large messages take longer than the interval allows
  bool slow_small = false;  ///< only small ones do
  bool large = false;       ///< sizes were measured where links bind
  bool above = false;       ///< not slow, but large messages take longer than the interval contains
  bool faster = false;      ///< large messages take less than the interval allows
  double ratio = 1;         ///< measured / predicted time at `at`, the size of the best bus bandwidth
  double small_ratio = 1;   ///< median of measured / predicted of the small sizes
  const DiagnosedSize* at = nullptr;
};

/// Impossible times (validation/set_aside.hpp): if there are at least three, or all, and they are a third of
/// the run or more than half of its large messages, the log contradicts itself.
struct Impossible {
  std::size_t times = 0, of = 0;  ///< of: points compared
  std::size_t large = 0, of_large = 0;  ///< of the sizes within a factor of 16 of the largest, where the links bind
  std::string example;            ///< the arithmetic of the clearest one
  int without = 0;                ///< rows of the table with time 0 or none, if no row has a time
  [[nodiscard]] bool believed() const {
    const bool many = times > 0 && 3 * times >= of && (times >= 3 || times == of);
    return without == 0 && !many && !(large >= 3 && 2 * large > of_large);
  }
};

/// What variables of the log's environment cost at the compared size.
struct Forcing {
  std::string settings;     ///< "NCCL_NVLS_ENABLE=0"
  std::string variables;    ///< "NCCL_NVLS_ENABLE"
  LogLine line;             ///< that of the first
  double without = 0;       ///< bus bandwidth predicted without them, byte/s
  double share = 0;         ///< of that, lost by prediction
};

/// The rate that the user expected.
struct Expectation {
  std::string typed;
  double rate = 0;  ///< byte/s, bits divided by eight, both directions not yet halved; 0: not given
  bool in_bits = false, both_directions = false, of_algorithm = false;
};

/// The bus bandwidth of one node that ran a test alone, beside others that ran the same.
struct NodeRate {
  std::string host;
  double rate = 0;    ///< byte/s
  std::string where;  ///< its size and place
};

struct Context {
  const Rules* rules = nullptr;
  NcclInfo info;
  std::vector<Quoted> quoted;
  std::vector<Shown> curve;  ///< of the table with the most sizes, by size
  std::string test;          ///< its operation as named in the log; empty: not stated
  bool transfers = false;    ///< the curve is of messages between two ends, not of a collective
  bool unplaced = false;     ///< times of collectives, and nothing says on which machine
  bool nodes_assumed = false;  ///< nothing says on how many nodes its ranks were
  std::optional<System> system;
  bool guessed = false;
  std::vector<DiagnosedSize> sizes;
  Judged judged;
  Impossible impossible;
  std::string faster_than_without_sharp;  ///< the times are only possible where the switches reduce, which the machine does not say; else empty
  std::string wrong_results;  ///< which rows of the table the test found wrong; empty: none
  std::string ends_early;     ///< where the table ends, before the size that its head announces; empty: it does not, or this is not known
  Expectation expected;
  RankReports reports;
  std::vector<StepTime> steps;  ///< of a training program, in the order of the log
  PairRates pairs;
  std::vector<NodeRate> siblings;  ///< of runs of single nodes that are compared with each other
  const Dumps* dumps = nullptr;  ///< of the flight recorder and of Inspector; never nullptr while rules are evaluated
  int last_row = 0;           ///< line of the table's last row, over all files; 0: no table
  bool rows_follow = false;   ///< the head of a table was printed, and no row of it
  std::string contradiction;  ///< between the machine of the request and that of the log

  /// Nodes and ranks from the points, else from the log's lines; 0: unknown.
  [[nodiscard]] int nodes() const;
  [[nodiscard]] int ranks() const;
  [[nodiscard]] int ranks_per_node() const;
  [[nodiscard]] bool one_node() const { return nodes() == 1; }
  /// Several nodes of one NVLink domain of the machine, which need no adapter for a collective.
  [[nodiscard]] bool inside_a_domain() const;
  /// Whether hints apply: nothing was compared, or the comparison was slow.
  [[nodiscard]] bool in_doubt() const { return contradiction.empty() && (!judged.compared || judged.slow || judged.slow_small); }
  /// What carries the traffic between nodes, as the log says it, else the machine.
  [[nodiscard]] bool over_infiniband() const;
  [[nodiscard]] bool over_roce() const;
  /// Whether switches between the GPUs multicast: those of the system, else of the usual machine of the log's GPU; nothing for an unknown
  /// GPU.
  [[nodiscard]] std::optional<bool> multicasts() const;
  /// The machine's own network is TCP, so sockets are not a fault.
  [[nodiscard]] bool wants_tcp() const;
  /// Highest bus bandwidth shown in the table's upper sizes; 0: no table.
  [[nodiscard]] double best_bus() const;
  [[nodiscard]] double largest() const { return curve.empty() ? 0 : curve.back().bytes; }
  /// What the environment forces, where that alone costs more than a little and the run is as predicted with it.
  [[nodiscard]] std::optional<Forcing> forcing() const;
  /// The thresholds of one signal or topic.
  [[nodiscard]] const Numbers& numbers(std::string_view of) const { return rules->numbers.find(of)->second; }
};

/// Whether the usual machine of a GPU, by a driver's name for it, has switches that multicast; no for a known GPU without a usual machine
/// (a GH200 beside its processor), nothing for an unknown one.
[[nodiscard]] std::optional<bool> usually_multicasts(std::string_view gpu);

/// All connections over a network other than plain sockets, combined.
struct Fabric {
  int times = 0, direct = 0;  ///< direct: those with GPUDirect
  std::set<int> devices;
  LogLine first, first_indirect;
};
[[nodiscard]] Fabric fabric_of(const NcclInfo& info);
[[nodiscard]] inline bool over_sockets(const NcclInfo& info) { return info.net.contains("Socket"); }

/// "line 12: text".
[[nodiscard]] std::string cited(const LogLine& line);
/// The same for the first of several, with their count.
[[nodiscard]] std::string cited(const Seen& seen);
/// "12.3 GB/s" in three significant digits.
[[nodiscard]] std::string gigabytes(double bytes_per_second);
[[nodiscard]] inline std::string gigabytes(Bandwidth rate) { return gigabytes(rate.value()); }

/// The machine identified by the GPUs and adapters in a log; nothing if they are ambiguous.
struct Machine {
  std::string system;   ///< a name of data/
  int nics = 0;         ///< per node, from the log; 0: as described
  double nic_rate = 0;  ///< byte/s of one; 0: as described
  std::string bridged;  ///< the system of such cards on a bridge; empty: none is known
};
[[nodiscard]] std::optional<Machine> guessed_machine(const NcclInfo& info, const std::filesystem::path& file);
/// Its system; the bridged one for a pair that is sold with its bridge, or where only the wires of a bridge allow these times.
[[nodiscard]] std::string machine_that_allows(const Machine& machine, const std::vector<Point>& points);

/// "128 NVIDIA B200 on 16 nodes: try --system dgx-b200 or superpod-b200": machines of the log's GPU with so many nodes; empty: none is known.
[[nodiscard]] std::string possible_machines(const NcclInfo& info);
/// Adapters that NET/IB lists; 0 where a name is of a bond, which joins several.
[[nodiscard]] int adapters_listed(const NcclInfo& info);
/// Every adapter that NET/IB lists is of this link layer, "/IB" or "/RoCE".
[[nodiscard]] bool all_adapters_are(const NcclInfo& info, std::string_view layer);
[[nodiscard]] inline bool is_infiniband(const Transport& t) { return t.infiniband_ports && !t.roce && !t.sockets; }
/// Another GPU in the log than the machine has, of whatever generation; empty: they agree, or the log does not state any.
[[nodiscard]] std::string gpus_differ(const NcclInfo& info, const System& system);
/// Fewer adapters in the log than the machine has, or of another link layer; empty: they agree, or the log does not state any.
[[nodiscard]] std::string adapters_differ(const NcclInfo& info, const System& system);
/// As many adapters as the machine has, all of a lower generation's rate: ports that trained down, or those of another machine.
struct SlowPorts {
  std::string there, described;  ///< "8 adapters of 100 Gbit/s"; "dgx-h100 has 400"
  LogLine line;
};
[[nodiscard]] std::optional<SlowPorts> slow_ports(const NcclInfo& info, const System& system);
/// The same of a run: what they are, and what they cost of the bandwidth that is predicted at the machine's own rate; empty: there are none.
[[nodiscard]] std::string slow_ports_in_words(const Context& context);
/// GPUs, ranks or adapters in the log that the system cannot have; empty: they agree, or the log does not state any.
/// \param trained_down slow ports may be its own
[[nodiscard]] std::string contradiction_of(const NcclInfo& info, const System& system, bool trained_down = false);
[[nodiscard]] bool all_hold(const std::vector<Condition>& conditions, const Context& context);
/// Evaluates every rule, orders the findings and words the verdict.
void conclude(Diagnosis& out, const Context& context);
/// Whether a rule names a failure that the log tells.
[[nodiscard]] bool says_a_failure(const Context& context);

/// One test of several in a log: its answer, and its table.
struct Part {
  Diagnosis answer;
  std::vector<Shown> curve;
  std::string title, file, place, host;  ///< file: of several; place: that or its first line; host: the one it ran on; empty: several, or not said
  std::string like;         ///< what has to be equal in tests that are compared with each other
  std::string said = {};    ///< the command or heading before it
};
/// The answers of several tests as one: the worst state, the causes with the test that they belong to.
[[nodiscard]] Diagnosis together(std::vector<Part> parts, const Rules& rules);

/// Compares a table with its prediction.
[[nodiscard]] Judged judge(const std::vector<DiagnosedSize>& sizes, bool guessed, const Numbers& judgement);
/// Whether the run's bandwidth is normal: measured, what is expected, and how many public runs on such machines were slower; empty where
/// nothing was compared.
[[nodiscard]] std::string normal_in_words(const Context& context);
/// The result of the comparison, in one sentence.
[[nodiscard]] std::string compared_in_words(const Context& context);
/// The same for a slow run: measured against predicted.
[[nodiscard]] std::string against(const Context& context);

/// Reads --expected. \throws RequestError when it is not a rate
[[nodiscard]] Expectation parse_expectation(const std::string& text);
/// The run, or the best quoted figure, is clearly above the expected rate.
[[nodiscard]] bool exceeds_expectation(const Context& context);
/// It practically reaches the expected rate.
[[nodiscard]] bool meets_expectation(const Context& context);

}  // namespace fabricost::observe::diagnosis
