/// The limiting tier, the naive estimate at a datasheet's rate and why it is off, and the effect of more
/// hardware.

#include "explain/sections.hpp"
#include "text/text_table.hpp"

#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/price/internode.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <cmath>

namespace fabricost::core {

namespace detail {
namespace {

/// Seconds of a prediction by kind of cause.
struct Causes {
  double latency = 0, wire = 0, copies = 0, peers = 0;  ///< of latency: sends to peers
};
[[nodiscard]] Causes causes_of(const Prediction& p) {
  Causes out;
  for (const Term& term : p.terms) {
    if (is_transfer(term.name.view()))
      out.wire += term.time.value();
    else if (term.name.view() == name(TermKind::copy))
      out.copies += term.time.value();
    else
      out.latency += term.time.value();
    if (term.name.view() == name(TermKind::peers)) out.peers += term.time.value();
  }
  return out;
}

/// wire_reason for an inference engine's own kernel.
[[nodiscard]] std::string engine_wire_reason(const ExplainContext& context, double naive, double wire) {
  const CollectiveKernel kernel = context.prediction.ran.kernel;
  std::string out;
  if (context.prediction.ran.algorithm == Algorithm::one_shot)
    out = "every rank takes all of S from every other, where a ring sends 2 (n-1)/n of it";
  if (kernel == CollectiveKernel::multicast) out = "switches that add move other bytes than a ring";
  if (kernel == CollectiveKernel::scattered_multicast) out = "a rank receives all sums from the switch, where a ring sends 2 (n-1)/n of S";
  const bool pulls =
      kernel == CollectiveKernel::pull_one_shot || kernel == CollectiveKernel::pull_two_shot || kernel == CollectiveKernel::symmetric_two_shot;
  if (wire >= naive)
    out += std::string{out.empty() ? "" : "; "} +
           (pulls ? "loads in flight bound what a kernel reads" : "links reach only a part of their datasheet rate");
  return out.empty() ? "latency hides a part of the transfer" : out;
}

/// Why bytes take longer (or shorter) on the wire than at the datasheet's rate.
[[nodiscard]] std::string wire_reason(const ExplainContext& context, double naive, double wire) {
  const Candidate ran = context.prediction.ran;
  const Fabric& f = context.fabric();
  const bool across = f.domains() > 1;
  const bool exchange = ran.algorithm == Algorithm::direct;
  if (wire == 0) return "the message is so small that its transfer time is already included in the latency term";
  if (context.engine_ran()) return engine_wire_reason(context, naive, wire);
  std::string out;
  const auto add = [&](std::string_view one) { out += (out.empty() ? "" : "; ") + std::string{one}; };
  const int level = context.line().wire_level;
  const bool in_switch = ran.algorithm == Algorithm::nvls || ran.algorithm == Algorithm::nvls_tree;
  if (in_switch && level == 0)
    add(fmt::format("switches that {} move other bytes than a ring, {:.4g} S per GPU",
                    reduces(context.operation().collective) ? "reduce" : "multicast", context.schedule.bytes(0)));
  else if (ran.algorithm != Algorithm::ring && !exchange)
    add(fmt::format("{} sends {:.4g} S out of a {}, where the naive arithmetic counts {:.4g}", name(ran.algorithm), context.schedule.bytes(level),
                    level > 0 ? "domain" : "GPU", bus_factor(context.operation().collective, static_cast<int>(f.ranks()))));
  if (!(across && exchange)) {
    if (ran.protocol == Protocol::ll) add("LL sends 4 bytes of flag with every 4 of data and cannot fill the links");
    if (ran.protocol == Protocol::ll128) add("LL128 sends 120 bytes of data in every 128");
  }
  if (f.over_pcie && !across && f.local() > 2) add("GPUs share the way through the host");
  if (!across && exchange && !f.over_pcie && f.inner_exchanges < 1) add("the fullest links between GPUs carry more than their even part");
  const bool tapered = !(exchange ? f.all_to_all_taper_tier : f.ring_taper_tier).empty();
  if (across && tapered) add("the network above the NICs is oversubscribed");
  if (rides_few_nics(context)) add("the channels ride a part of the NICs");
  if (across && exchange && !tapered && f.all_to_all_taper < 1) add("the fullest NIC carries more than its even part");
  if (context.line().transfer(context.operation().bytes.value()) == TermKind::kernels)
    add(fmt::format("the channels of {}'s kernels carry no more, whatever the links could", f.library == Library::rccl ? "RCCL" : "NCCL"));
  else if (wire >= naive)
    add("links reach only a part of their datasheet rate");
  else if (context.line().latency > 0 && context.line().overlap != 1)
    add("latency hides a part of the transfer");
  return out.empty() ? "at the datasheet's rate" : out;
}

/// Tiers the traffic crosses, including the one at which all domains meet (as describe_network counts them).
[[nodiscard]] std::vector<const Tier*> tiers_felt(const System& system, const Operation& op, const Fabric& f) {
  std::vector<const Tier*> out;
  if (is_host_copy(op)) {
    if (const Tier* tier = host_tier(system)) out.push_back(tier);
    return out;
  }
  if (f.local() > 1)
    if (const Tier* tier = system.tier(TierRole::scale_up)) out.push_back(tier);
  if (f.domains() <= 1) return out;
  if (const Tier* tier = system.tier(TierRole::nic)) out.push_back(tier);
  double below = 1;  // nodes below one child of the tier
  for (const Tier& tier : system.tiers) {
    if (tier.role != TierRole::network) continue;
    if (std::max(1.0, below / system.nodes_per_domain()) >= f.domains()) break;  // one child holds them all
    out.push_back(&tier);
    below *= std::max(1, tier.endpoints);
  }
  return out;
}

/// "2.9 times", "1270 times"
[[nodiscard]] std::string times(double ratio) {
  return ratio < 100 ? fmt::format("{:.3g} times", ratio) : fmt::format("{:.0f} times", ratio);
}

/// "-3.1 %", or "none" if it rounds to zero.
[[nodiscard]] std::string changed_by(double percent) { return std::fabs(percent) < 0.05 ? "none" : fmt::format("{:+.1f} %", percent); }

/// Halves the ranks: half the nodes if there are several, else half the GPUs. False if that is impossible.
[[nodiscard]] bool halve(Operation& op, const Fabric& f) {
  const int ranks = static_cast<int>(f.ranks());
  if (op.collective == Collective::send_recv || ranks <= 2 || ranks % 2 != 0) return false;
  op.ranks = ranks / 2;
  op.nodes = f.nodes % 2 == 0 ? f.nodes / 2 : f.nodes == 1 ? 1 : 0;
  return true;
}

}  // namespace

bool rides_few_nics(const ExplainContext& context) {
  const Fabric& f = context.fabric();
  const Algorithm ran = context.prediction.ran.algorithm;
  const bool rides = ran == Algorithm::ring || ran == Algorithm::tree || ran == Algorithm::nvls_tree;
  return rides && f.domains() > 1 && f.library == Library::nccl && net_devices(f) > devices_with_channels(f);
}

/// "8 NICs of a domain"; the sender's alone carry a send_recv.
[[nodiscard]] static std::string nics_text(const Operation& op, const Fabric& f) {
  return counted(f.nics, "NIC") + (op.collective == Collective::send_recv ? " of the sender" : " of a domain");
}

Naive naive_basis(const System& system, const Operation& op, const Fabric& f) {
  if (is_host_copy(op)) {
    const Tier* tier = host_tier(system);
    if (tier == nullptr) return {};
    return {1, tier->bandwidth.value.value(), fmt::format("{}, one way", tier->name.view())};
  }
  Naive out{bus_factor(op.collective, static_cast<int>(f.ranks())), 0, ""};
  if (f.ranks() <= 1) return {};
  if (f.local() > 1) {
    out.rate = f.switched || f.over_pcie || f.torus_axes > 1 ? f.full_rate : f.inner_rate;  // of links that lead to these ranks
    const Tier* tier = system.tier(TierRole::scale_up);
    out.of = !f.inner_limit_tier.empty() ? "half of hbm, which is read and written at once"
                                         : fmt::format("{}, one way", tier != nullptr ? tier->name.view() : std::string_view{"scale-up"});
  }
  if (f.domains() > 1) {
    // a ring sends everything through a domain's NICs together; GPUs that send separately share them
    const bool exchange = op.collective == Collective::all_to_all;
    const double rate = exchange ? f.outer_rate / f.local() : f.outer_rate;
    const Tier* tier = system.tier(TierRole::nic);
    if (out.rate == 0 || rate < out.rate) {
      out.rate = rate;
      out.of = fmt::format("{}, one way, {}",
                           !f.nic_limit_tier.empty() ? f.nic_limit_tier.view()
                           : tier != nullptr    ? tier->name.view()
                                                : "nic",
                           exchange ? std::string{"a GPU's share"} : nics_text(op, f));
    }
  }
  return out;
}

namespace {

/// The limits of the NICs below their own rate: their slots, the GPUs' own links, the ports to the processor.
/// Empty if there is none.
[[nodiscard]] std::string held_text(const ExplainContext& context) {
  if (context.system == nullptr) return "";
  const Fabric& f = context.fabric();
  const Tier* nic = context.system->tier(TierRole::nic);
  if (f.nic_limit_tier.empty() || nic == nullptr) return "";
  const double own = nic->bandwidth.value.value() / nic->shared_by;
  return fmt::format("The {} could send {} one way, {} each; {} lets {} through, so they are priced with that.",
                     nics_text(context.operation(), f), rate_text(Bandwidth::from_value(f.nics * own)), rate_text(Bandwidth::from_value(own)),
                     f.nic_limit_tier.view(), rate_text(Bandwidth::from_value(f.outer_rate)));
}

/// The channels where they, and not the NICs, bound what a domain sends; empty where all NICs are ridden.
[[nodiscard]] std::string channels_text(const ExplainContext& context) {
  if (!rides_few_nics(context)) return "";
  const Fabric& f = context.fabric();
  const TunerTables& tables = tables_of(f.tuner);
  return fmt::format(
      "The channels, not the NICs, bound what a domain sends to another: {:.0f} channels, {:.0f} for each NIC, ride {:.0f} "
      "of its {:.0f} NICs, {} of {} one way.",
      tables.max_channels, tables.network_channels[tuner_generation(f.generation)], devices_with_channels(f), net_devices(f),
      rate_text(Bandwidth::from_value(channels_rate(f))), rate_text(Bandwidth::from_value(f.outer_rate * f.ring_taper)));
}

}  // namespace

std::string explain_binding(const ExplainContext& context) {
  const Prediction& p = context.prediction;
  const Term& max = p.bottleneck();
  const Causes causes = causes_of(p);
  const double t = p.seconds > 0 ? p.seconds : 1;
  std::string out = wrapped(
      "  ", fmt::format("{}: its term \"{}\" is the largest, {:.0f} % of the time. In all {:.0f} % is {}latency, {:.0f} % transfer{}.",
                        max.tier.view(), max.name.view(), 100 * max.time.value() / t, 100 * causes.latency / t,
                        causes.peers > 0 ? "work for each peer and " : "", 100 * causes.wire / t,
                        causes.copies != 0 ? fmt::format(", {:.0f} % local copies", 100 * causes.copies / t) : ""));
  const double half = causes.wire + causes.copies;
  if (causes.peers > causes.latency / 2 && causes.latency > 3 * half)
    out += wrapped("  ",
                   "A question of the number of peers: a GPU and its processor prepare each send. More bandwidth would hardly help, "
                   "nor lower latency; fewer peers would, as in a hierarchical exchange.");
  else if (causes.latency > 3 * half)
    out += wrapped("  ", context.engine_ran()
                             ? "A latency question: more bandwidth would hardly help. What an engine's kernel waits for was measured "
                               "as a whole: the latency of a tier is no part of it."
                             : "A latency question: more bandwidth would hardly help, fewer steps would.");
  else if (half > 3 * causes.latency)
    out += wrapped("  ", "A bandwidth question: a lower latency of a tier would hardly help, as most of what is latency here are the library's steps.");
  if (const std::string held = held_text(context); !held.empty()) out += wrapped("  ", held);
  if (const std::string channels = channels_text(context); !channels.empty()) out += wrapped("  ", channels);
  return out;
}

std::string explain_naive(const ExplainContext& context) {
  const Prediction& p = context.prediction;
  const Naive naive = naive_basis(*context.system, context.operation(), context.fabric());
  if (!(naive.factor > 0) || context.bytes() <= 0) return "  Nothing moves, so it says nothing; the time is launch and latency alone.\n";
  const double said = naive.seconds(context.bytes());
  const double ratio = p.seconds / said;
  std::string out =
      wrapped("  ", fmt::format("{:.6g} x {} / {:.6g} GB/s ({}) = {} us. Predicted: {} us, {}.", naive.factor,
                                size_text(context.operation().bytes), naive.rate / 1e9, naive.of, micro(said), micro(p.seconds),
                                ratio >= 1 ? times(ratio) + " as long" : fmt::format("{:.0f} % less", 100 * (1 - ratio))));
  const Causes causes = causes_of(p);
  TextTable table{"", ">", ""};
  table.row({"naive", micro(said)});
  table.row(
      {"latency", fmt::format("{:+.3f}", causes.latency * 1e6),
       causes.peers > 0 ? "launch, floors, sends to peers: no bandwidth shows them" : "launch, steps, floors: no bandwidth shows them"});
  table.row({"wire", fmt::format("{:+.3f}", (causes.wire - said) * 1e6),
             causes.wire > 0 ? times(causes.wire / said) + " the naive time, see below" : "see below"});
  if (causes.copies != 0) table.row({"local copies", fmt::format("{:+.3f}", causes.copies * 1e6), "inside the GPU's own memory"});
  table.row({"predicted", micro(p.seconds)});
  out += table.text(4);
  out += wrapped("  ", "The wire: " + wire_reason(context, said, causes.wire) + ".");
  out += wrapped("  ", fmt::format("Dividing by the headline of both directions, {:.6g} GB/s, would have said {} us.", 2 * naive.rate / 1e9,
                                   micro(said / 2)));
  return out;
}

std::string explain_changes(const ExplainContext& context) {
  const double now = context.prediction.seconds;
  TextTable table{"change", ">time us", ">difference"};
  for (const Sensitivity& s : sensitivities(*context.system, context.operation(), context.choice()))
    table.row({s.change, micro(s.seconds), changed_by(now > 0 ? 100 * (s.seconds / now - 1) : 0)});
  return table.text(2);
}

namespace {

/// ", but not for broadcast" if a set was fitted to other operations than the requested one.
[[nodiscard]] std::string not_measured(const ExplainContext& context, Basis basis, const MeasuredOperations& shown) {
  const auto place = static_cast<std::size_t>(context.operation().collective);
  if (basis == Basis::datasheet || context.host) return "";
  if (!MeasuredOperations::has(shown.anywhere, place)) return fmt::format(", but {} was measured nowhere", name(context.operation().collective));
  if (basis == Basis::calibrated && !MeasuredOperations::has(shown.here, place))
    return fmt::format(", but {} was not measured here", name(context.operation().collective));
  return "";
}

}  // namespace

std::string explain_constants(const ExplainContext& context) {
  const Constants& c = context.system->constants;
  const Fabric& f = context.fabric();
  const CollectiveKernel kernel = context.prediction.ran.kernel;
  const Ways& ways = context.choice().ways;
  const bool over_windows = kernel >= CollectiveKernel::window_one_shot && kernel < CollectiveKernel::any_buffer;
  std::string out = explain_way_numbers(context);
  if (over_windows)  // of the calibration only the rate
    out += wrapped("  rate of links    ",
                   fmt::format("multicast.share of calibration {} ({}): {}", c.custom_name, name(c.custom_basis), c.custom_source));
  else if (context.engine_ran() && kernel < CollectiveKernel::any_buffer)
    out += wrapped("  kernel           ", fmt::format("calibration {} ({}): {}", c.custom_name, name(c.custom_basis), c.custom_source));
  else if (!context.engine_ran() && (f.local() > 1 || f.domains() <= 1))
    out += wrapped("  inside a domain  ", fmt::format("calibration {} ({}{}): {}", c.name, name(c.basis),
                                                      f.domains() > 1 ? "" : not_measured(context, c.basis, c.operations), c.source));
  if (f.domains() > 1 && ways.put == Put::none && !ways.gin)
    out += wrapped("  between nodes    ", fmt::format("calibration {} ({}{}): {}", c.transport_name, name(c.transport_basis),
                                                      c.transport_known ? not_measured(context, c.transport_basis, c.transport_operations)
                                                                        : ", this transport was never measured",
                                                      c.transport_source));
  for (const Tier* tier : tiers_felt(*context.system, context.operation(), f))
    out += wrapped(fmt::format("  {:<15}  ", tier->name.view()), tier_source(*tier));
  return out;
}

std::string tier_source(const Tier& tier) {
  const Provenance& rate = tier.bandwidth.provenance;
  const Provenance& latency = tier.latency.provenance;
  std::string out = fmt::format("{} one way ({}: {})", rate_text(tier.bandwidth.value), name(rate.confidence), rate.source);
  if (tier.latency.value.value() > 0)
    out += fmt::format("; {} a hop ({}{})", time_text(tier.latency.value), name(latency.confidence),
                       latency.source == rate.source ? "" : ": " + latency.source);
  return out;
}

}  // namespace detail

Time naive_time(const System& system, const Operation& operation) {
  const Fabric f = fabric_of(system, operation);
  return Time::from_value(detail::naive_basis(system, operation, f).seconds(operation.bytes.value()));
}

namespace detail {
namespace {
/// Channels that NCCL opens inside a domain.
[[nodiscard]] int channels_of(const Prediction& p) {
  return running_channels(p.made_from.fabric.channels, tables_of(p.made_from.fabric.tuner));
}
/// Rings of one domain over NVLink-like links spread over them.
[[nodiscard]] bool rides_channels(const Prediction& p) {
  const Fabric& f = p.made_from.fabric;
  return f.domains() <= 1 && f.local() > 1 && !f.over_pcie && f.library == Library::nccl && p.ran.algorithm == Algorithm::ring;
}
}  // namespace
}  // namespace detail

std::vector<Sensitivity> sensitivities(const System& system, const Operation& operation, const Choice& choice) {
  std::vector<Sensitivity> out;
  const Fabric f = fabric_of(system, operation);
  const Prediction today = predict(system, operation, choice);
  const Candidate now = today.ran;
  const auto add = [&](std::string change, const System& changed, const Operation& op) {
    const Prediction then = predict(changed, op, choice);
    if (!(then.ran == now)) change += fmt::format(", now {}", detail::ran_text(then.ran));
    // NCCL opens channels by the links' rate: a whole number, so that a little more bandwidth can be much faster, or slower
    if (const int before = detail::channels_of(today), after = detail::channels_of(then); detail::rides_channels(then) && before != after)
      change += fmt::format(", channels {} -> {}", before, after);
    out.push_back({std::move(change), then.seconds});
  };
  const std::vector<const Tier*> all_felt = detail::tiers_felt(system, operation, f);
  for (const Tier* felt : all_felt) {
    const auto at = static_cast<std::size_t>(felt - system.tiers.data());
    const std::string name{felt->name.view()};
    if (felt->role != TierRole::network) {
      System faster = system;
      Tier& tier = faster.tiers[at];
      tier.bandwidth.value *= 1.1;
      tier.link_bandwidth *= 1.1;
      tier.planning_rate *= 1.1;
      for (Bandwidth& rate : tier.carried) rate *= 1.1;
      bool ports = false;
      if (tier.role == TierRole::nic)
        for (Tier& above : faster.tiers)
          if (above.role == TierRole::network) {
            ports = true;
            above.bandwidth.value *= 1.1;
          }
      add(fmt::format("10 % more {}{} bandwidth", name, ports ? " and switch port" : ""), faster, operation);
    } else if (felt->oversubscription > 1 && felt != all_felt.back()) {  // all meet below the last tier: its uplinks are not used
      System faster = system;
      Tier& tier = faster.tiers[at];
      tier.bandwidth.value *= 1.1;
      tier.oversubscription = std::max(1.0, tier.oversubscription / 1.1);
      add(fmt::format("10 % more {} uplinks", name), faster, operation);
    }
    if (felt->latency.value.value() > 0 && now.kernel == CollectiveKernel::library) {  // engines' kernels have latencies of their own
      System nearer = system;
      nearer.tiers[at].latency.value *= 0.9;
      add(fmt::format("10 % less {} latency", name), nearer, operation);
    }
  }
  System quicker = system;
  Constants& c = quicker.constants;
  CustomConstants& own = c.custom;
  for (double* launch : {&c.scale_up.launch, &c.scale_up.form.host_gpu, &c.scale_up.form.rccl_host_gpu,
                         &c.scale_up.form.rccl_call, &c.scale_up.form.host_peer, &c.scale_up.form.host_module,
                         &c.scale_up.all_to_all.base, &c.pcie.launch, &c.pcie.exchange_base, &own.host_launch,
                         &own.pull_one_shot.start, &own.push_one_shot.start, &own.lamport_one_shot.start, &own.pull_two_shot.start,
                         &own.push_two_shot.start, &own.lamport_two_shot.start, &own.multicast.start, &own.symmetric_two_shot.start})
    *launch *= 0.9;
  quicker.host_launch.value *= 0.9;
  add("10 % less launch time", quicker, operation);
  Operation half = operation;
  if (detail::halve(half, f)) {
    try {
      add(half.nodes > 0 && f.nodes > 1 ? fmt::format("half the ranks ({} on {})", half.ranks, counted(half.nodes, "node"))
                                        : fmt::format("half the ranks ({})", half.ranks),
          system, half);
    } catch (const RequestError&) {
      // ranks that do not spread evenly cannot be halved
    }
  }
  return out;
}

}  // namespace fabricost::core
