/// Is the expected rate possible for this operation? Checks the usual mistakes, each with its arithmetic:
/// both directions of a link summed, bits taken for bytes, a line rate taken for a library's throughput,
/// algorithm for bus bandwidth, the sum of the adapters as a limit for two nodes, the average over all sizes,
/// a message too small.

#include "diagnose/context.hpp"
#include "diagnose/quoted.hpp"

#include "readings/logs/line_fields.hpp"
#include "text/ascii.hpp"
#include "text/csv.hpp"
#include "text/parse_quantity.hpp"

#include <fabricost/error.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::observe::diagnosis {

namespace {

/// The rate of the run: the table's largest sizes, else the best figure quoted in the log.
double shown_bus(const Context& c) {
  if (const double best = c.best_bus(); best > 0) return best;
  // if several nodes are mentioned, a figure of one node does not answer
  const bool several = std::any_of(c.quoted.begin(), c.quoted.end(), [](const Quoted& q) { return q.nodes > 1 && q.rate > 0; });
  double best = 0;
  for (const Quoted& q : c.quoted)
    if (!q.perftest && q.rate < 1e14 && !(several && q.nodes == 1)) best = std::max(best, q.rate);
  return best;
}

/// One-way rate of one GPU's scale-up links: from the machine, else from "NVn" in a topology matrix.
double one_way_links(const Context& c, const Numbers& n, std::string& how) {
  if (c.system) {
    const Tier* tier = c.system->tier(TierRole::scale_up);
    if (tier == nullptr) return 0;
    how = fmt::format("{} of {}", tier->name.view(), c.system->name);
    return tier->bandwidth.value.value();
  }
  int links = 0;
  for (const MatrixRow& row : c.info.matrix)
    for (const std::string& cell : row.cells)
      if (cell.starts_with("NV")) links = std::max(links, static_cast<int>(parse_number(cell.substr(2)).value_or(0)));
  how = fmt::format("{} NVLinks of {:.3g} GB/s", links, n["nvlink"] / 1e9);
  return links * n["nvlink"];
}

bool near(double a, double b, double tolerance) { return b > 0 && std::fabs(a / b - 1) <= tolerance; }

/// No size is large enough to show a bandwidth.
bool shows_nothing_large(const Context& c, const Numbers& n) {
  return !(shown_bus(c) > 0) || (!c.curve.empty() && c.largest() < n["smallest"]);
}

/// Share of a link's rate that the largest messages reach.
std::string moved_share(const Numbers& n) { return fmt::format("{:.0f} to {:.0f} %", 100 * n["least_moved"], 100 * n["most_moved"]); }
std::string moved(const Numbers& n, double rate) {
  return fmt::format("{} of it: {} to {}", moved_share(n), gigabytes(n["least_moved"] * rate), gigabytes(n["most_moved"] * rate));
}

/// Even without large sizes, a line rate or a headline figure is not a rate to expect.
std::optional<Facts> line_rate_expected(const Context& c, const Numbers&) {
  const Numbers& n = c.numbers("expectation");
  const double e = c.expected.rate;
  if (!(e > 0) || !shows_nothing_large(c, n)) return std::nullopt;
  std::string links;
  const double one_way = one_way_links(c, n, links);
  if (one_way <= 0) return std::nullopt;
  if (near(e, 2 * one_way, n["near_line_rate"]))
    return Facts{fmt::format("expected {}: that adds up both directions ({}); one way is {}", c.expected.typed, links, gigabytes(one_way)),
                 moved(n, one_way)};
  if (near(e, one_way, n["near_line_rate"]))
    return Facts{fmt::format("expected {}: that is the line rate one way ({})", c.expected.typed, links), moved(n, one_way)};
  return std::nullopt;
}

/// Bus bandwidth predicted for the compared operation at another size; 0: impossible.
double predicted_bus(const Context& c, double bytes, int nodes) {
  if (!c.system || c.judged.at == nullptr) return 0;
  Operation op = c.judged.at->operation();
  op.bytes = Bytes::from_value(bytes);
  if (nodes != op.nodes && op.nodes > 0) {
    op.ranks = op.ranks / op.nodes * nodes;
    op.nodes = nodes;
  }
  try {
    return predict(*c.system, op).bus_bandwidth().value();
  } catch (const RequestError&) {
    return 0;
  }
}

}  // namespace

