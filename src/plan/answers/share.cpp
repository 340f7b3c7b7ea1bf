/// Places collectives on a layout and computes how they share links until they end.

#include <fabricost/plan/answers/share.hpp>
#include <fabricost/explain/assumptions.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/hardware/slice.hpp>
#include <fabricost/plan/network/topology_of.hpp>
#include <fabricost/plan/network/traffic.hpp>
#include <fabricost/predict/by_ways.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fabricost::plan {

RequestTable<GroupedRequest> GroupedRequest::fields() {
  using R = GroupedRequest;
  using enum Amount;
  return {asks(&R::operation, "operation", "", "", "The operation, with its bytes and without ranks", true),
          asks(&R::over, "over", "", "", "An axis of the layout, a number of ranks, or None for all GPUs"),
          asks(&R::every, "every", "", count, any_count, "", "Distance from member to member of a group, where <over> is a number"),
          asks(&R::algorithm, "algorithm", "", "", "Force one"),
          asks(&R::protocol, "protocol", "", "", "Force one"),
          asks(&R::weight, "weight", "", number, {1e-9, 1e6}, "", "Relative share of a link that several use"),
          asks(&R::name, "name", "", "", "A name to print; default made of the rest, as in `all_reduce 1 GiB over dp`")};
}

RequestTable<ShareRequest> ShareRequest::fields() {
  using R = ShareRequest;
  using enum Amount;
  return {field::ask_system<R>,
          asks(&R::nodes, "nodes", "--nodes,-n", count, any_count, "N", "Nodes, as nccl-tests counts them; default one domain"),
          asks(&R::layout, "layout", "--layout", "AXES",
               "Axes inside out, as ranks are numbered: tp=8,pp=4,dp\n(the one without a size takes what is left)"),
          asks(&R::collectives, "collectives", "--of", "WORDS",
               "One collective, run by every group; several at once:\n\"OP SIZE [over AXIS|COUNT] [every STRIDE]\n"
               " [by ALGORITHM] [under PROTOCOL] [in TYPE] [weight W]\"",
               true),
          asks(&R::balancing, "balancing", "--balancing", "HOW", "Flows on parallel links: even (per packet, default)\nor hashed (or ecmp)"),
          asks(&R::pxn, "pxn", "--no-pxn", "", "Rails: messages do not change GPU to reach their rail"),
          asks(&R::adaptive, "adaptive", "--minimal", "", "Dragonfly: minimal routes instead of adaptive ones"),
          field::ask_choice<R>,
          field::ask_calibration<R>,
          field::ask_override<R>,
          field::ask_library<R>,
          field::ask_launch<R>,
          WaysRequest::fields()};
}

AnswerTable<Sharer> Sharer::fields() {
  using A = Sharer;
  return {gives(&A::name, "name", "name", "Of the collective."), gives(&A::groups, "groups", "groups", "How many of its groups."),
          gives(&A::of, "", "of", "How many it has.")};
}

AnswerTable<HeldBy> HeldBy::fields() {
  using A = HeldBy;
  return {
      gives(&A::name, "name", "", "Its name."), gives(&A::capacity, "capacity_GBps", "", "What it carries in one direction, byte/s.", 1e9),
      gives(&A::load, "load_GBps", "", "What all of them put on it, byte/s.", 1e9), gives(&A::sharers, "sharers", "", "Who crosses it.")};
}

AnswerTable<SharedCollective> SharedCollective::fields() {
  using A = SharedCollective;
  return {gives(&A::name, "name", "name", "For people."),
          gives(&A::groups, "groups", "groups", "How many groups run it."),
          gives(&A::ranks, "", "ranks", "GPUs of a group."),
          gives(&A::stride, "stride", "stride", "From member to member."),
          gives(&A::slow_down, "slow_down", "slow_down", "Of its wire time, by others and by its own routes, of the most slowed group; at least 1."),
          gives(&A::least_slow_down, "least_slow_down", "least_slow_down", "Of the least slowed one."),
          gives(&A::time, "time_us", "seconds", "If all of them ran for ever: alone.seconds + (slow_down - 1) x its wire terms, s.",
                in_microseconds),
          gives(&A::alone, "alone", "alone", "Without the others, a Prediction."),
          gives(&A::held_by, "link", "", "The link that holds it."),
          gives(&A::link, "", "link", "The link that holds it; None: it moves nothing."),
          gives(&A::link_bandwidth, "", "link_bytes_per_second", "What that link carries in one direction, byte/s."),
          gives(&A::link_load, "", "link_load_bytes_per_second", "What all of them put on it, byte/s."),
          gives(&A::sharers, "", "sharers", "Who crosses it, a list of Sharer."),
          gives(&A::end, "end_us", "end_seconds", "Until its last group has ended, s: links are shared anew whenever another ends.",
                in_microseconds),
          gives(&A::by_itself, "by_itself_us", "by_itself_seconds", "All its groups without the other collectives, s.", in_microseconds)};
}

