/// \file reliability_rows.cpp
/// Predicts the rows of a reliability CSV that follow from a rate, a shape or a specification.

#include "evaluation/cells.hpp"

#include <fabricost/plan/evaluation/workload.hpp>
#include <fabricost/parameters/interval.hpp>
#include <fabricost/plan/specs/failures.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/prices.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace fabricost::plan {
namespace {

constexpr std::array<std::string_view, 9> reliability_columns{"id",   "group", "source",   "topic", "system",
                                                              "gpus", "model", "quantity", "value"};

struct ReliabilityRow {
  WorkloadRow out;
  std::string source, topic, system, quantity, unit, notes;
  double gpus = 0;
};

[[nodiscard]] bool mentions(const std::string& text, std::string_view part) { return has(lowered(text), part); }

/// The days in "interruptions in 54 days"; 0 if there are none.
[[nodiscard]] double days_in(const std::string& unit) {
  const auto at = unit.find("in "), end = unit.find(" day");
  if (at == std::string::npos || end == std::string::npos || end < at + 3) return 0;
  return parse_number(std::string_view{unit}.substr(at + 3, end - at - 3)).value_or(0);
}

/// Letters and digits in lower case: spellings of causes differ only in punctuation and plurals.
[[nodiscard]] std::string bare(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (is_letter(c) || is_digit(c)) out += lower(c);
  if (!out.empty() && out.back() == 's') out.pop_back();
  return out;
}
/// True for the same cause, or if one name contains the other and is long enough to be specific.
[[nodiscard]] bool same_cause(std::string_view a, std::string_view b) {
  const std::string x = bare(a), y = bare(b);
  constexpr std::size_t telling = 6;
  return x == y || (std::min(x.size(), y.size()) >= telling && (x.find(y) != std::string::npos || y.find(x) != std::string::npos));
}

struct Answer {
  double value = 0, low = 0, high = 0;
  std::string skipped;
};
[[nodiscard]] Answer skip(std::string why) { return {0, 0, 0, std::move(why)}; }
[[nodiscard]] Answer plain(double value) { return {value, 0, 0, {}}; }
/// A specification, which is exact.
[[nodiscard]] Answer exactly(double value) { return {value, value * (1 - 1e-9), value * (1 + 1e-9), {}}; }
/// Derived from a figure printed with three digits.
[[nodiscard]] Answer printed(double value) { return {value, value * 0.995, value * 1.005, {}}; }
/// A random count: nine of ten are within nine_in_ten / 2 of its square root (Anscombe 1948).
[[nodiscard]] Answer counted(double value) {
  constexpr double half = nine_in_ten / 2;
  const double root = std::sqrt(value);
  return {value, std::pow(std::max(0.0, root - half), 2), std::pow(root + half, 2), {}};
}

/// The machine whose power a row states.
struct NamedEquipment {
  std::string_view words;  ///< all of these words, separated by blanks, occur in the quantity
  std::string_view spec;
};
// the first match is used; after these, a GPU
constexpr std::array<NamedEquipment, 15> racks{{{"gb200 nvl72", "gb200-nvl72"},
                                                {"gb300 nvl72", "gb300-nvl72"},
                                                {"nvl144", "vera-rubin-nvl72"},
                                                {"nvl576", "kyber-nvl576"},
                                                {"cloudmatrix", "cloudmatrix384"},
                                                {"8xh100 node", "dgx-h100"},
                                                {"dgx h100", "dgx-h100"},
                                                {"dgx b200", "dgx-b200"},
                                                {"dgx b300", "dgx-b300"},
                                                {"dgx a100", "dgx-a100"},
                                                {"8xh200 node", "dgx-h200"},
                                                {"8xb200 node", "dgx-b200"},
                                                {"8xa100 node", "dgx-a100"},
                                                {"8xb300 node", "dgx-b300"},
                                                {"8xmi300x node", "mi300x-8"}}};
constexpr std::array<NamedEquipment, 11> cards{{{"gb300", "gb300"},
                                                {"gb200", "gb200"},
                                                {"b300", "b300-sxm"},
                                                {"b200", "b200-sxm"},
                                                {"h200", "h200-sxm"},
                                                {"h100", "h100-sxm"},
                                                {"a100", "a100-sxm-80"},
                                                {"h800", "h800-sxm"},
                                                {"h20", "h20"},
                                                {"mi300x", "mi300x"},
                                                {"v100", "v100-sxm"}}};
template <std::size_t N>
[[nodiscard]] std::string_view named(const std::array<NamedEquipment, N>& list, const std::string& quantity) {
  const std::string text = lowered(quantity);
  for (const NamedEquipment& n : list) {
    const auto blank = n.words.find(' ');
    if (text.find(n.words.substr(0, blank)) != std::string::npos &&
        (blank == std::string_view::npos || text.find(n.words.substr(blank + 1)) != std::string::npos))
      return n.spec;
  }
  return {};
}

class ReliabilityPredictor {
 public:
  ReliabilityPredictor() : facts_(load_failure_facts()), prices_(load_prices()) {}