Expectation parse_expectation(const std::string& text) {
  std::string_view rest;
  const double number = leading_number(text, rest);
  const std::string shown = printable(text, 80);
  const std::string remedy = "; write for example <expected=\"450 GB/s\"> or \"400 Gbit/s\"";
  if (!(number > 0)) throw Refusal(fmt::format("<expected> \"{}\" is not a rate above zero{}", shown, remedy));
  const auto space = rest.find(' ');
  const std::string_view unit = rest.substr(0, space);
  Expectation out;
  out.typed = shown;
  for (const RateUnit& one : rate_units)
    if (has_word(one.names, unit)) {
      out.rate = number * one.factor;
      out.in_bits = one.bits;
    }
  if (unit.empty()) throw Refusal(fmt::format("<expected> \"{}\" has no unit{}", shown, remedy));
  if (!(out.rate > 0))
    throw Refusal(fmt::format("<expected> \"{}\": \"{}\" is not a unit of a rate{}", shown, printable(unit), remedy));
  if (!(out.rate < 1e18)) throw Refusal(fmt::format("<expected> \"{}\" is beyond every machine{}", shown, remedy));
  std::string words{space == std::string_view::npos ? std::string_view{} : rest.substr(space)};
  for (char& c : words) c = lower(c);
  const auto says = [&](const char* word) { return words.find(word) != std::string::npos; };
  out.both_directions = says("both") || says("bidirectional") || says("duplex");
  out.of_algorithm = says("alg");
  const bool known = words.find_first_not_of(' ') == std::string::npos || out.both_directions || out.of_algorithm || says("bus") ||
                     says("direction") || says("one way") || says("each way") || says("per gpu") || says("per nic");
  if (!known)
    throw Refusal(
        fmt::format("<expected> \"{}\": \"{}\" was not understood{}", shown, printable(std::string_view{words}.substr(1)), remedy));
  return out;
}

bool exceeds_expectation(const Context& c) {
  return c.expected.rate > 0 && shown_bus(c) > c.numbers("expectation")["exceeds"] * c.expected.rate;
}

bool meets_expectation(const Context& c) {
  return c.expected.rate > 0 && shown_bus(c) >= c.numbers("expectation")["meets"] * c.expected.rate;
}

namespace {

/// Compares the expectation with the run: one possible mistake after another, each with its arithmetic.
class Account {
 public:
  explicit Account(const Context& context) : c(context), shown(shown_bus(context)), meant(context.expected.rate) {
    if (e.in_bits) add(fmt::format("{} are bits: {} / 8 = {}", e.typed, e.typed, gigabytes(e.rate)));
    links();
    bits();
    bandwidths();
    met_ = shown >= n["meets"] * meant;
    adapters();
    average();
    prediction();
    const bool fine = (c.judged.compared && !c.judged.slow) || full_adapters();
    reached = met_ || fine;
    slipped = !reached && !c.judged.compared && slip_;
    if (why.empty()) why = fmt::format("{} expected, {} measured: the expectation is met", gigabytes(e.rate), gigabytes(shown));
  }

  bool reached = false, slipped = false;  ///< by the run; in the expectation
  [[nodiscard]] Facts facts() const {
    const double off = std::max(e.rate / shown, shown / e.rate);
    return {e.typed, gigabytes(shown), fmt::format("{:.3g}", off), why};
  }

 private:
  void add(const std::string& text) { why += (why.empty() ? "" : "; ") + text; }