AnswerTable<ShareAnswer> ShareAnswer::fields() {
  using A = ShareAnswer;
  return {field::give_system<A>,
          gives(&A::nodes, "nodes", "nodes", "Nodes."),
          gives(&A::gpus, "gpus", "gpus", "GPUs."),
          gives(&A::balancing, "balancing", "balancing", "even or hashed."),
          gives(&A::sharp_turns, "sharp_turns", "sharp_turns",
                "Turns that in-network reductions take on the fabric's trees; None: there are none, or no limits are known."),
          gives(&A::detoured, "detoured", "detoured",
                "Share of what the groups of a dragonfly send each other that crosses a third one, while all run; None: nothing does."),
          gives(&A::collectives, "collectives", "", "One of each, in the order asked."),
          gives(&A::end, "end_us", "end_seconds", "Until all have ended, s.", in_microseconds),
          gives(&A::in_turn, "in_turn_us", "in_turn_seconds",
                "One after the other instead, s: the sum of by_itself_seconds. Shorter only where groups lie unevenly on the nodes.",
                in_microseconds),
          gives(&A::beside_products, "beside_products", "beside_products",
                "Of its time alone, what a collective takes beside matrix products on the same GPUs; measured, in none of the times."),
          gives(&A::products_beside, "products_beside", "products_beside", "And what the products take beside it.")};
}

namespace {

constexpr int max_gpus = 1'000'000;  ///< the network is computed link by link

/// "all_reduce 1 GiB over dp": as typed where it was typed.
[[nodiscard]] std::string shown(const GroupedRequest& one) { return one.written.empty() ? name_of(one) : one.written; }

/// "tp=8,dp".
[[nodiscard]] std::string text_of(const std::vector<Axis>& axes) {
  std::string out;
  for (const Axis& axis : axes) {
    out += (out.empty() ? "" : ",") + axis.name;
    if (axis.size > 0) out += fmt::format("={}", axis.size);
  }
  return out;
}

[[nodiscard]] GroupedCollective placed(const GroupedRequest& one, const std::vector<Axis>& axes, Choice choice) {
  check(one);
  choice.algorithm = one.algorithm;
  choice.protocol = one.protocol;
  GroupedCollective out{.name = name_of(one),
                        .operation = one.operation,
                        .choice = choice,
                        .size = one.over.size,
                        .stride = one.every,
                        .weight = one.weight};
  out.operation.ranks = out.operation.nodes = 0;
  const std::string& over = one.over.axis;
  const auto axis = std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == over; });
  if (axis != axes.end()) {
    out.size = axis->size;
    if (one.every == 1) out.stride = axis->stride;
  } else if (!over.empty() && one.over.size == 0) {
    std::vector<std::string> names;
    for (const Axis& each : axes) names.push_back(each.name);
    throw Refusal(fmt::format("<collectives> \"{}\": ", shown(one)) +
                  (names.empty() ? fmt::format("over \"{}\": no axis of that name; name the axes with <layout>, as in <layout=tp=8,dp>, or "
                                               "give a count",
                                               over)
                                 : unknown_text(over, "an axis of the layout", names)));
  }
  return out;
}

