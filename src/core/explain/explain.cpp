/// Explanation of a prediction: the table of its terms, and the full text in sections (one file for each
/// group of sections).

#include "explain/sections.hpp"
#include "text/text_table.hpp"

#include <fabricost/choice/forced.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/shipped_numbers.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

namespace fabricost::core {

namespace {
[[nodiscard]] auto& sharing_text() {
  static std::string (*text)(const System& system, const Prediction& prediction) = [](const System&, const Prediction&) { return std::string{}; };
  return text;
}
}  // namespace
void use_sharing_text(std::string (*text)(const System& system, const Prediction& prediction)) { sharing_text() = text; }

std::string pair_text(Candidate candidate) { return fmt::format("{} {}", name(candidate.algorithm), name(candidate.protocol)); }

namespace detail {

std::string micro(double seconds) { return fmt::format("{:.3f}", seconds * 1e6); }

std::string ran_text(Candidate ran) {
  if (ran.kernel == CollectiveKernel::library) return pair_text(ran);
  std::string out{name(ran.kernel)};
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

std::string range_text(double low, double high) {
  return fmt::format("Nine in ten measurements should fall between {} and {}. ", time_text(Time::from_value(low)),
                     time_text(Time::from_value(high)));
}

std::string certainty_text(double low, double high, double min, Basis basis, const Extrapolated& extrapolated) {
  std::string out = range_text(low, high);
  switch (basis) {
    case Basis::calibrated: out += "Calibrated: the constants were fitted to measurements of this machine."; break;
    case Basis::sibling:
      out +=
          "Sibling: this was not measured on this machine; the constants were fitted to a machine built like it, or to other operations "
          "on it.";
      break;
    case Basis::datasheet:
      out +=
          "Datasheet: this algorithm and path were not measured on a machine of this kind; rates are the datasheet's and the "
          "rest is carried over from others. A few measured points would narrow the interval.";
      break;
  }
  if (min > 0 && low <= min && low < high)
    out += fmt::format(" It begins at {}: the links at their full rate need that for the bytes.", time_text(Time::from_value(min)));
  if (extrapolated.any()) {
    std::string what;
    const auto add = [&](bool is, std::string_view one) {
      if (is) what += (what.empty() ? "" : ", ") + std::string{one};
    };
    add(extrapolated.sizes, "sizes");
    add(extrapolated.ranks, "ranks in a domain");
    add(extrapolated.nodes, "nodes");
    out += fmt::format(" Extrapolated beyond the measured {}, which widens the interval.", what);
  }
  return out;
}

std::string board_text(const Prediction& p) {
  const Fabric& f = p.made_from.fabric;
  const bool unknown = f.over_pcie && f.domains() <= 1 && !(f.pcie_carried > 0) && p.basis != Basis::calibrated;
  if (!unknown || is_host_copy(p.operation) || p.ran.kernel != CollectiveKernel::library) return {};
  return fmt::format(" What a board carries differs: the boards that were measured reach 0.1 to 0.7 of a link's rate, "
                     "which supports no narrower range. A log of this one does (fabricost calibrate), or its rate in the machine's file ({}).",
                     carried_keys[pcie_reach(f)]);
}

std::string left_open_text(const Prediction& p) {
  const Line& line = p.made_from.line;
  const double bytes = p.operation.bytes.value(), seconds = line(bytes), other = line.alternative_seconds(bytes, seconds);
  const auto size = [](double b) { return size_text(Bytes::from_value(std::round(b))); };
  if (other == seconds) return {};
  std::string out;
  for (const Jump& jump : line.jumps)
    if (bytes >= jump.from && bytes < jump.until)
      out += fmt::format(" From {} on the library moves bytes in larger chunks or over more channels. Runs are known of powers of two; none shows "
                         "a larger message that is faster, so that from {} to {} the time stays the same.",
                         size(jump.rule), size(jump.from), size(jump.until));
  if (bytes > line.unmeasured_end.from && bytes < line.unmeasured_end.until)
    out += fmt::format(" Messages of {} were measured to take {} longer than those of {}, and none between them was run.", size(line.unmeasured_end.from),
                       time_text(Time::from_value(line.unmeasured_end.seconds)), size(line.unmeasured_end.until));
  return out + fmt::format(" This one may take {}, which the interval holds.", time_text(Time::from_value(p.seconds + other - seconds)));
}

std::string terms_table(const Terms& terms, double seconds) {
  TextTable table{"term", "tier", ">time us", ">share"};
  const auto share = [&](double part) { return fmt::format("{:.1f} %", seconds > 0 ? 100 * part / seconds : 0); };
  for (const Term& term : terms)
    table.row({std::string{term.name.view()}, std::string{term.tier.view()}, micro(term.time.value()), share(term.time.value())});
  table.row({"total", "", micro(seconds), share(seconds)});
  return table.text(2);
}

ExplainContext context_of(const Prediction& prediction, const System* system) {
  const PredictionInputs& from = prediction.made_from;
  return {.system = system,
          .prediction = prediction,
          .schedule = schedule_of(prediction.ran.algorithm, prediction.operation.collective, from.fabric),
          .host = is_host_copy(prediction.operation)};
}

namespace {

[[nodiscard]] std::string axes_text(const Tier& torus) { return fmt::format("{}", fmt::join(torus.dims, " x ")); }

/// The assumption behind more nodes than a description has, as a clause.
[[nodiscard]] std::string more_nodes(const System& system, int nodes) {
  const double chips = static_cast<double>(nodes) * system.gpus_per_node;
  if (system.pod > 0)
    if (const System slice = slice_for(system, static_cast<long long>(chips)); slice.slice) {
      const double slices = std::ceil(chips / slice.domain);
      return fmt::format("{} describes {}; {} of them lie in {} of {} chips ({}) that the pod's own links join{}", system.name,
                         counted(std::max(1, system.nodes), "node"), nodes, slices > 1 ? fmt::format("{:.0f} slices", slices) : "a slice",
                         slice.domain, axes_text(*slice.tier(TierRole::scale_up)),
                         slices > 1 ? ", and the slices by a non-blocking network of the same NICs" : "");
    }
  return fmt::format("{} describes {}; {} of them are joined by {}", system.name.empty() ? "the file" : system.name,
                     counted(std::max(1, system.nodes), "node"), nodes,
                     system.tier(TierRole::network) == nullptr ? "a non-blocking network of the same NICs" : "more of the same switches");
}

[[nodiscard]] std::string question_text(const ExplainContext& context) {
  const Fabric& f = context.fabric();
  const Operation& op = context.operation();
  std::string where;
  if (context.host) {
    where = op.path == Path::to_gpu      ? "from a host to its GPU"
            : op.path == Path::from_gpu  ? "from a GPU to its host"
            : op.path == Path::both_ways ? "between a GPU and its host, both ways at once"
                                         : "between a GPU and its host, either way";
  } else if (op.collective == Collective::send_recv && op.path == Path::gpu_gpu) {
    where = f.domains() > 1 ? fmt::format("from every GPU to the next, {} on {}", counted(f.ranks(), "rank"), counted(f.nodes, "node"))
                            : std::string{"between two GPUs of one domain"};
  } else {
    where = fmt::format("over {} on {}", counted(f.ranks(), "rank"), counted(f.nodes, "node"));
    if (f.domains() > 1 && f.local() > 1)
      where += fmt::format(": {} scale-up domains of {}", f.domains(), f.local());
    else if (f.domains() > 1)
      where += ", one per scale-up domain";
    else if (f.nodes > 1)
      where += ", all in one scale-up domain";
  }
  std::string out = fmt::format("{} of {} ({}) {}", name(op.collective), size_text(op.bytes), name(op.dtype), where);
  if (context.system == nullptr) return wrapped("  ", out + ".");
  const System& system = *context.system;
  out = wrapped("  ", fmt::format("{}, on {}{}.", out, system.name, system.title.empty() ? "" : " (" + system.title + ")"));
  for (const std::string& one : assumptions(system, f.nodes)) out += wrapped("  ", "Assumed: " + one + ".");
  return out;
}

/// The pair that ran, as the answer prints it.
[[nodiscard]] std::string ran_or_nothing(const Prediction& p) { return p.moves() ? pair_text(p.ran) : "nothing: one rank has it all"; }

}  // namespace
}  // namespace detail

std::string counted(double count, std::string_view one) {
  const std::string number = count == std::floor(count) ? fmt::format("{:.0f}", count) : fmt::format("{:.6g}", count);
  return fmt::format("{} {}{}", number, one, count == 1 ? "" : "s");
}

std::vector<std::string> names_of(const Extrapolated& beyond) {
  std::vector<std::string> out;
  if (beyond.sizes) out.emplace_back("sizes");
  if (beyond.ranks) out.emplace_back("ranks");
  if (beyond.nodes) out.emplace_back("nodes");
  return out;
}

std::vector<std::string> assumptions(const System& system, int nodes) {
  if (nodes <= std::max(1, system.nodes)) return {};
  return {detail::more_nodes(system, nodes)};
}

namespace {
/// "Ampere", "Ampere and Hopper".
[[nodiscard]] std::string seen_generations(const TunerTables& version) {
  constexpr std::array<std::string_view, 4> names{"Volta", "Ampere", "Hopper", "Blackwell"};
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (version.kernels_seen[i] > 0) out += (out.empty() ? "" : " and ") + std::string{names[i]};
  return out;
}
}  // namespace

namespace {
/// Ranks that are no block of a torus are joined by one ring; the next block, for comparison. Empty for others.
[[nodiscard]] std::string no_block(const System& system, const Prediction& p) {
  const Fabric& f = p.made_from.fabric;
  if (!p.by_price || p.made_from.choice.algorithm || f.domains() > 1 || f.ranks() < 3 || is_exchange(p.operation.collective)) return {};
  const int ranks = static_cast<int>(f.ranks());
  if (const Tier* own = system.tier(TierRole::scale_up); own == nullptr || own->kind != TierKind::torus || f.torus_axes > 0) return {};
  const System slice = slice_for(system, ranks);
  const Tier* const torus = slice.tier(TierRole::scale_up);
  const auto is_block = [&](int n) { return fabric_of(slice, {.collective = Collective::all_to_all, .ranks = n}).torus_axes > 0; };
  Operation next = p.operation;
  next.nodes = 0;
  next.ranks = ranks;
  while (next.ranks < torus->endpoints && !is_block(next.ranks)) ++next.ranks;
  if (next.ranks == ranks) return {};
  const std::string what = system.pod > 0 ? "slice of the pod" : "block of " + detail::axes_text(*torus);
  return fmt::format("{} ranks are no {}, so one ring over the links of one axis joins them; the next {} is {} ({})", ranks, what,
                     system.pod > 0 ? "slice" : "block", next.ranks, time_text(predict(system, next, p.made_from.choice).time()));
}

/// What runs where NCCL, or a library like it, has no such algorithm, or runs another than the one that was asked for. Empty elsewhere.
[[nodiscard]] std::string not_of_library(const System& system, const Prediction& p) {
  const std::optional<Algorithm> asked = p.made_from.choice.algorithm;
  const Collective op = p.operation.collective;
  const bool by_tuner = p.made_from.choice.rule == Choice::Rule::nccl && !asked;
  const bool of_library = follows_tuner(system.library) && p.ran.kernel == CollectiveKernel::library && !is_host_copy(p.operation);
  if (by_tuner || !of_library || !p.moves()) return {};
  const std::string library = system.library == Library::nccl ? "NCCL" : std::string{name(system.library)};
  if (asked && *asked != p.ran.algorithm)
    return fmt::format("between scale-up domains {} runs {} where {} is asked for", library, name(p.ran.algorithm), name(*asked));
  if (has_fitted_form(p.ran.algorithm, op, p.made_from.fabric)) return {};
  if (p.ran.algorithm == Algorithm::tree && op != Collective::all_reduce)
    return fmt::format("{} has trees for all_reduce alone: this is one of one's own with its hops and rates", library);
  if (is_nccl_algorithm(p.ran.algorithm)) return {};
  return fmt::format("{} has no {}: this is one of one's own with its hops and rates", library, name(p.ran.algorithm));
}

/// What a network's sends of a few bytes take beside others; empty: no longer, or these are none.
[[nodiscard]] std::string few_bytes(const System& system, const Prediction& p) {
  constexpr double worth_saying = 1.2;
  const Fabric& fabric = p.made_from.fabric;
  const TransportConstants& t = system.constants.transport;
  const Tier* const nic = system.tier(TierRole::nic);
  const double most = t.form.exchange_tiny_size;
  if (p.operation.collective != Collective::all_to_all || p.ran.algorithm != Algorithm::direct || nic == nullptr || fabric.domains() < 2 ||
      t.exchange_tiny < worth_saying || p.operation.bytes.value() >= most * fabric.ranks() || !p.moves())
    return {};
  return fmt::format(
      "over {} a send of less than {:.0f} B to each peer takes {:.2g} times as long as one of more, as was measured: 128 B did, "
      "256 B did not",
      nic->transport.name.view(), most, t.exchange_tiny);
}
}  // namespace

std::vector<std::string> assumptions(const System& system, const Prediction& p) {
  std::vector<std::string> out = assumptions(system, p.nodes);
  for (std::string one : {no_block(system, p), not_of_library(system, p), few_bytes(system, p)})
    if (!one.empty()) out.push_back(std::move(one));
  const Fabric& inside = p.made_from.fabric;
  const double across = system.nodes_per_domain();  // nodes of a domain
  if (across > 1 && inside.domains() > 1 && p.operation.collective != Collective::send_recv && p.nodes > inside.domains() &&
      std::fmod(p.nodes, across) != 0)
    out.push_back(
        fmt::format("{} nodes fill no whole domains of {:.0f} and are taken as {:.4g} on each of {:.0f}; where a domain holds fewer, "
                    "the NICs of those bind",
                    p.nodes, across, p.nodes / inside.domains(), inside.domains()));
  const bool nccl = inside.library == Library::nccl && inside.ranks() > 1 && !is_host_copy(p.operation);
  const TunerTables& version = tables_of(inside.tuner);
  const bool own_kernels = has_own_kernels(version);
  const bool costs = inside.domains() <= 1 && !inside.over_pcie;
  const bool unseen = version.kernel_width > 0 && !(version.kernels_seen[tuner_generation(inside.generation)] > 0);
  if (nccl && costs && (own_kernels || unseen))
    out.push_back(fmt::format("the library chooses and costs as {} did, which was measured on {} GPUs alone", name(inside.tuner),
                              seen_generations(version)));
  else if (nccl && own_kernels)
    out.push_back(fmt::format("the library chooses as {} did; what it costs here was measured with later releases", name(inside.tuner)));
  if (nccl && inside.tuner_assumed) out.push_back(fmt::format("nothing says which version ran; {} is taken", name(inside.tuner)));
  const double largest = system.constants.scale_up.form.exchange_peer_ranks;  // GPUs of the largest domain that was measured
  if (nccl && inside.switched && inside.local() > largest)
    out.push_back(
        fmt::format("domains of {:.0f} GPUs are priced with what was measured on at most {:.0f} of one domain, {:.3g} times as many",
                    inside.local(), largest, inside.local() / largest));
  if (const double held = p.operation.bytes.value(), memory = system.gpu.memory.value.value(); memory > 0 && held > memory && p.moves())
    out.push_back(fmt::format("a buffer of {} is there, and a GPU's memory is {}", size_text(p.operation.bytes),
                              size_text(Bytes::from_value(memory))));
  const CallLaunch launch = p.made_from.choice.launch;
  const bool idle_module = launch.mode == LaunchMode::xla && inside.library != Library::rccl;
  if ((idle_module || (is_launched_by_host(launch) && p.made_from.host.seconds() <= 0)) && p.moves())
    out.push_back(fmt::format("launch {} adds nothing here: {}", name(launch.mode),
                              inside.domains() > 1 && !idle_module
                                  ? "what is known of messages between domains was measured with a process per GPU"
                                  : "of this library's launches none was measured"));
  if (const Ways& w = p.made_from.choice.ways; w.gin || w.put != Put::none)
    out.push_back("a put starts and is posted as between two GB200s, each over a NIC of 400 Gbit/s: no other machine was measured");
  if (p.made_from.choice.ways.relay)
    out.push_back(fmt::format("idle GPUs add {:.0f} % of their links' rate and pass on from {} over a link, as was measured with 2 and 4 "
                              "of 8 MI350X in a full mesh alone",
                              100 * prior::ways::relay_share, size_text(Bytes::from_value(prior::ways::relay_from))));
  if (p.made_from.choice.ways.copy_engine)
    out.push_back("copy engines start and copy as NCCL's own estimate for Hopper and Blackwell says: no public run shows it");
  if (p.made_from.choice.ways.registered) {
    double copies = 0;
    for (const Term& term : p.terms) copies += term.name == name(TermKind::copy) ? term.time.value() : 0;
    out.push_back(
        fmt::format("registered buffers are priced as others, for want of a public pair with figures; the copies they may save "
                    "take {} here",
                    time_text(Time::from_value(copies))));
  }
  const Tier* nic = system.tier(TierRole::nic);
  if (nic == nullptr || nic->gpu_direct || is_host_copy(p.operation)) return out;
  const Fabric& fabric = p.made_from.fabric;
  const bool known = p.ran.protocol == Protocol::simple &&
                     (p.ran.algorithm == Algorithm::ring || !has_fitted_form(p.ran.algorithm, p.operation.collective, fabric));
  if (fabric.domains() < 2 || known) return out;
  const bool at_nics = std::any_of(p.terms.begin(), p.terms.end(), [&](const Term& t) { return t.name == name(TermKind::wire) && t.tier == nic->name; });
  out.push_back(
      fmt::format("GPUDirect RDMA is off, which leaves {:.0f} % of the NICs' rate{}; what it adds to the steps of {} was not measured, and "
                  "they are priced as with it",
                  100 * system.constants.transport.no_gdr_rate, at_nics ? "" : " (enough here: they do not bind)", pair_text(p.ran)));
  return out;
}

std::string explain(const Prediction& p) {
  std::string out;
  out += fmt::format("  time    {}\n", time_text(p.time()));
  out += fmt::format("  algbw   {}\n", rate_text(p.algorithm_bandwidth()));
  out += fmt::format("  busbw   {}\n", rate_text(p.bus_bandwidth()));
  const bool priced = p.moves() && p.by_price;
  out += wrapped("  runs    ", detail::ran_or_nothing(p) + (priced ? " (the cheapest by price: no tuner rule for this library)" : "")) + "\n";
  out += detail::terms_table(p.terms, p.seconds);
  const Term& max = p.bottleneck();
  const double share = p.seconds > 0 ? 100 * max.time.value() / p.seconds : 0;
  out += fmt::format("\n  bottleneck: {} ({}, {:.0f} % of the time)\n", max.tier.view(), max.name.view(), share);
  if (const std::string host = detail::launch_text(p); !host.empty()) out += wrapped("  ", host + ".");
  return out + wrapped("  ", detail::certainty_text(p.low, p.high, p.min, p.basis, p.extrapolated) + detail::board_text(p) + detail::left_open_text(p));
}

namespace detail {
namespace {

[[nodiscard]] std::string whole_explanation(const Prediction& p, const System* system, std::span<const std::string> notes) {
  const ExplainContext context = context_of(p, system);
  std::string out = "Question\n" + question_text(context);
  for (const std::string& note : notes) out += wrapped("  ", note);
  out += "\nAnswer\n";
  out += fmt::format("  {}   algbw {}   busbw {}   {}\n", time_text(p.time()), rate_text(p.algorithm_bandwidth()),
                     rate_text(p.bus_bandwidth()), ran_or_nothing(p));
  out += "\nWhat moves\n" + explain_schedule(context);
  const std::string why = system != nullptr ? explain_choice(context) + explain_ways(context) : explain_engine(context);
  if (!why.empty()) out += fmt::format("\nWhy {}\n", context.host ? "one copy" : ran_text(p.ran)) + why;
  out += "\nThe arithmetic\n" + explain_arithmetic(context);
  out += "\nThe terms, which sum to the time\n" + terms_table(p.terms, p.seconds);
  out += "\nWhat binds\n" + explain_binding(context);
  if (const std::string host = launch_text(p); !host.empty()) out += wrapped("  ", host + ".");
  if (system != nullptr) {
    if (!context.host) out += sharing_text()(*system, p);
    out += "\nNaive bandwidth arithmetic\n" + explain_naive(context);
    out += "\nWhat would change the answer\n" + explain_changes(context);
    out += "\nWhere the numbers come from\n" + explain_constants(context);
  }
  out += "\nHow sure\n" + wrapped("  ", certainty_text(p.low, p.high, p.min, p.basis, p.extrapolated) + board_text(p) + left_open_text(p));
  if (system == nullptr) return out;
  const std::vector<std::string> of_nodes = assumptions(*system, p.nodes);  // printed with the request
  for (const std::string& one : assumptions(*system, p))
    if (std::find(of_nodes.begin(), of_nodes.end(), one) == of_nodes.end()) out += wrapped("  ", "Assumed: " + one + ".");
  return out;
}

}  // namespace
}  // namespace detail

std::string explain_alone(const Prediction& prediction) { return detail::whole_explanation(prediction, nullptr, {}); }

std::string title_of(const Prediction& p, std::string_view system, bool sized) {
  const Operation& op = p.operation;
  std::string out{name(op.collective)};
  if (sized) out += " of " + size_text(op.bytes);
  out += fmt::format(" ({}), ", name(op.dtype));
  const bool pair = op.collective == Collective::send_recv && (op.path != Path::gpu_gpu || p.nodes <= 1);
  out += pair ? std::string{name(op.path)}
              : fmt::format("{} rank{} on {} node{}", p.ranks, p.ranks == 1 ? "" : "s", p.nodes, p.nodes == 1 ? "" : "s");
  return fmt::format("{}, {}", out, system);
}

std::string text_of(const Prediction& p) {
  std::string out = fmt::format("{} (nine in ten: {} to {}), busbw {}, {} {}", time_text(p.time()), time_text(Time::from_value(p.low)),
                                time_text(Time::from_value(p.high)), rate_text(p.bus_bandwidth()), p.algorithm.view(), p.protocol.view());
  if (p.moves() && p.by_price) out += " (the cheapest by price: no tuner rule for this library)";
  if (!p.bottleneck().tier.empty()) out += fmt::format(", mostly {}", p.bottleneck().tier.view());
  return out;
}
std::ostream& operator<<(std::ostream& out, const Prediction& prediction) { return out << text_of(prediction); }

std::string explain(const System& system, const Prediction& prediction, std::span<const std::string> notes) {
  return detail::whole_explanation(prediction, &system, notes);
}

std::string explain(const System& system, const Operation& operation, const Choice& choice) {
  return explain(system, predict(system, operation, choice));
}

}  // namespace fabricost::core
