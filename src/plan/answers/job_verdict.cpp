/// Answers about jobs in one sentence.

#include "answers/job_verdict.hpp"

#include "answers/explore/point_text.hpp"
#include "text/amounts.hpp"
#include "text/joined.hpp"

#include <fabricost/explain/assumptions.hpp>
#include <fabricost/plan/explain/nearest_plan.hpp>
#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/memory/advice.hpp>
#include <fabricost/plan/serving/arrivals/loaded.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

namespace fabricost::plan {
namespace {

/// "1 x tp 8 pp 1 and 2 prefill workers"
[[nodiscard]] std::string engines_text(const PlannedDeployment& d) {
  return fmt::format("{} x {}{}", d.replicas, engine_text({d.tp, d.dp, d.pp, d.ep}),
                     d.disaggregated ? fmt::format(" and {}", counted(d.prefill_workers, "prefill worker")) : "");
}

/// "Best: 11.95 tokens/s/GPU (7.68 to 18.6) with 1 x tp 8 pp 1, 3 requests each".
[[nodiscard]] std::string waiting_verdict_of(const PlannedDeployment& best) {
  const auto [low, high] = best.interval_tokens_per_second_per_gpu;
  return fmt::format("Best: {} tokens/s/GPU ({} to {}) with {}, {:.0f} requests each", figure(best.tokens_per_second_per_gpu),
                     figure(low, 3), figure(high, 3), engines_text(best), best.batch);
}

/// "Best: 2 x tp 4 pp 1 for 3 requests/s, 99.2 % of them within the limits, which hold up to 5.1/s (3.8 to 6.9)"; of a trace "for 7 requests within 2 s,
/// answered in 3.1 s"; without limits "for 3 requests/s, TTFT 169 ms and TPOT 16.5 ms".
[[nodiscard]] std::string loaded_verdict_of(const ServingQuestion& q, const LoadQuestion& load, const PlannedDeployment& best) {
  const ServedArrivals& a = *best.arrivals;
  const bool limited = q.ttft > 0 || q.tpot > 0;
  const auto count = load.trace ? static_cast<double>(load.trace->requests.size()) : 0;
  return fmt::format(
      "Best: {} for {}{}{}", engines_text(best),
      load.trace ? fmt::format("{}, answered in {}", arriving_text(load), short_time_text(count / a.rate)) : arriving_text(load),
      limited ? fmt::format(", {} of them within the limits", percent(a.within, 1))
              : fmt::format(", TTFT {} and TPOT {}", short_time_text(a.ttft.mean.value()), short_time_text(a.tpot.mean.value())),
      !limited        ? ""
      : a.rate_within ? fmt::format(", which hold up to {}/s ({} to {})", figure(*a.rate_within), figure(a.interval_rate_within->first, 3),
                                    figure(a.interval_rate_within->second, 3))
                      : ", which hold however soon they come");
}

/// "16 and 32 ranks on 2 and 4 nodes"; of more than three the first and the last.
[[nodiscard]] std::string groups_text(const std::vector<TunedGroup>& groups) {
  std::vector<std::string> ranks, nodes;
  for (const TunedGroup& group : groups) {
    const std::string all = std::to_string(group.ranks);
    if (ranks.empty() || ranks.back() != all) ranks.push_back(all);
    nodes.push_back(std::to_string(group.nodes));
  }
  const auto listed_text = [](const std::vector<std::string>& words) {
    if (words.size() < 2) return joined(words, "");
    if (words.size() > 3) return words.front() + " to " + words.back();
    return fmt::format("{} and {}", joined(std::span{words}.first(words.size() - 1)), words.back());
  };
  return fmt::format("{} ranks on {} node{}", listed_text(ranks), listed_text(nodes), nodes == std::vector<std::string>{"1"} ? "" : "s");
}

/// "tp 4 pp 16 vp 8 cp 4 dp 4 zero 1"
[[nodiscard]] std::string ranks_of(const PlannedLayout& l) {
  std::string out;
  for (const auto& [axis, ranks] : {std::pair{"tp", l.tp}, std::pair{"pp", l.pp}, std::pair{"vp", l.vp}, std::pair{"cp", l.cp},
                                    std::pair{"ep", l.ep}, std::pair{"dp", l.dp}})
    if (ranks > 1) out += fmt::format("{} {} ", axis, ranks);
  return out + fmt::format("zero {}", l.zero);
}

/// " with tp 8 pp 16 given", the ranks of a layout that were; empty without any.
[[nodiscard]] std::string given_text(const TrainingQuestion& q) {
  std::string out;
  for (const auto& [axis, ranks] : {std::pair{"tp", q.tp}, std::pair{"pp", q.pp}, std::pair{"vp", q.vp}, std::pair{"cp", q.cp},
                                    std::pair{"ep", q.ep}, std::pair{"dp", q.dp}, std::pair{"zero", q.zero}})
    if (ranks) out += fmt::format(" {} {}", axis, *ranks);
  return out.empty() ? out : fmt::format(" with{} given", out);
}

}  // namespace

/// "Best: 19 s a step (12.9 to 28 s) with tp 4 pp 16 vp 8 cp 4 dp 4 zero 1".
std::string verdict_of(const PlanAnswer& answer) {
  const PlannedLayout& best = answer.layouts.front();
  const bool named = answer.found && names_one_layout(answer.found->question);
  if (!answer.fits)
    return fmt::format("{} {:.1f} GiB{}", named ? "It does not fit:" : "Nothing fits: the nearest layout needs", best.memory_size.value() / gibibyte,
                       answer.found ? fmt::format(" of a GPU's {:.1f}", Processor::of(answer.found->system).memory / gibibyte) : "");
  const std::string range = fmt::format("({} to {} s)", figure(best.interval.first.value(), 3), figure(best.interval.second.value(), 3));
  const std::string with = fmt::format("with {}{}", ranks_of(best), best.idle_gpus > 0 ? fmt::format(", {} more GPUs idle", best.idle_gpus) : "");
  const std::string step = figure(best.step.value());
  if (answer.sites)
    return fmt::format("Best: {} s a step over {} sites, {} s as data parallelism over their links; {} s on one alone {} {}{}",
                       figure(answer.sites->step.value()), answer.sites->sites, figure(answer.sites->plain_step.value()), step, range, with,
                       answer.sites->penalty_extrapolated ? "; what such rounds cost in loss is not known" : "");
  const std::optional<PlannedLayout> open = best_of_job(answer);
  if (!open) return fmt::format("Best{}: {} s a step {} {}", answer.found ? given_text(answer.found->question) : "", step, range, with);
  const double longer = best.step / open->step - 1;
  constexpr double alike = 0.005;
  if (longer < alike) return fmt::format("{} s a step {}, as fast as the best, {}", step, range, with);
  const std::string more = longer < 1 ? fmt::format("{:.2g} % more than", 100 * longer) : fmt::format("{:.3g} times", 1 + longer);
  return fmt::format("{} s a step {}, {} the best: {} s with {}", step, range, more, figure(open->step.value()), ranks_of(*open));
}

std::string verdict_of(const ServeAnswer& answer) {
  const PlannedDeployment& best = answer.layouts.front();
  return answer.found && answer.found->loaded ? loaded_verdict_of(answer.found->question, answer.found->loaded->load, best)
                                              : waiting_verdict_of(best);
}

std::string verdict_of(const RlAnswer& answer) {
  const PlannedRl& best = answer.layouts.front();
  const bool turns_faster = answer.in_turn && *answer.in_turn < best.iteration;
  return fmt::format("Best: {} s an iteration ({} to {} s), {}{}{}", figure(best.iteration.value()), figure(best.interval.first.value(), 3),
                     figure(best.interval.second.value(), 3),
                     !best.colocated      ? fmt::format("{} GPUs train, {} generate", best.train_gpus, best.rollout_gpus)
                     : best.idle_gpus > 0 ? fmt::format("generating and training in turn on {} GPUs", best.gpus - best.idle_gpus)
                                          : "generating and training in turn on all GPUs",
                     best.idle_gpus > 0 ? fmt::format(", {} idle", best.idle_gpus) : "",
                     turns_faster ? fmt::format("; faster without overlap, in turn on all GPUs: {} s", figure(answer.in_turn->value())) : "");
}

/// "80 GPUs are enough for 30 requests/s: ...", "nic.bandwidth of 912 GB/s is enough for ...".
std::string verdict_of(const NeedAnswer& a) {
  const std::string one = a.unknown == "gpus" ? "GPU" : a.unknown == "nodes" ? "node" : "", up_to = a.most ? "up to " : "";
  const bool counts = !one.empty();
  if (a.value && counts)
    return fmt::format("{}{} {} enough for {}: {}", up_to, counted(*a.value, one), *a.value == 1 ? "is" : "are", a.goal, a.title);
  if (a.value) return fmt::format("{} of {}{} is enough for {}: {}", a.unknown, up_to, with_unit(*a.value, a.unit), a.goal, a.title);
  const std::string tried =
      a.tried.empty() ? ""
                      : fmt::format(" from {} to {}", min_text(a.tried.front().value), with_unit(a.tried.back().value, counts ? "" : a.unit));
  return fmt::format("No {}{} is enough for {}: {}", counts ? fmt::format("number of {}s", one) : a.unknown, tried, a.goal, a.title);
}

std::string verdict_of(const NeedMachineAnswer& a) {
  const bool tried = std::any_of(a.tried.begin(), a.tried.end(), [](const NeedMachineTried& one) { return one.measure.has_value(); });
  return fmt::format("{}: {}: {}",
                     a.value                       ? fmt::format("Take {} GPUs of {}", a.run->gpus, *a.value)
                     : a.no_verdict                ? "No verdict"
                     : tried                       ? "No machine is within the limits"
                                                   : "No machine can be chosen",
                     a.goal, a.title);
}

std::string_view paid_words(const std::optional<std::string>& price_kind) {
  if (!price_kind) return "";
  return *price_kind == name(PriceKind::on_demand) ? "rented" : *price_kind == name(PriceKind::reserved) ? "committed" : std::string_view{*price_kind};
}

/// "dgx-b200 is better: 2.55 times the tokens per GPU of dgx-h100 (sure)".
std::string verdict_of(const CompareAnswer& of) {
  if (!of.next) return of.verdict;
  if (*of.probability < even_odds) return of.verdict;
  const auto row = [&of](const std::string& system) -> const ComparedAnswer& {
    return *std::find_if(of.rows.begin(), of.rows.end(), [&](const ComparedAnswer& c) { return c.system == system; });
  };
  const ComparedAnswer &best = row(*of.best), &next = row(*of.next);
  const bool arrive = next.arrivals.has_value();
  const auto &own = arrive ? best.dollars_per_million_tokens_within : best.dollars_per_million_tokens,
             &other = arrive ? next.dollars_per_million_tokens_within : next.dollars_per_million_tokens;
  return fmt::format("{} is {}: {:.3g} times the {} of {} ({}){}", *of.best, of.cheapest == of.best && other ? "better" : "faster",
                     *of.faster, arrive ? "requests/s within limits" : "tokens per GPU", *of.next,
                     of.sure                                                       ? "sure"
                     : best.kernels == "assumed" || next.kernels == "assumed" ? "likely: kernels assumed"
                                                                                   : fmt::format("{:.0f} % likely", 100 * *of.probability),
                     own && other ? fmt::format(", {} against {} $/Mtoken {}{}", figure(*own, 3), figure(*other, 3), paid_words(of.price_kind), arrive ? " at those rates" : "") : "") +
         (best.idle_gpus > 0 ? fmt::format("; {} GPUs paid", of.gpus + best.idle_gpus) : "");
}

/// Of one machine the days and the money; of several, which is best at what.
std::string verdict_of(const ProjectAnswer& a) {
  std::vector<const ProjectedRun*> able;
  for (const ProjectedRun& r : a.rows)
    if (r.trouble.empty()) able.push_back(&r);
  if (able.empty()) return a.rows.size() == 1 ? a.rows.front().trouble : "No machine can do this run.";
  const auto days = [](Time time, int digits) { return figure(time.value() / day_seconds, digits); };
  if (able.size() == 1) {
    const ProjectedRun& r = *able.front();
    return fmt::format("{} days ({} to {}) on {} of {}{}", days(r.time, 4), days(r.interval.first, 3), days(r.interval.second, 3),
                       counted(r.gpus, "GPU"), r.system, r.price ? fmt::format(", {} {}", dollars_text(*r.price), paid_words(r.price_kind)) : "");
  }
  if (a.no_verdict) return fmt::format("No verdict: {}.", *a.no_verdict);
  std::vector<const ProjectedRun*> ranked;
  for (const ProjectedRun* r : able)
    if (r->in_time.value_or(true) && std::find(a.unranked.begin(), a.unranked.end(), r->system) == a.unranked.end()) ranked.push_back(r);
  if (ranked.empty()) return "None ends in time.";
  const auto priced = std::count_if(ranked.begin(), ranked.end(), [](const ProjectedRun* r) { return r->price.has_value(); });
  std::string out;
  const auto say = [&](std::string_view what, const std::optional<std::string>& which, const auto& text) {
    const auto best = std::find_if(able.begin(), able.end(), [&](const ProjectedRun* r) { return r->system == which; });
    if (best != able.end()) out += fmt::format("{}{}: {} ({})", out.empty() ? "" : "; ", what, *which, text(**best));
  };
  say(priced == std::ssize(ranked) ? "Cheapest" : priced > 1 ? fmt::format("Cheapest of the {} with a price", priced) : "The only price known",
      a.cheapest, [](const ProjectedRun& r) { return fmt::format("{} {}", dollars_text(*r.price), paid_words(r.price_kind)); });
  say("lowest power", a.lowest_power, [](const ProjectedRun& r) { return figure(in(*r.site_power, units::MW).value(), 3) + " MW"; });
  say("fewest GPUs", a.fewest_gpus, [](const ProjectedRun& r) { return std::to_string(r.gpus); });
  say("soonest", a.soonest, [&](const ProjectedRun& r) { return days(r.wait + r.time, 3) + " days"; });
  std::vector<std::string> kinds;  // of servers' prices
  for (const ProjectedRun* r : ranked)
    if (r->price_kind == "owned" && std::find(kinds.begin(), kinds.end(), r->cost->server_kind) == kinds.end()) kinds.push_back(r->cost->server_kind);
  return out.empty() ? "Nothing sets these machines apart."
                     : out + "." + (kinds.size() > 1 ? fmt::format(" Their servers' prices differ in kind: {}.", joined(kinds)) : "");
}

std::string verdict_of(const CostAnswer& a) {
  const std::string paid = a.paid_gpus > a.gpus ? fmt::format(": {:.0f} are paid for", a.paid_gpus) : "";
  const std::string whole = a.part_of_rack ? fmt::format("{}, rented by the node; bought, {:.0f} are paid for, in whole racks", paid, a.bought_gpus)
                            : paid.empty() ? ""
                                           : fmt::format("{}, in whole {}", paid, a.paid_in);
  std::string hourly;
  const auto say = [&hourly](const std::optional<Dollars>& dollars, std::string_view how) {
    if (dollars) hourly += fmt::format("{}{}{} {}", hourly.empty() ? "" : ", ", dollars_text(*dollars), hourly.empty() ? " an hour" : "", how);
  };
  const bool owns = a.hour.price == a.hour.owned;
  if (owns) say(a.hour.owned, "owned");
  say(a.hour.rented, "rented");
  if (!owns) say(a.hour.owned, "owned");
  return fmt::format("{}: {:.0f} GPUs of {}{}", hourly.empty() ? "no price is known" : hourly, a.gpus, a.system, whole);
}

std::string verdict_of(const GoodputAnswer& a) {
  return fmt::format("{} in {}: {} of the time is work that counts", counted(a.gpus, "GPU"), counted(a.nodes, "node"),
                     percent(a.goodput, 2));
}

std::string verdict_of(const StragglersAnswer& a) {
  return fmt::format("The slowest of {:.0f} ranks takes {}, {:.1f} % more than the mean of {}", a.ranks, duration_text(a.step),
                     100 * (a.step / a.mean - 1), duration_text(a.mean));
}

std::string verdict_of(const ShareAnswer& a) {
  return fmt::format("At once on {} GPUs, {} of {}: {}", a.gpus, counted(a.nodes, "node"), a.system, time_text(a.end));
}

/// "Best compromise: nic.bandwidth 50 GB/s, domain 16 GPUs (step 4.21 s)".
std::string verdict_of(const ExploreAnswer& a) {
  const ExplorePoint* const best = explore::point_of(a, a.chosen);
  if (best == nullptr) {
    const bool runs = std::any_of(a.points.begin(), a.points.end(), [](const ExplorePoint& p) { return p.trouble.empty(); });
    return fmt::format("{}: {}", runs ? "No point is within the limits" : "Nothing can run", a.title);
  }
  return fmt::format("{}: {}{} ({})", a.knee ? "Best compromise" : "Best", explore::place_text(a, *best),
                     best->extra_dollars_per_gpu_hour ? " at an equal price of a GPU" : "", explore::measured_text(a.objectives.front(), best->objectives.front().second));
}

std::string_view library_text(const TuneAnswer& a) { return a.library == "rccl" ? "RCCL" : "NCCL"; }

/// Of the sure ranges the one with the largest sure part: "NCCL's own choice loses 31 %, at least 12 % (all_gather from 4 MiB to 17 MiB): dgx-b200, 8 ranks on 1 node (half)".
std::string verdict_of(const TuneAnswer& a) {
  const std::string machine = fmt::format("{}, {} ({})", a.system, groups_text(a.groups), a.dtype);
  const SlowChoice* worst = nullptr;
  for (const SlowChoice& one : a.ranges)
    if (one.sure && (worst == nullptr || one.least_share > worst->least_share)) worst = &one;
  if (worst == nullptr) return fmt::format("Nowhere does {}'s own choice surely lose time: {}", library_text(a), machine);
  return fmt::format("{}'s own choice loses {}, at least {} ({} from {} to {}): {}", library_text(a), percent(worst->lost_share, 0),
                     percent(worst->least_share, 0), worst->operation, rough_size(worst->smallest.value()), rough_size(worst->largest.value() + 1), machine);
}

std::string title_of(const PipelineAnswer& a) {
  return fmt::format("{}, {} stages{}, {} microbatches", a.schedule, a.stages, a.chunks > 1 ? fmt::format(" of {} chunks", a.chunks) : "",
                     a.microbatches);
}

std::string verdict_of(const PipelineAnswer& a) {
  return fmt::format("{} a step, {} of it bubble: {}", time_text(a.step), percent(a.bubble_over_total, 2), title_of(a));
}

std::string_view sharing_text(const StorageAnswer& a, std::size_t way) {
  constexpr std::array<std::string_view, 3> who{"every node reads all", "every node reads its part", "its part, then all_gather"};
  return a.nodes == 1 ? "the node" : who[static_cast<std::size_t>(a.made.ways[way].sharing)];
}

/// Of the ways after which every node has all the weights, the fastest; where they do not fit a node, that after which each has its part.
std::string verdict_of(const StorageAnswer& a) {
  const auto time = [&](std::size_t way) { return std::min(a.ways[way].direct, a.ways[way].through_host); };
  const auto rank = [&](std::size_t way) {
    return std::tuple{!a.ways[way].fits, a.nodes > 1 && a.made.ways[way].sharing == WeightSharing::by_part, time(way)};
  };
  std::size_t way = 0;
  for (std::size_t i = 1; i < a.ways.size(); ++i)
    if (rank(i) < rank(way)) way = i;
  const bool direct = a.ways[way].direct <= a.ways[way].through_host;
  return fmt::format("{} ({}{}): {} from storage into {} of {}, {}", time_text(time(way)),
                     a.nodes == 1 ? "" : fmt::format("{}, ", sharing_text(a, way)), direct ? "direct" : "through the host",
                     size_text(a.bytes), counted(a.gpus, "GPU"), counted(a.nodes, "node"), a.system);
}

namespace {
/// "faster than RDMA up to 3.497 kB"
[[nodiscard]] std::string crossover_text(const std::optional<Bytes>& until, const std::optional<Bytes>& from, Bytes largest) {
  if (from) return "faster than RDMA from " + size_text(*from) + " on";
  if (!until) return "faster than RDMA at every size";
  if (*until <= Bytes{}) return "never faster than RDMA";
  return fmt::format("faster than RDMA up to {}{}", size_text(*until), *until > largest ? ", beyond the sizes shown" : "");
}
}  // namespace

std::string verdict_of(const AccessAnswer& a) {
  return fmt::format("Stores are {}; loads are {}: {} against one {} port, {}", crossover_text(a.store_until, a.store_from, a.bytes.back()),
                     crossover_text(a.load_until, a.load_from, a.bytes.back()), a.tier, a.nic_tier, a.system);
}

std::string verdict_of(const IncastAnswer& a) {
  return fmt::format("{}, {} times one alone: {} of {} each to one port of {}", time_text(a.time), figure(a.time / a.alone, 3),
                     counted(a.senders, "sender"), size_text(a.bytes), a.system);
}

}  // namespace fabricost::plan
