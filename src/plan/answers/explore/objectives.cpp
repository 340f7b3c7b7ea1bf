/// Objectives by name, their limits, and the prices of machines.

#include "answers/explore/objectives.hpp"
#include "text/amounts.hpp"

#include <fabricost/plan/answers/goodput.hpp>
#include <fabricost/plan/specs/prices.hpp>
#include <fabricost/text/ranges.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fabricost::plan::explore {
namespace {

using Value = std::optional<double>;

double number_limit(const std::string& text, std::string_view named) { return large_count_of(text, named); }
double plain_limit(const std::string& text, std::string_view named) { return number_from(text, named, 0, 1e18); }

Value step(const Found& f) { return f.plan.seconds; }
Value first_token(const Found& f) { return f.plan.serving->time.ttft; }
Value tokens(const Found& f) { return f.plan.tokens_per_gpu * f.gpus; }
Value tokens_per_gpu(const Found& f) { return f.plan.tokens_per_gpu; }
Value tokens_per_user(const Found& f) { return f.plan.serving->tokens_per_s_per_user; }
Value dollars(const Found& f) { return f.plan.dollars; }
Value joules(const Found& f) { return f.plan.joules; }
Value watts(const Found& f) { return f.plan.joules ? Value{f.plan.megawatts * 1e6} : std::nullopt; }
Value requests(const Found& f) { return f.plan.requests; }
Value model_flops(const Found& f) { return f.mfu; }
Value gpus(const Found& f) { return f.gpus; }

enum class Of : unsigned char { both, training, serving };
struct Known {
  Objective objective;
  Of of = Of::both;
  std::string_view said{};  ///< as people write it
};

constexpr std::size_t known_objectives = 13;
const std::array<Known, known_objectives>& known() {
  static const std::array<Known, known_objectives> all{{
      {{.name = "step_seconds", .unit = "s", .value = step, .limit = duration_of}, Of::training, "step"},
      {{.name = "ttft_seconds", .unit = "s", .value = first_token, .limit = duration_of}, Of::serving, "ttft"},
      {{.name = "tpot_seconds", .unit = "s", .value = step, .limit = duration_of}, Of::serving, "tpot"},
      {{.name = "tokens_per_second", .unit = "tokens/s", .more_is_better = true, .value = tokens, .limit = number_limit},
       Of::both,
       "tokens/s"},
      {{.name = "tokens_per_second_per_gpu", .unit = "tokens/s", .more_is_better = true, .value = tokens_per_gpu, .limit = number_limit},
       Of::both,
       "tokens/s/gpu"},
      {{.name = "tokens_per_second_per_user", .unit = "tokens/s", .more_is_better = true, .value = tokens_per_user, .limit = plain_limit},
       Of::serving,
       "tokens/s/user"},
      {{.name = "requests_per_second", .unit = "requests/s", .more_is_better = true, .value = requests, .limit = plain_limit},
       Of::serving,
       "req/s"},
      {{.name = "dollars_per_million_tokens", .unit = "USD", .value = dollars, .limit = plain_limit}, Of::both, "$/token"},
      {{.name = "joules_per_million_tokens", .unit = "J", .value = joules, .limit = plain_limit}, Of::both, "J/token"},
      {{.name = "watts", .unit = "W", .value = watts, .limit = number_limit}, Of::both, "W"},
      {{.name = "goodput", .unit = "", .more_is_better = true, .limit = core::share_of, .goodput = true}, Of::training},
      {{.name = "mfu", .unit = "", .more_is_better = true, .value = model_flops, .limit = core::share_of}, Of::training},
      {{.name = "gpus", .unit = "", .value = gpus, .limit = number_limit}},
  }};
  return all;
}

/// An objective by name, in a usual spelling, or a varied quantity. \throws Refusal
[[nodiscard]] Objective objective_named(const std::string& text, const std::vector<Axis>& axes, bool serving, std::string_view field) {
  std::vector<std::string> names;
  for (const Known& one : known()) {
    if (one.of == (serving ? Of::training : Of::serving)) continue;
    if (text == one.objective.name || text == one.said) return one.objective;
    names.emplace_back(one.said.empty() ? one.objective.name : one.said);
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].named()) continue;
    if (same_unknown(axes[i].shown.name, text)) return {.name = axes[i].shown.name, .unit = axes[i].shown.unit, .axis = i};
    names.push_back(axes[i].shown.name);
  }
  throw Refusal(fmt::format("<{}>: {}", field, unknown_text(text, "something that counts", names)));
}

/// The limit of an objective; of what is varied it is written as the values are. \throws Refusal
[[nodiscard]] double limit_of(const Objective& objective, const std::string& text, const std::vector<Axis>& axes) {
  if (!objective.axis) {
    try {
      return objective.limit(text, "<limits>");
    } catch (const RequestError& error) {
      throw Refusal(error.what());  // which every interface words with its own names
    }
  }
  varied::Varied what = axes[*objective.axis].what;
  const std::vector<double> numbers = varied::values_of(text, what, "limits").numbers;
  if (numbers.size() != 1) throw Refusal(fmt::format("<limits>: {}={} is not one value", objective.name, text.substr(0, 60)));
  return numbers.front();
}

}  // namespace