  void links() {
    std::string how;
    const double one_way = one_way_links(c, n, how);
    if (e.both_directions) {
      meant = e.rate / 2;
      add(fmt::format("both directions together: one way is {} / 2 = {}", gigabytes(e.rate), gigabytes(meant)));
    } else if (one_way > 0 && near(e.rate, 2 * one_way, n["near_line_rate"])) {
      slip_ = true;
      meant = one_way;
      add(fmt::format("{} adds up both directions ({}): one way is {}, and bus bandwidth counts one way", gigabytes(e.rate), how,
                      gigabytes(one_way)));
    } else if (one_way > 0 && near(e.rate, one_way, n["near_line_rate"])) {
      slip_ = shown >= n["line_rate_least"] * e.rate;
      add(
          fmt::format("{} is the line rate one way ({}); flags, headers and acknowledgements share the link, so that the largest messages "
                      "move {}",
                      gigabytes(e.rate), how, moved(n, one_way)));
    }
    if (one_way != 0 || c.nodes() > 1) return;
    for (const double one : n.list("headlines")) {
      if (near(e.rate, 2 * one, n["near_headline"]) && shown > n["doubled_least"] * one && shown < n["doubled_most"] * one) {
        slip_ = true;
        meant = one;
        add(fmt::format("{} is the headline of an NVLink GPU, both directions added up: one way is {}", gigabytes(e.rate), gigabytes(one)));
      } else if (near(e.rate, one, n["near_headline"]) && shown > n["headline_least"] * one && shown < one) {
        slip_ = true;
        add(fmt::format("{} is an NVLink GPU's line rate one way, of which messages move {}", gigabytes(e.rate), moved_share(n)));
      }
    }
  }

  void bits() {
    if (e.in_bits || !(e.rate > n["bits_least"] * shown) || !near(e.rate / 8, shown, n["near_bits"])) return;
    slip_ = true;
    meant = e.rate / 8;
    add(fmt::format("{} read as Gbit/s is {} / 8 = {}, which the run shows ({})", e.typed, fmt::format("{:.4g}", e.rate / 1e9),
                    gigabytes(e.rate / 8), gigabytes(shown)));
  }

  void bandwidths() {
    const int ranks = c.ranks();
    if (ranks <= 1 || c.judged.at == nullptr) return;
    const double factor = bus_factor(collective(), ranks);
    if (e.of_algorithm) {
      meant = e.rate * factor;
      add(fmt::format("as algorithm bandwidth {} is a bus bandwidth of {} x {:.4g} = {}", gigabytes(e.rate), gigabytes(e.rate), factor,
                      gigabytes(meant)));
    } else if (factor > n["factor_least"] && shown / factor < n["meets"] * e.rate && shown > n["algorithm_least"] * e.rate) {
      add(fmt::format("compare bus bandwidth: algorithm bandwidth {} x {:.4g} = bus bandwidth {}", gigabytes(shown / factor), factor,
                      gigabytes(shown)));
    }
  }

  void adapters() {
    const Tier* nic = c.system ? c.system->tier(TierRole::nic) : nullptr;
    if (nic == nullptr || c.nodes() <= 1) {
      if (met_ && e.rate < n["more_than_expected"] * shown)
        add(
            fmt::format("{} measured is more than expected: trees on two nodes and reduction in the switch move fewer bytes than the bus "
                        "bandwidth's formula counts, so it may exceed a link's rate",
                        gigabytes(shown)));
      return;
    }
    const double sum = nic->aggregate().value();
    if (shown > n["above_adapters"] * sum && collective() == Collective::all_reduce)
      add(
          fmt::format("{} above the {} of the {} adapters is no fault: on two nodes a tree sends every byte over the network once where "
                      "the bus bandwidth's formula counts 2(n-1)/n times",
                      gigabytes(shown), gigabytes(sum), nic->endpoints));
    else if (near(e.rate, sum, n["near_adapters"]))
      add(fmt::format("{} is the line rate of {} adapters together, headers included", gigabytes(e.rate), nic->endpoints));
  }

  void average() {
    if (c.info.averages.empty() || c.curve.empty()) return;
    const auto& [average, line] = c.info.averages.back();
    if (average * 1e9 < n["average_below"] * shown)
      add(fmt::format("line {}: the average {:.4g} mixes all sizes; the largest show {}", line.number, average, gigabytes(shown)));
  }