/// Resolves all sizes and strides. \param shown the layout as it was written, for the message
/// \throws Refusal for a repeated name, a second axis without a size, or sizes that do not multiply to the
/// GPUs
[[nodiscard]] std::vector<Axis> sized_axes(std::vector<Axis> axes, int gpus, const std::string& shown) {
  const Axis* open = nullptr;
  long long product = 1;
  for (std::size_t i = 0; i < axes.size() && product <= gpus; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (axes[j].name == axes[i].name) throw Refusal(shown + ": " + axes[i].name + " is there twice");
    if (axes[i].size == 0) {
      if (open != nullptr)
        throw Refusal(shown + ": " + open->name + " and " + axes[i].name + " have no size; only one axis can take what is left");
      open = &axes[i];
    } else {
      product *= axes[i].size;
    }
  }
  if (axes.empty()) return axes;
  if (product > gpus || gpus % product != 0 || (open == nullptr && product != gpus))
    throw Refusal(shown + ": its sizes multiply to " + (product > gpus ? "more than " : "") +
                  std::to_string(std::min<long long>(product, gpus)) + ", there are " + std::to_string(gpus) +
                  " GPUs; take as many with <nodes>, or leave one axis without a size to take what is left");
  int stride = 1;
  for (Axis& axis : axes) {
    if (axis.size == 0) axis.size = static_cast<int>(gpus / product);
    axis.stride = stride;
    stride *= axis.size;
  }
  return axes;
}

/// The link that limits the most slowed-down group of a collective; null if it moves nothing.
[[nodiscard]] const ContendedLink* held_by(const ConcurrentGroups& all, const GroupedOutcome& one) {
  const int at = all.contention.outcomes[static_cast<std::size_t>(one.worst)].bottleneck;
  return at < 0 ? nullptr : &all.contention.links[static_cast<std::size_t>(at)];
}

/// Groups of each collective that cross a link, in the order of the collectives.
[[nodiscard]] std::vector<int> groups_on(const ConcurrentGroups& all, const ContendedLink& link) {
  std::vector<int> out(all.outcomes.size(), 0);
  for (const int f : link.sharers) ++out[static_cast<std::size_t>(all.of[static_cast<std::size_t>(f)])];
  return out;
}

/// The turns that in-network reductions take, since a fabric has a limited number of trees (network/balance.hpp).
/// \throws RequestError as topology_of and TrafficCounter::count
[[nodiscard]] SharpTurns sharp_turns_of(const System& system, int nodes, const ConcurrentGroups& all, const RouteOptions& routes) {
  SharpTurns out;
  std::map<int, int> jobs_of_nic;
  const Topology t = topology_of(system, nodes);
  TrafficCounter counter{t, routes};
  int per_port = 0;
  for (const ConcurrentCollective& one : all.flat) {
    if (one.algorithm != Algorithm::collnet_chain && one.algorithm != Algorithm::collnet_direct) continue;
    ++out.jobs;
    for (const LinkLoad& l : counter.count(one.collective, one.algorithm, one.ranks).loads)
      if (t.block_of(l.link).kind == LinkKind::nic_out) per_port = std::max(per_port, ++jobs_of_nic[l.link]);
  }
  if (out.jobs == 0) return out;
  for (const Tier& tier : system.tiers)
    for (const SharpLimits& limits : sharp_limits)
      if (tier.role == TierRole::network && tier.switch_name == limits.switches) out.switches = limits.switches;
  if (!out.switches.empty()) out.turns = sharp_turns(out.switches, out.jobs, per_port);
  return out;
}

[[nodiscard]] SharedCollective answer_of(const System& system, const std::vector<GroupedCollective>& collectives, const ConcurrentGroups& all,
                                         std::size_t c) {
  const GroupedOutcome& one = all.outcomes[c];
  SharedCollective out{.name = collectives[c].name,
                       .groups = one.groups,
                       .ranks = one.size,
                       .stride = collectives[c].stride,
                       .slow_down = one.slow_down,
                       .least_slow_down = one.least_slow_down,
                       .time = units::s(one.seconds),
                       .alone = answer_of(system, one.alone),
                       .end = units::s(one.end),
                       .by_itself = units::s(one.by_itself)};
  const ContendedLink* const link = held_by(all, one);
  if (link == nullptr) return out;
  out.link = link->name;
  out.link_bandwidth = units::B_per_s(link->capacity);
  out.link_load = units::B_per_s(link->load);
  const std::vector<int> groups = groups_on(all, *link);
  for (std::size_t other = 0; other < groups.size(); ++other)
    if (groups[other] > 0) out.sharers.push_back({collectives[other].name, groups[other], all.outcomes[other].groups});
  return out;
}

}  // namespace