Objectives objectives_of(const ExploreOptions& o, const std::vector<Axis>& axes, bool serving, std::string_view usual) {
  Objectives out;
  for (const std::string_view one : listed(o.objectives.empty() ? usual : std::string_view{o.objectives})) {
    Objective objective = objective_named(std::string{one}, axes, serving, "objectives");
    for (const Objective& other : out.all)
      if (other.name == objective.name) throw Refusal(fmt::format("<objectives>: {} is given twice", one));
    out.all.push_back(objective);
  }
  out.counted = out.all.size();
  for (const std::string& text : o.limits) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) throw Refusal(fmt::format("<limits>: \"{}\" is not NAME=X, as in step=8s", text.substr(0, 60)));
    const Objective objective = objective_named(text.substr(0, equals), axes, serving, "limits");
    auto at = std::find_if(out.all.begin(), out.all.end(), [&](const Objective& other) { return other.name == objective.name; });
    if (at == out.all.end()) at = out.all.insert(at, objective);
    if (at->most) throw Refusal(fmt::format("<limits>: {} is given twice", text.substr(0, equals)));
    at->most = limit_of(*at, text.substr(equals + 1), axes);
  }
  return out;
}

bool Objectives::pay() const {
  return std::any_of(all.begin(), all.end(), [](const Objective& o) { return o.value == dollars || o.value == joules || o.value == watts; });
}

double Goodputs::of(int gpus, int gpus_per_node) {
  const std::scoped_lock lock{guard_};
  const auto found = known_.find({gpus, gpus_per_node});
  if (found != known_.end()) return found->second;
  GoodputRequest failing;
  failing.gpus = gpus;
  failing.gpus_per_node = gpus_per_node;
  return known_[{gpus, gpus_per_node}] = answer(failing).goodput;
}

Priced prices_of(const ExploreOptions& o, const std::vector<RequestedMachine>& machines) {
  std::vector<double> own(machines.size());
  for (const std::string& text : o.prices) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos)
      throw Refusal(fmt::format("<prices>: \"{}\" is not NAME=USD, as in h100-sxm=2.50", text.substr(0, 60)));
    const std::string name = text.substr(0, equals);
    const double dollars = number_from(text.substr(equals + 1), "<prices>", 1e-6, 1e6);
    bool found = false;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < machines.size(); ++i) {
      const System& system = *machines[i].system;
      if (name == machines[i].asked || name == system.name || name == system.gpu.name) {
        own[i] = dollars;
        found = true;
      }
      names.push_back(system.name);
      names.push_back(system.gpu.name);
    }
    if (!found) throw Refusal("<prices>: " + unknown_text(name, "one of the machines or GPUs", names));
  }
  const Prices listed = load_prices();
  Priced out;
  const auto priced = [&](std::size_t i, PriceKind kind) {
    Prices one = listed;
    one.kind = kind;
    if (own[i] > 0) one.gpu_hour = {units::USD_per_h(own[i]), {"as given", Confidence::assumed}};
    return one;
  };
  std::size_t most = 0;  // machines whose price of a kind is known
  std::string missing;
  for (const PriceKind kind : {PriceKind::on_demand, PriceKind::reserved, PriceKind::owned}) {
    if (o.price_kind && *o.price_kind != kind) continue;
    std::string without;
    std::vector<Prices> of;
    std::size_t with = 0;
    for (std::size_t i = 0; i < machines.size(); ++i) {
      const System& system = *machines[i].system;
      of.push_back(priced(i, kind));
      const bool known = price_known(system, of.back());
      const std::string& name = machines[i].asked.empty() ? system.name : machines[i].asked;
      with += known;
      if (!known && without.find(name) == std::string::npos) without += (without.empty() ? "" : ", ") + name;
    }
    const std::string here = fmt::format("{} not known of {}", kind == PriceKind::on_demand ? "on demand" : name(kind), without);
    if (out.of.empty() || with > most) {
      out.of = std::move(of);
      most = with;
      if (with > 0) {
        out.kind = kind;
        out.why = without.empty() ? "" : here;
      }
    }
    if (without.empty()) return out;
    missing += (missing.empty() ? "" : "; ") + here;
  }
  if (!out.kind) out.why = "no kind of price is known of all: " + missing;
  return out;
}

void drop_other_kinds(Compared& plan, const Priced& prices) {
  const bool rented = plan.price_kind == PriceKind::stated && prices.kind != PriceKind::owned;  // an own rent
  if (!prices.kind || (plan.price_kind != prices.kind && !rented)) {
    plan.dollars.reset();
    plan.price_kind.reset();
  }
}

}  // namespace fabricost::plan::explore
