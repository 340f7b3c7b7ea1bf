/// A traced step beside the first layout of a plan, term by term. A plan counts launches (layer_floor), gradients' additions and the
/// optimizer as work of their own; a trace shows them as kernels and as idle time:
///
///   compute   compute, accumulation, optimizer, frozen_model, evaluation, and the stack's factor      idle      layer_floor, input
///   pipeline  hand_over          waiting   stragglers          copies   offload              the others by their names

#include "answers/trace/step.hpp"
#include "readings/logs/line_fields.hpp"
#include "text/plain_tree.hpp"
#include "text/line_reader.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

namespace fabricost::observe::detail {

namespace {

/// Terms of a trace, and those of a plan that it holds.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> planned_terms{
    {{"compute", "compute accumulation optimizer stack frozen_model evaluation"},
     {"idle", "layer_floor input"},
     {"tensor", "tensor"},
     {"context", "context"},
     {"expert", "expert"},
     {"pipeline", "hand_over"},
     {"bubble", "bubble"},
     {"data", "data"},
     {"waiting", "stragglers"},
     {"copies", "offload"}}};
constexpr std::array<std::string_view, 11> rows_in_order{"compute", "tensor", "context", "expert",  "pipeline", "data",
                                                 "other",   "bubble", "waiting", "copies", "idle"};
[[nodiscard]] constexpr bool is_exposed(std::string_view name) {
  return name == "tensor" || name == "context" || name == "expert" || name == "pipeline" || name == "data" || name == "other";
}

/// The first layout of a plan.
struct Planned {
  double step = 0;
  std::map<std::string, double, std::less<>> terms;
};

[[nodiscard]] Planned read_plan(const std::string& file) {
  Planned out;
  const PlainTree tree = read_json_file(file);
  const auto seconds = [&](PlainTree::Id map, std::string_view key) {
    const PlainTree::Id id = tree.find(map, key);
    constexpr double longest = 1e9;
    const double value = tree.real(id, tree[id].kind == PlainTree::Kind::real ? longest : 0);  // an infinite one is no time
    if (!(std::fabs(value) < longest))
      throw SpecError({fault_in_line(file, tree[id].line, 0, tree.shown(id), fmt::format("{} is no time of a step", key),
                                         "write the plan again, with its JSON")});
    return value;
  };
  const std::vector<PlainTree::Id>& layouts = tree.items(tree.find(tree.root, "layouts"));
  const PlainTree::Id fastest = layouts.empty() ? PlainTree::none : layouts.front();
  out.step = seconds(fastest, "step_s");
  for (const PlainTree::Id term : tree.items(tree.find(fastest, "terms"))) {
    const std::string_view name = tree.text(tree.find(term, "name"));
    const auto known = std::find_if(planned_terms.begin(), planned_terms.end(), [&](const auto& one) { return has_word(one.second, name); });
    out.terms[std::string{known == planned_terms.end() ? std::string_view{"other"} : known->first}] += seconds(term, "time_s");
  }
  if (!(out.step > 0) || out.terms.empty())
    throw fault_of_file(file, "there is no step of a training plan in it",
                            "give what plan printed of training, as JSON");
  return out;
}

[[nodiscard]] std::string shown_time(Time t) { return time_text(t); }
[[nodiscard]] Time length_of(Time t) { return t < Time{} ? -t : t; }

/// A sentence on a term that differs.
[[nodiscard]] std::string words_on(const TracedAgainst& one) {
  const Time apart = one.run - one.plan;
  const std::string both = fmt::format("{} of the run's step, {} of the plan's", shown_time(one.run), shown_time(one.plan));
  const std::string_view more = apart > Time{} ? "more" : "less";
  if (one.name == "waiting") return fmt::format("Waiting for other ranks takes {} {}: {}.", shown_time(length_of(apart)), more, both);
  if (one.name == "idle")
    return fmt::format("GPUs stand idle {} {}: {}.", shown_time(length_of(apart)), apart > Time{} ? "longer" : "shorter", both);
  if (one.name == "bubble") return fmt::format("Stages wait {} {} for each other: {}.", shown_time(length_of(apart)), more, both);
  if (is_exposed(one.name))
    return fmt::format("Exposed communication of {} groups takes {} {}: {}.", one.name, shown_time(length_of(apart)), more, both);
  return fmt::format("{} takes {} {}: {}.", one.name == "compute" ? "Compute" : "Copying", shown_time(length_of(apart)), more, both);
}

}  // namespace

void say_against(const std::string& file, TraceAnswer& answer) {
  const Planned plan = read_plan(file);
  std::map<std::string, double, std::less<>> run;
  for (const StepTerm& term : answer.terms) run[term.name == "other communication" ? "other" : term.name] += term.time.value();
  const auto of = [](const auto& terms, std::string_view name) {
    const auto at = terms.find(name);
    return at == terms.end() ? 0.0 : at->second;
  };
  const Time planned = units::s(plan.step);
  answer.against.push_back({"step", answer.step, planned});
  TracedAgainst exposed{.name = "exposed"};
  for (const std::string_view name : rows_in_order) {
    const TracedAgainst one{std::string{name}, units::s(of(run, name)), units::s(of(plan.terms, name))};
    if (is_exposed(name)) {
      exposed.run += one.run;
      exposed.plan += one.plan;
    }
    if (one.run != Time{} || one.plan != Time{}) answer.against.push_back(one);
  }
  std::vector<TracedAgainst> apart(answer.against.begin() + 1, answer.against.end());
  answer.against.push_back(exposed);
  const Time more = answer.step - planned;
  answer.parted.push_back(fmt::format("The run's step takes {}, the plan's {}: {} {}, {:+.1f} %.", shown_time(answer.step),
                                      shown_time(planned), shown_time(length_of(more)), more > Time{} ? "more" : "less",
                                      100 * (answer.step / planned - 1)));
  std::stable_sort(apart.begin(), apart.end(), [](const TracedAgainst& a, const TracedAgainst& b) {
    return length_of(a.run - a.plan) > length_of(b.run - b.plan);
  });
  constexpr int worth_saying = 100;  // one part of the step in so many
  for (const TracedAgainst& one : apart)
    if (length_of(one.run - one.plan) * worth_saying > std::max(answer.step, planned))
      answer.parted.push_back(words_on(one));
}

}  // namespace fabricost::observe::detail