  [[nodiscard]] Answer operator()(const ReliabilityRow& r) const {
    if (mentions(r.topic, "failure count")) return count(r);
    if (mentions(r.unit, "1000 node-days")) return rate(r);
    if (mentions(r.topic, "mtbf") || mentions(r.topic, "mttf")) return mttf(r);
    if (mentions(r.topic, "failure rate")) return rate(r);
    if (mentions(r.topic, "goodput") || mentions(r.topic, "ettr")) return goodput(r);
    if (mentions(r.topic, "power")) return power(r);
    if (mentions(r.topic, "checkpoint")) return checkpoint(r);
    if (mentions(r.topic, "straggler")) return skip("an observation of a fleet: the shares of slow ranks are inputs");
    return skip("an observation that follows from nothing else in the row");
  }

 private:
  [[nodiscard]] const FailureFleet* fleet(const ReliabilityRow& r) const {
    if (mentions(r.source, "llama 3")) return &facts_.fleet("llama3");
    if (mentions(r.source, "opt-175b")) return &facts_.fleet("opt-175b");
    if (!mentions(r.source, "2410.21680")) return nullptr;
    if (mentions(r.notes, "observed;")) return &facts_.fleet("rsc-observed");
    return &facts_.fleet(mentions(r.system + r.quantity, "rsc-2") ? "rsc-2" : "rsc-1");
  }

  /// The fact comes from the row itself, so a comparison would be circular.
  [[nodiscard]] static Answer known_itself() {
    return skip("stands in data/workloads/reliability.yaml itself, so that nothing is predicted");
  }

  /// Rate of the cause x GPUs x days, for another run than the one that was counted.
  [[nodiscard]] Answer count(const ReliabilityRow& r) const {
    const FailureFleet* f = fleet(r);
    const double days = days_in(r.unit);
    if (f == nullptr || f->days <= 0 || days <= 0 || r.gpus <= 0) return skip("no rates are known of this fleet");
    const double exposure = days * r.gpus / (f->days * f->gpus);
    if (std::fabs(exposure - 1) < 1e-9) return known_itself();
    for (const FailureCause& c : f->causes)
      if (same_cause(c.cause, r.quantity)) return counted(c.count * exposure);
    if (mentions(r.quantity, "unexpected") || mentions(r.quantity, "unplanned")) return counted(f->failures() * exposure);
    if (mentions(r.quantity, "planned")) return counted(f->planned * exposure);
    if (mentions(r.quantity, "total")) return counted((f->failures() + f->planned) * exposure);
    return skip("a cause of failures without a rate");
  }

  [[nodiscard]] Answer mttf(const ReliabilityRow& r) const {
    const FailureFleet* f = fleet(r);
    if (f == nullptr || r.gpus <= 0) return skip("no rates are known of this fleet");
    const double nodes = r.gpus / f->gpus_per_node;
    const bool planned = mentions(r.quantity, "including planned");
    const double unit = mentions(r.unit, "gpu-h") ? 3600 / r.gpus : r.unit == "h" ? 3600 : mentions(r.unit, "day") ? day_seconds : 0;
    if (unit <= 0) return skip("a time to failure in a unit that is not known");
    const double all = f->failures() + (planned ? f->planned : 0);
    const double value = f->rate.mttf(nodes) * (planned ? f->failures() / all : 1) / unit;
    if (all <= 0) return f->name == "rsc-observed" ? plain(value) : printed(value);  // published as a rate
    const Answer n = counted(all);                                                   // as certain as its count
    return {value, value * all / n.high, value * all / n.low, {}};
  }

