/// Predicts each size or count of a request, and the switch points of their curves.

#include <fabricost/answers/sweep.hpp>
#include <fabricost/explain/assumptions.hpp>
#include <fabricost/fields/field.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fabricost::core {

namespace field {
template <class R>
inline constexpr auto ask_several_nodes = asks(&R::nodes, "nodes", "--nodes,-n", Amount::count, any_count, "N",
                                               "Nodes, as nccl-tests counts them; several: 1:64:x2, 2,4,8");
template <class R>
inline constexpr auto ask_several_ranks = asks(&R::ranks, "ranks", "--ranks", Amount::count, any_count, "R",
                                               "GPUs; default all of the nodes; several as for <nodes>");
template <class R>
inline constexpr auto ask_sizes = asks(&R::sizes, "sizes", "--sizes", Amount::size, {}, "SIZES",
                                       "Message sizes: 1KiB:8GiB:x2, 1MiB:16MiB:+1MiB, or 4KiB,64KiB,1MiB");
}  // namespace field

RequestTable<SweepRequest> SweepRequest::fields() {
  using R = SweepRequest;
  return {field::ask_operation<R>,   field::ask_system<R>,        field::ask_several_nodes<R>, field::ask_several_ranks<R>,
          field::ask_dtype<R>,       field::ask_algorithm<R>,     field::ask_protocol<R>,      field::ask_choice<R>,
          field::ask_calibration<R>, field::ask_tier_override<R>, field::ask_path<R>,          field::ask_sizes<R>,
          field::ask_bytes<R>,       field::ask_library<R>,       field::ask_launch<R>,        field::ask_pxn<R>,
          WaysRequest::fields()};
}

RequestTable<CrossoversRequest> CrossoversRequest::fields() {
  using R = CrossoversRequest;
  return {field::ask_operation<R>,
          field::ask_system<R>,
          field::ask_several_nodes<R>,
          field::ask_several_ranks<R>,
          field::ask_dtype<R>,
          field::ask_algorithm<R>,
          field::ask_protocol<R>,
          field::ask_calibration<R>,
          field::ask_tier_override<R>,
          field::ask_path<R>,
          asks(&R::sizes, "sizes", "--sizes", Amount::size, {}, "SIZES", "Range of sizes to look at; default 8 B to 16 GiB"),
          field::ask_library<R>,
          field::ask_launch<R>,
          field::ask_pxn<R>,
          WaysRequest::fields()};
}

AnswerTable<CrossoverAnswer> CrossoverAnswer::fields() {
  using A = CrossoverAnswer;
  return {gives(&A::from, "from_bytes", "from_bytes", "From this size on, byte."),
          gives(&A::algorithm, "algorithm", "algorithm", "What it is, as in `ring`."),
          gives(&A::protocol, "protocol", "protocol", "Under which protocol: ll, ll128 or simple.")};
}

AnswerTable<CrossoversAtCount> CrossoversAtCount::fields() {
  using A = CrossoversAtCount;
  return {gives(&A::nodes, "nodes", "nodes", "Nodes."), field::give_ranks<A>,
          gives_trouble(&A::trouble, "Why nothing runs; empty: something does. Nothing else is set then."),
          gives(&A::runs, "runs", "runs", "What the library's tuner picks, a list of Crossover."),
          gives(&A::fastest, "fastest", "fastest",
                "What has the lowest predicted time, but for near ties over a short range: a list of Crossover.")};
}

AnswerTable<CrossoversAnswer> CrossoversAnswer::fields() {
  using A = CrossoversAnswer;
  return {gives(&A::operation, "", "operation", "Its name."), gives(&A::dtype, "", "dtype", "Element type."),
          field::give_system_to_python<A>};
}