  void prediction() {
    if (!c.judged.compared || c.judged.slow) return;
    const DiagnosedSize& at = *c.judged.at;
    const double shown = at.bus_bandwidth.value(), predicted = shown * at.measured / at.predicted;
    add(fmt::format("{} gives {} at {} (between {} and {}); measured {}", c.system->name, gigabytes(predicted), size_text(at.bytes),
                    gigabytes(shown * at.measured / at.high), gigabytes(shown * at.measured / at.low), gigabytes(shown)));
    const double here = predicted_bus(c, at.bytes.value(), at.nodes);
    const double grown = here > 0 ? predicted * predicted_bus(c, n["large"], at.nodes) / here : 0;
    if (at.bytes.value() < n["large"] && grown > n["grown"] * predicted)
      add(fmt::format("{} is too small to show the machine: {} would give {}", size_text(at.bytes),
                      size_text(Bytes::from_value(n["large"])), gigabytes(grown)));
    if (at.nodes > 2)
      if (const double pair = predicted_bus(c, at.bytes.value(), 2); pair > n["two_nodes"] * predicted)
        add(fmt::format("two nodes would show {} because a tree between two moves half the bytes; {} nodes cannot", gigabytes(pair),
                        at.nodes));
  }

  /// Without a description: does each GPU get the throughput of an adapter of a usual rate?
  [[nodiscard]] bool full_adapters() {
    const int local = c.ranks_per_node();
    if (c.judged.compared || c.nodes() <= 2 || local < 4 || collective() != Collective::all_reduce) return false;
    bool full = false;
    for (const double bits : n.list("adapter_rates")) {
      const double each = shown / local, line = bits / 8, gbits = bits / 1e9;
      if (each < n["adapter_least"] * line || each > n["adapter_most"] * line) continue;
      full = true;
      add(fmt::format(
          "{} over {} GPUs of a node is {} each, {:.0f} % of an adapter of {:.0f} Gbit/s ({} / 8 = {}): the network is full; fewer nodes "
          "show more because a tree between two sends half the bytes",
          gigabytes(shown), local, gigabytes(each), 100 * each / line, gbits, gbits, gigabytes(line)));
    }
    return full;
  }

  [[nodiscard]] Collective collective() const {
    return c.judged.at != nullptr ? c.judged.at->collective : Collective::all_reduce;
  }

  const Context& c;
  const Numbers& n = c.numbers("expectation");
  const Expectation& e = c.expected;
  double shown, meant;
  bool slip_ = false, met_ = false;
  std::string why;
};

/// What the environment forces is between the run and the expectation, which is right without it.
bool expected_without_forcing(const Context& c, const Numbers& n) {
  const std::optional<Forcing> forced = c.forcing();
  return forced && forced->without >= n["meets"] * c.expected.rate;
}

std::optional<Facts> account(const Context& c, bool reached) {
  if (!(c.expected.rate > 0) || shows_nothing_large(c, c.numbers("expectation"))) return std::nullopt;
  if (!meets_expectation(c) && expected_without_forcing(c, c.numbers("expectation"))) return std::nullopt;
  const Account one(c);
  return (reached ? one.reached : one.slipped) ? std::optional{one.facts()} : std::nullopt;
}
std::optional<Facts> expectation_met(const Context& c, const Numbers&) { return account(c, true); }
std::optional<Facts> expectation_slipped(const Context& c, const Numbers&) { return account(c, false); }

}  // namespace

std::span<const Signal> expectation_signals() {
  using enum QuantityKind;
  using enum Threshold::Use;
  static const std::vector<Signal> all{
      {"line_rate_expected", line_rate_expected, {"slip", "moved"}},
      {"expectation_met", expectation_met, {"expected", "shown", "factor", "why"}},
      {"expectation_slipped", expectation_slipped, {"expected", "shown", "factor", "why"}},
      {"expectation",
       nullptr,
       {},
       {{"exceeds"},
        {"meets"},
        {"smallest", size},
        {"near_line_rate"},
        {"least_moved"},
        {"most_moved"},
        {"nvlink", link_rate},
        {"line_rate_least"},
        {"headlines", link_rate, list},
        {"near_headline"},
        {"doubled_least"},
        {"doubled_most"},
        {"headline_least"},
        {"bits_least"},
        {"near_bits"},
        {"factor_least"},
        {"algorithm_least"},
        {"above_adapters"},
        {"near_adapters"},
        {"more_than_expected"},
        {"average_below"},
        {"large", size},
        {"grown"},
        {"two_nodes"},
        {"adapter_rates", line_rate, list},
        {"adapter_least"},
        {"adapter_most"}}},
  };
  return all;
}

}  // namespace fabricost::observe::diagnosis