void check(const GroupedRequest& one) {
  if (const Operation& op = one.operation; op.collective != Collective::send_recv && (op.ranks > 0 || op.nodes > 0))
    throw Refusal("<operation>: its ranks and nodes follow from <over> and the layout; leave them out");
  check_ranges(one);
}

std::string name_of(const GroupedRequest& one) {
  if (!one.name.empty()) return one.name;
  std::string out = fmt::format("{} {}", name(one.operation.collective), size_text(one.operation.bytes));
  if (const Over& over = one.over; !over.axis.empty() || over.size > 0)
    out += fmt::format(" over {}", over.axis.empty() ? std::to_string(over.size) : over.axis);
  return one.every > 1 ? fmt::format("{} every {}", out, one.every) : out;
}

std::optional<HeldBy> SharedCollective::held_by() const {
  if (!link) return std::nullopt;
  return HeldBy{*link, *link_bandwidth, *link_load, sharers};
}

ShareAnswer answer(const ShareRequest& r) {
  if (r.collectives.empty())
    throw Refusal(
        "which collectives? Give <collectives>, one or more, as in \"all_reduce 1GiB\" and \"all_to_all 64MiB over 8\"",
        true);
  need_machine(r.system);
  check_ranges(r);
  if (r.gin || r.put != Put::none) throw Refusal("<put> and <gin> are of single messages: predict has them for send_recv with <path=nic>");
  const Choice choice = choice_of({r.choice, {}, {}, r.library, {}, r.launch, ways_of(r, r.pxn)});
  auto system = with_library(r.system.get(r.overrides, {}, r.calibration), r.library);
  if (!r.pxn && !on_rails(*system)) throw no_rails(*system);
  if (const auto& tiers = system->tiers;
      !r.adaptive && std::none_of(tiers.begin(), tiers.end(), [](const Tier& t) { return t.kind == TierKind::dragonfly; }))
    throw Refusal(fmt::format("<adaptive> is about routes of a dragonfly, and {} has none; leave it out", system->name));
  ShareAnswer out{.system = system->name,
                  .nodes = r.nodes.value_or(std::max(1, system->domain / std::max(1, system->gpus_per_node))),
                  .balancing = std::string{balancing_names[static_cast<std::size_t>(r.balancing)]}};
  for (const GroupedRequest& one : r.collectives) check_call(*system, choice, one.operation.collective, one.operation.dtype);
  if (const long long gpus = static_cast<long long>(out.nodes) * system->gpus_per_node; gpus > max_gpus)
    throw RequestError(fmt::format("{} nodes are {} GPUs; link by link a million is the most", out.nodes, gpus));
  out.gpus = out.nodes * system->gpus_per_node;
  if (system->pod > 0) system = std::make_shared<const System>(slice_for(*system, out.gpus));
  if (r.balancing == Balancing::hashed && !has_parallel_links(topology_of(*system, out.nodes)))
    throw Refusal(fmt::format("<balancing=hashed> is about parallel links of a network, and {} of {} have none; leave it out",
                              counted(out.nodes, "node"), system->name));
  const std::vector<Axis> axes = sized_axes(r.layout.axes, out.gpus, fmt::format("<layout={}>", text_of(r.layout.axes)));
  std::vector<GroupedCollective> collectives;
  for (const GroupedRequest& one : r.collectives) collectives.push_back(placed(one, axes, choice));
  const auto along = [&](const GroupedRequest& one) {
    return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.name == one.over.axis; });
  };
  if (!axes.empty() && std::none_of(r.collectives.begin(), r.collectives.end(), along))
    throw Refusal("<layout>: no collective runs over an axis of it; say which, as in \"all_reduce 1GiB over tp\", or leave it out");
  const ConcurrentOptions options{.routes = {.relay_on_rails = r.pxn, .adaptive = r.adaptive}, .balancing = r.balancing};
  const ConcurrentGroups all = at_once(*system, out.nodes, collectives, options);
  out.sharp = sharp_turns_of(*system, out.nodes, all, options.routes);
  if (!out.sharp.switches.empty()) out.sharp_turns = out.sharp.turns;
  if (all.contention.detoured > 0) out.detoured = all.contention.detoured;
  for (std::size_t c = 0; c < collectives.size(); ++c) out.collectives.push_back(answer_of(*system, collectives, all, c));
  out.end = units::s(all.end);
  out.in_turn = units::s(all.in_turn);
  return out;
}

}  // namespace fabricost::plan
