/// \file expected.cpp
/// Is the expectation a rate this operation could show at all? The usual slips, each with its arithmetic: both directions of a link added
/// up, bits taken for bytes, a line rate taken for what a library moves, algorithm for bus bandwidth, the sum of the adapters as a ceiling
/// for two nodes, the average over all sizes, a message too small.

#include "diagnose/context.hpp"
#include "diagnose/rate_units.hpp"

#include "text/ascii.hpp"
#include "text/csv.hpp"
#include "text/units.hpp"

#include <fabricost/error.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::diagnosis {

namespace {

/// What the run showed: the table's largest sizes, else the best figure quoted in the log.
double shown_bus(const Context& c) {
  if (const double best = c.best_bus(); best > 0) return best;
  // where several nodes are spoken of, one alone is no answer
  const bool several = std::any_of(c.quoted.begin(), c.quoted.end(), [](const Quoted& q) { return q.nodes > 1 && q.rate > 0; });
  double best = 0;
  for (const Quoted& q : c.quoted)
    if (!q.perftest && q.rate < 1e14 && !(several && q.nodes == 1)) best = std::max(best, q.rate);
  return best;
}

/// One-way rate of one GPU's scale-up links: of the machine, else by "NVn" in a topology matrix (25 GB/s a link and direction, NVLink 2 to
/// 4).
double one_way_links(const Context& c, std::string& how) {
  if (c.system) {
    const Tier* tier = c.system->tier(TierRole::scale_up);
    if (tier == nullptr) return 0;
    how = fmt::format("{} of {}", tier->name.view(), c.system->name);
    return tier->bandwidth.value.value();
  }
  int links = 0;
  for (const io::MatrixRow& row : c.info.matrix)
    for (const std::string& cell : row.cells)
      if (cell.starts_with("NV")) links = std::max(links, static_cast<int>(io::parse_number(cell.substr(2)).value_or(0)));
  how = fmt::format("{} NVLinks of 25 GB/s", links);
  return links * 25e9;
}

bool near(double a, double b, double tolerance) { return b > 0 && std::fabs(a / b - 1) <= tolerance; }

/// Nothing large was measured: still, a line rate or a headline is no figure to expect.
std::optional<Finding> of_the_link_itself(const Context& c) {
  std::string links;
  const double one_way = one_way_links(c, links), e = c.expected.rate;
  if (one_way <= 0) return std::nullopt;
  std::string evidence;
  if (near(e, 2 * one_way, 0.06))
    evidence = fmt::format("expected {}: that adds up both directions ({}); one way is {}", c.expected.typed, links, gigabytes(one_way));
  else if (near(e, one_way, 0.06))
    evidence = fmt::format("expected {}: that is the line rate one way ({})", c.expected.typed, links);
  else
    return std::nullopt;
  return Finding{
      Cause::expected_value_wrong, 0.75,
      fmt::format("{}; flags, headers and acknowledgements share the link, so that the largest messages move 72 to 87 % of it: {} to {}",
                  evidence, gigabytes(0.72 * one_way), gigabytes(0.87 * one_way)),
      "measure up to several GiB (-e 8G) and compare bus bandwidth with that"};
}

/// Bus bandwidth predicted for the compared operation at another size; 0: cannot be.
double predicted_bus(const Context& c, double bytes, int nodes) {
  if (!c.system || c.judged.at == nullptr) return 0;
  Operation op = c.judged.at->operation;
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
  const double number = io::leading_number(text, rest);
  const std::string shown = io::printable(text, 80);
  const std::string remedy = "; write for example --expected \"450 GB/s\" or \"400 Gbit/s\"";
  if (!(number > 0)) throw RequestError(fmt::format("--expected \"{}\" is not a rate above zero{}", shown, remedy));
  const auto space = rest.find(' ');
  const std::string_view unit = rest.substr(0, space);
  Expectation out;
  out.typed = shown;
  for (const RateUnit& one : rate_units)
    if (one.name == unit) {
      out.rate = number * one.factor;
      out.in_bits = one.bits;
    }
  if (unit.empty()) throw RequestError(fmt::format("--expected \"{}\" has no unit{}", shown, remedy));
  if (!(out.rate > 0))
    throw RequestError(fmt::format("--expected \"{}\": \"{}\" is not a unit of a rate{}", shown, io::printable(unit), remedy));
  if (!(out.rate < 1e18)) throw RequestError(fmt::format("--expected \"{}\" is beyond every machine{}", shown, remedy));
  std::string words{space == std::string_view::npos ? std::string_view{} : rest.substr(space)};
  for (char& c : words) c = io::lower(c);
  const auto says = [&](const char* word) { return words.find(word) != std::string::npos; };
  out.both_directions = says("both") || says("bidirectional") || says("duplex");
  out.of_algorithm = says("alg");
  const bool known = words.find_first_not_of(' ') == std::string::npos || out.both_directions || out.of_algorithm || says("bus") ||
                     says("direction") || says("one way") || says("each way") || says("per gpu") || says("per nic");
  if (!known)
    throw RequestError(
        fmt::format("--expected \"{}\": \"{}\" was not understood{}", shown, io::printable(std::string_view{words}.substr(1)), remedy));
  return out;
}

bool exceeds_expectation(const Context& c) { return c.expected.rate > 0 && shown_bus(c) > 1.05 * c.expected.rate; }

bool meets_expectation(const Context& c) { return c.expected.rate > 0 && shown_bus(c) >= 0.95 * c.expected.rate; }

std::optional<Finding> judged_expectation(const Context& c) {
  const Expectation& e = c.expected;
  if (!(e.rate > 0)) return std::nullopt;
  const double shown = shown_bus(c);
  if (!(shown > 0) || (!c.curve.empty() && c.largest() < 4 * mebibyte)) return of_the_link_itself(c);
  std::string why;
  const auto add = [&why](const std::string& text) { why += (why.empty() ? "" : "; ") + text; };
  const auto say = [](double rate) { return gigabytes(rate); };
  double meant = e.rate;
  if (e.in_bits) add(fmt::format("{} are bits: {} / 8 = {}", e.typed, e.typed, say(e.rate)));
  std::string links;
  const double one_way = one_way_links(c, links);
  bool slip = false;
  if (e.both_directions) {
    meant = e.rate / 2;
    add(fmt::format("both directions together: one way is {} / 2 = {}", say(e.rate), say(meant)));
  } else if (one_way > 0 && near(e.rate, 2 * one_way, 0.06)) {
    slip = true;
    meant = one_way;
    add(fmt::format("{} adds up both directions ({}): one way is {}, and bus bandwidth counts one way", say(e.rate), links, say(one_way)));
  } else if (one_way > 0 && near(e.rate, one_way, 0.06)) {
    slip = shown >= 0.6 * e.rate;
    add(fmt::format(
        "{} is the line rate one way ({}); flags, headers and acknowledgements share the link, so that the largest messages move "
        "72 to 87 % of it: {} to {}",
        say(e.rate), links, say(0.72 * one_way), say(0.87 * one_way)));
  }
  if (one_way == 0 && c.nodes() <= 1) {  // the usual headlines: NVLink 2 to 5 one way, as vendors' datasheets have them added up
    for (const double one : {150e9, 300e9, 450e9, 900e9}) {
      if (near(e.rate, 2 * one, 0.02) && shown > 0.6 * one && shown < 1.45 * one) {
        slip = true;
        meant = one;
        add(fmt::format("{} is the headline of an NVLink GPU, both directions added up: one way is {}", say(e.rate), say(one)));
      } else if (near(e.rate, one, 0.02) && shown > 0.65 * one && shown < one) {
        slip = true;
        add(fmt::format("{} is an NVLink GPU's line rate one way, of which messages move 72 to 87 %", say(e.rate)));
      }
    }
  }
  if (!e.in_bits && e.rate > 3 * shown && near(e.rate / 8, shown, 0.35)) {
    slip = true;
    meant = e.rate / 8;
    add(fmt::format("{} read as Gbit/s is {} / 8 = {}, which the run shows ({})", e.typed, fmt::format("{:.4g}", e.rate / 1e9),
                    say(e.rate / 8), say(shown)));
  }
  const Collective collective = c.judged.at != nullptr ? c.judged.at->operation.collective : Collective::all_reduce;
  if (const int n = c.ranks(); n > 1 && c.judged.at != nullptr) {
    const double factor = bus_factor(collective, n);
    if (e.of_algorithm) {
      meant = e.rate * factor;
      add(fmt::format("as algorithm bandwidth {} is a bus bandwidth of {} x {:.4g} = {}", say(e.rate), say(e.rate), factor, say(meant)));
    } else if (factor > 1.05 && shown / factor < 0.95 * e.rate && shown > 0.6 * e.rate) {
      add(fmt::format("compare bus bandwidth: algorithm bandwidth {} x {:.4g} = bus bandwidth {}", say(shown / factor), factor,
                      say(shown)));
    }
  }
  const bool met = shown >= 0.95 * meant;
  if (const Tier* nic = c.system ? c.system->tier(TierRole::nic) : nullptr; nic != nullptr && c.nodes() > 1) {
    const double sum = nic->aggregate().value();
    if (shown > 1.02 * sum && collective == Collective::all_reduce)
      add(fmt::format(
          "{} above the {} of the {} adapters is no fault: on two nodes a tree sends every byte over the network once where the bus "
          "bandwidth's formula counts 2(n-1)/n times",
          say(shown), say(sum), nic->endpoints));
    else if (near(e.rate, sum, 0.1))
      add(fmt::format("{} is the line rate of {} adapters together, headers included", say(e.rate), nic->endpoints));
  } else if (met && e.rate < 0.97 * shown) {
    add(fmt::format(
        "{} measured is more than expected: trees on two nodes and reduction in the switch move fewer bytes than the bus bandwidth's "
        "formula counts, so it may exceed a link's rate",
        say(shown)));
  }
  if (!c.info.averages.empty() && !c.curve.empty()) {
    const auto& [average, line] = c.info.averages.back();
    if (average * 1e9 < 0.93 * shown)
      add(fmt::format("line {}: the average {:.4g} mixes all sizes; the largest show {}", line.number, average, say(shown)));
  }
  if (c.judged.compared && !c.judged.slow) {
    const ComparedSize& at = *c.judged.at;
    const double predicted = at.bus * at.measured / at.predicted;
    add(fmt::format("{} gives {} at {} (between {} and {}); measured {}", c.system->name, say(predicted), size_text(at.operation.bytes),
                    say(at.bus * at.measured / at.high), say(at.bus * at.measured / at.low), say(at.bus)));
    const double grown = predicted_bus(c, 8.0 * 1024 * mebibyte, at.operation.nodes);
    if (grown > 1.12 * predicted)
      add(fmt::format("{} is too small to show the machine: 8 GiB would give {}", size_text(at.operation.bytes), say(grown)));
    if (at.operation.nodes > 2)
      if (const double pair = predicted_bus(c, at.operation.bytes.value(), 2); pair > 1.1 * predicted)
        add(fmt::format("two nodes would show {} because a tree between two moves half the bytes; {} nodes cannot", say(pair),
                        at.operation.nodes));
  }
  // without a description: does each GPU get what an adapter of a usual rate carries?
  bool full_adapters = false;
  if (const int local = c.ranks_per_node(); !c.judged.compared && c.nodes() > 2 && local >= 4 && collective == Collective::all_reduce)
    for (const double gbits : {100.0, 200.0, 400.0, 800.0}) {
      const double each = shown / local, line = gbits * 1.25e8;
      if (each < 0.85 * line || each > 0.99 * line) continue;
      full_adapters = true;
      add(fmt::format(
          "{} over {} GPUs of a node is {} each, {:.0f} % of an adapter of {:.0f} Gbit/s ({} / 8 = {}): the network is full; fewer nodes "
          "show more because a tree between two sends half the bytes",
          say(shown), local, say(each), 100 * each / line, gbits, gbits, say(line)));
    }
  const bool fine = (c.judged.compared && !c.judged.slow) || full_adapters;
  if (!(met || fine || (!c.judged.compared && slip))) return std::nullopt;
  if (why.empty()) why = fmt::format("{} expected, {} measured: the expectation is met", say(e.rate), say(shown));
  const double off = std::max(e.rate / shown, shown / e.rate);
  return Finding{Cause::expected_value_wrong, met || fine ? 0.9 : 0.75,
                 fmt::format("expected {}, measured {} (a factor of {:.3g}): {}", e.typed, say(shown), off, why),
                 "none needed: compare bus bandwidth at the largest sizes with one direction of the link; for the network's own rate force "
                 "NCCL_ALGO=RING"};
}

}  // namespace fabricost::diagnosis