namespace {

[[nodiscard]] bool several(const Counts& counts) { return counts.values.size() > 1; }

/// One operation for each count. \throws Refusal
[[nodiscard]] std::vector<Operation> operations_of(const OperationOnCounts& r) {
  if (several(r.nodes) && several(r.ranks)) throw Refusal("<nodes> and <ranks> are both lists; sweep over one of them");
  const auto first = [](const Counts& counts) { return counts.values.empty() ? 0 : counts.values.front(); };
  const std::size_t count = std::max<std::size_t>({1, r.nodes.values.size(), r.ranks.values.size()});
  std::vector<Operation> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(operation_of(r.operation, r.dtype, r.path, several(r.nodes) ? r.nodes.values[i] : first(r.nodes),
                                       several(r.ranks) ? r.ranks.values[i] : first(r.ranks)));
  need_machine(r.system);
  return out;
}

[[nodiscard]] Choice choice_on_counts(const CallOnCounts& r, Choice::Rule rule) {
  return choice_of({rule, r.algorithm, r.protocol, r.library, {}, r.launch, ways_of(r, r.pxn)});
}
/// The machine that can run such a call. \throws Refusal
[[nodiscard]] std::shared_ptr<const System> machine_of(const CallOnCounts& r, const Choice& choice) {
  const bool own_kernels = choice.inference.library != InferenceLibrary::none || choice.inference.from_host || r.symmetric;
  const KernelSets kernels{.compute = false, .custom = own_kernels, .moe = false};
  Machine system = r.system;
  std::vector<std::string> overrides = r.overrides;
  turn_to_library(system, overrides, r.calibration, r.library);
  auto out = with_library(system.get(overrides, kernels, r.calibration), r.library);
  check_call(*out, choice, *r.operation, r.dtype);
  return out;
}

/// A row of work(operation) for each. Of several, one that cannot run says why in its row. \throws Refusal where none can, naming the first
template <class Row, class Work>
[[nodiscard]] std::vector<Row> row_of_each(const System& system, const std::vector<Operation>& operations, Work&& work) {
  std::vector<Row> out;
  for (const Operation& op : operations) try {
      check_ranks(system, op);
      out.push_back(work(op));
    } catch (const Refusal& refusal) {
      if (operations.size() == 1) throw;
      out.emplace_back().trouble = refusal.text();
    } catch (const RequestError& error) {
      if (operations.size() == 1) throw;
      out.emplace_back().trouble = error.what();
    }
  if (std::all_of(out.begin(), out.end(), [](const Row& row) { return !row.trouble.empty(); })) {
    const Operation& first = operations.front();
    throw Refusal(
        fmt::format("{}: {}", first.nodes > 0 ? counted(first.nodes, "node") : counted(first.ranks, "rank"), out.front().trouble));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].trouble.empty()) continue;
    const Operation& op = operations[i];
    out[i].nodes = op.nodes > 0 ? op.nodes : std::max(1, (op.ranks + system.gpus_per_node - 1) / system.gpus_per_node);
    out[i].ranks = op.ranks > 0 ? op.ranks : out[i].nodes * system.gpus_per_node;
  }
  return out;
}

/// Whether a line is below another by more than a tie at some size of a piece: by 5 %, or by 1 % in a piece over which the size doubles.
[[nodiscard]] bool leads(const Line& line, const Line& other, double from, double until) {
  const double tie = until < 2 * from ? 0.05 : 0.01;
  constexpr int steps = 16;
  for (int i = 0; i <= steps; ++i) {
    const double bytes = from * std::pow(until / from, static_cast<double>(i) / steps);
    if (other(bytes) > (1 + tie) * line(bytes)) return true;
  }
  return false;
}