  [[nodiscard]] Answer rate(const ReliabilityRow& r) const {
    const FailureFleet* f = fleet(r);
    if (f == nullptr || !mentions(r.unit, "1000 node-days")) return skip("no rates are known of this fleet");
    if (f->failures() == 0) return known_itself();  // a fleet with a published rate instead of counts
    return printed(f->rate.thousand_node_days());
  }

  [[nodiscard]] Answer goodput(const ReliabilityRow& r) const {
    if (!mentions(r.unit, "fraction")) return skip("a bound or a time that was measured, not a share of the job's time");
    if (r.gpus <= 0) return skip("the number of GPUs is not given");
    const FailureFleet* f = fleet(r);
    if (f == nullptr) f = &facts_.fleet("llama3");
    if (mentions(r.quantity, "slowdown")) return skip("an observation of a fleet: the shares of slow ranks are inputs");
    const FailureAnswer a =
        failures_of({.nodes = r.gpus / f->gpus_per_node,
                     .rate = f->rate,
                     .checkpointing = {.stall = facts_.background_stall, .drain = facts_.background_drain, .recovery = facts_.recovery}});
    return plain(a.share.kept);
  }

  [[nodiscard]] Answer power(const ReliabilityRow& r) const {
    const double unit = r.unit == "kW" ? 1e3 : r.unit == "W" ? 1 : r.unit == "MW" ? 1e6 : 0;
    if (unit <= 0) return skip("a power in a unit that is not known");
    const bool measured = mentions(r.quantity, "measured");
    if (const auto machine = named(racks, r.quantity); !machine.empty()) {
      const System system = load_system(machine, {}, "none");
      const double rated = system.power.value.value() / unit / (mentions(r.quantity, "per gpu") ? machine_gpus(system) : 1);
      return measured ? plain(prices_.power.load.value * rated) : exactly(rated);
    }
    const std::string card_of = r.topic == "power" && r.quantity.find("GPU TDP") == 0 ? r.system : r.quantity;
    const auto card = named(cards, card_of);
    if (card.empty() || measured) return skip("the power of something without a specification here");
    return exactly(load_gpu(card).power.value.value() / unit);
  }

  /// Sizes are in powers of 1024, as file tools print them: BLOOM's 16-bit weights, 352.5e9 bytes, are
  /// published as 329 GB.
  [[nodiscard]] static Answer checkpoint(const ReliabilityRow& r) {
    const bool weights = mentions(r.quantity, "weights");
    if (!mentions(r.quantity, "checkpoint size") && !weights)
      return skip("depends on a storage and a network that the row does not describe");
    const std::string name = model_named(r.out.model);
    if (name.empty()) return skip("the model has no shape here");
    const double bytes = (weights ? 2 : checkpoint_bytes_per_parameter) * parameters_of(load_model(name)).total;
    if (r.unit == "TB") return plain(bytes / std::pow(1024, 4));
    if (r.unit == "GB") return plain(bytes / std::pow(1024, 3));
    return skip("a size in a unit that is not known");
  }

  FailureFacts facts_;
  Prices prices_;
};

[[nodiscard]] std::vector<ReliabilityRow> read_reliability(const std::filesystem::path& file) {
  CsvTable table(file);
  require_columns(table, reliability_columns, "a reliability CSV");
  std::vector<ReliabilityRow> out;
  while (table.next()) {
    Cells cells(table);
    ReliabilityRow r{.out = cells.row("quantity"),
                     .source = cells.text("source"),
                     .topic = cells.text("topic"),
                     .system = cells.text("system"),
                     .quantity = cells.text("quantity"),
                     .unit = cells.text("unit"),
                     .notes = cells.text("notes"),
                     .gpus = cells.number("gpus", 1e8)};
    cells.read_value(r.out);
    out.push_back(std::move(r));
  }
  table.finish();
  return out;
}

}  // namespace

std::vector<WorkloadRow> predict_reliability_rows(const std::filesystem::path& file) {
  std::vector<ReliabilityRow> rows = read_reliability(file);
  const ReliabilityPredictor predictor;
  std::vector<WorkloadRow> out;
  for (ReliabilityRow& r : rows) {
    if (r.out.skipped.empty()) {
      const Answer a = predictor(r);
      r.out.predicted = a.value;
      r.out.low = a.low;
      r.out.high = a.high;
      r.out.skipped = a.skipped;
    }
    out.push_back(std::move(r.out));
  }
  return out;
}

}  // namespace fabricost::plan