/// \param by_time a pair takes over where it leads, not where it is as fast
[[nodiscard]] std::vector<CrossoverAnswer> changes_of(const Curve& curve, double first, double last, bool by_time) {
  constexpr double largest = 1e12;
  std::vector<CrossoverAnswer> out;
  int before = 0;  // piece of the last change
  for (int i = 0; i < curve.pieces(); ++i) {
    const double from = std::max(first, std::ceil(curve.threshold_bytes(i)));
    if (from > last) break;
    const Candidate runs = curve.ran_at(from);
    if (!out.empty() && from <= out.back().from.value()) out.pop_back();  // a piece below the first size
    CrossoverAnswer change{units::B(from), std::string{name(runs.algorithm)}, std::string{name(runs.protocol)}};
    if (!out.empty() && out.back().algorithm == change.algorithm && out.back().protocol == change.protocol) continue;
    const double until = i + 1 < curve.pieces() ? curve.threshold_bytes(i + 1) : std::max(from, largest);  // also beyond the last size
    if (by_time && !out.empty() && !leads(curve.line_at(curve.line_index(i)), curve.line_at(curve.line_index(before)), from, until))
      continue;
    out.push_back(std::move(change));
    before = i;
  }
  return out;
}

}  // namespace

SweepAnswer answer(const SweepRequest& r) {
  SweepAnswer out{.rows = {}, .by_count = several(r.nodes) || several(r.ranks)};
  if (out.by_count && r.sizes) throw Refusal("several counts and several sizes; sweep over one of them: <bytes=268435456>, or one count");
  if (!out.by_count && r.bytes)
    throw Refusal("one size on one count is fabricost predict; take <sizes>, or several counts: <nodes=1:64:x2>");
  if (!out.by_count && (!r.sizes || r.sizes->empty())) throw Refusal("which sizes? Add <sizes>, as in <sizes=1KiB:8GiB:x2>", true);
  std::vector<Operation> operations = operations_of(r);
  if (out.by_count && !r.bytes) refuse_without_size(r.system, r.overrides, r.calibration);
  const Choice choice = choice_on_counts(r, r.choice);
  const auto system = machine_of(r, choice);
  if (!out.by_count) {
    check_ranks(*system, operations.front());
    for (const Prediction& p : sweep(*system, operations.front(), *r.sizes, choice)) out.rows.push_back(answer_of(*system, p));
    return out;
  }
  for (Operation& op : operations) op.bytes = *r.bytes;
  out.rows = row_of_each<PredictAnswer>(*system, operations,
                                        [&](const Operation& op) { return answer_of(*system, predict(*system, op, choice)); });
  for (PredictAnswer& row : out.rows) {
    if (row.trouble.empty()) continue;
    row.operation = operations.front();
    row.system = system->name;
    row.seconds = row.low = row.high = std::numeric_limits<double>::quiet_NaN();
  }
  return out;
}

CrossoversAnswer answer(const CrossoversRequest& r) {
  const std::vector<Bytes> sizes = r.sizes && !r.sizes->empty() ? *r.sizes : std::vector<Bytes>{units::B(8), units::GiB(16)};
  const auto [min, max] = std::minmax_element(sizes.begin(), sizes.end());
  const double first = min->value(), last = max->value();
  const std::vector<Operation> operations = operations_of(r);
  const Choice by_rule = choice_on_counts(r, Choice::Rule::nccl), by_time = choice_on_counts(r, Choice::Rule::fastest);
  const auto system = machine_of(r, by_rule);
  CrossoversAnswer out{
      .operation = std::string{name(*r.operation)}, .dtype = std::string{name(r.dtype)}, .system = system->name, .rows = {}};
  out.rows = row_of_each<CrossoversAtCount>(*system, operations, [&](const Operation& op) {
    const Curve runs = compile(*system, op, by_rule);
    const Curve fastest = compile(*system, op, by_time);
    return CrossoversAtCount{.nodes = runs.fabric().nodes,
                             .ranks = static_cast<int>(runs.fabric().ranks()),
                             .trouble = {},
                             .runs = changes_of(runs, first, last, false),
                             .fastest = changes_of(fastest, first, last, true)};
  });
  return out;
}

}  // namespace fabricost::core
