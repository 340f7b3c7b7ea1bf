#pragma once
/// \file experts.hpp
/// Sending tokens to their experts and back: bytes per rank inside the scale-up domain and across domains, seconds of one dispatch or
/// combine, what leaving the domain costs, and the work the experts do with what arrives.
///
/// T tokens a rank of b bytes each, k of E experts a token, e ranks on N domains of g; per token
///
///   copies      one for each expert        k                     inside k (g-1)/e         across k (1 - g/e)                NCCL, low
///   latency
///               one for each rank          Dr                    inside Dr (g-1)/e        across Dr (1 - g/e)
///               one for each domain        Dn, forwarded to Dr   inside Dr (1 - 1/g)      across Dn (1 - 1/N)               DeepEP's
///               normal kernels
///
/// Dr, Dn: expected ranks and domains touched (routing.hpp). DeepEP counts what stays at home as well: T Dn b and T Dr b are its printed
/// volumes.
///
/// The first two are the library's all_to_all over e ranks. The third is two of them: one rank of each domain over its own NICs with
/// S = T Dn b, and the g ranks of a domain with S = T Dr b; the larger of the two plus the smaller's serial steps when they stream through
/// each other, their sum otherwise. Sizes grow by the fullest receiver over the mean (expert_load.hpp). Prices are NCCL's: kernels written
/// for this job start sooner.

#include <fabricost/predict/curve.hpp>
#include <fabricost/workload/expert_load.hpp>
#include <fabricost/workload/layout.hpp>
#include <fabricost/workload/model.hpp>

#include <optional>

namespace fabricost {

/// How often a token travels.
enum class Copies : unsigned char { per_expert, per_rank, per_domain };
inline constexpr std::array<std::string_view, 3> copies_names{"per_expert", "per_rank", "per_domain"};
[[nodiscard]] constexpr std::string_view name(Copies c) { return copies_names[static_cast<std::size_t>(c)]; }

/// Bytes of one token of `hidden` numbers on the wire, block scales included: 2 h in 16 bit; fp8 h + 4 h/128 (one float for 128 numbers,
/// DeepSeek-V3, arXiv 2412.19437, section 3.3); fp4 h/2 + h/16 (NVFP4: one byte for 16 numbers).
[[nodiscard]] inline double token_bytes(int hidden, Precision p) {
  const double h = hidden;
  switch (p) {
    case Precision::fp8: return h + 4 * h / 128;
    case Precision::fp4: return h / 2 + h / 16;
    default: return 2 * h;
  }
}

/// What a model's router chooses from. \throws RequestError for a model without experts, or a gate that is none
[[nodiscard]] inline Gate gate_of(const Model& m) {
  if (!m.mixture()) throw RequestError(m.name + ": has no experts");
  const Gate g{m.experts, m.top_k, m.expert_groups, m.group_limit};
  check(g);
  return g;
}

/// Where the ranks of one expert-parallel group sit: `ranks` of them, `per_domain` in each scale-up domain.
struct ExpertPlacement {
  int ranks = 1;
  int per_domain = 1;
  [[nodiscard]] int domains() const { return ranks / per_domain; }
};

/// As many ranks of the group in a domain as fit, every `stride`-th GPU one of them (tensor ranks of an expert in between).
/// \throws RequestError when domains cannot hold equal parts, naming the nearest number of ranks that works
[[nodiscard]] inline ExpertPlacement place_experts(int ranks, int domain, int stride = 1) {
  if (ranks < 1 || domain < 1 || stride < 1) throw RequestError("expert ranks, domain and stride must be at least 1");
  const int room = std::max(1, domain / stride);
  if (ranks <= room) return {ranks, ranks};
  const int domains = (ranks + room - 1) / room;
  if (ranks % domains != 0)
    throw RequestError(std::to_string(ranks) + " expert ranks do not spread evenly over " + std::to_string(domains) + " domains of " +
                       std::to_string(room) + "; take " + std::to_string(ranks / domains * domains));
  return {ranks, ranks / domains};
}

/// One rank's share of a dispatch (or combine).
struct ExpertTraffic {
  double inside = 0;          ///< bytes it sends to other GPUs of its domain
  double across = 0;          ///< bytes it sends to other domains
  double counted_inside = 0;  ///< as kernels report: with the copies that stay on the rank
  double counted_across = 0;  ///< with the copies that stay in the domain
};

/// Expected bytes for `tokens` tokens of `bytes_each`, by expectation over balanced or uniform choices (skewed ones move the same on
/// average). \throws RequestError when ranks, or domains where copies are made for them, do not divide the experts
[[nodiscard]] inline ExpertTraffic expert_traffic(const Gate& gate, const ExpertPlacement& at, Copies copies, double tokens,
                                                  double bytes_each) {
  const double e = at.ranks, g = at.per_domain, N = at.domains();
  const double touched = touched_sets(gate, at.ranks);
  const double all = tokens * bytes_each;
  if (copies == Copies::per_domain && at.domains() > 1) {
    const double domains = touched_sets(gate, at.domains());
    return {all * touched * (1 - 1 / g), all * domains * (1 - 1 / N), all * touched, all * domains};
  }
  const double sent = copies == Copies::per_expert ? gate.top_k : touched;
  return {all * sent * (g - 1) / e, all * sent * (1 - g / e), all * sent, all * sent};
}

/// How many times as long an all_to_all takes beside an all-reduce of gradients: 16 A100s behind 100 Gbit/s (Lina, USENIX ATC 2023, section
/// 2). Fair sharing of the NICs says 1.3 send by send and 2 collective by collective (network/concurrent.hpp): 1 / median is a share to
/// assume.
struct SlowDown {
  double median = 1, worst = 1;
};
inline constexpr SlowDown beside_all_reduce{1.83, 4.14};

/// One layer's exchange over one group of ranks.
struct ExpertExchange {
  Gate gate{};
  Routing routing{};
  ExpertPlacement placement{};
  Copies copies = Copies::per_expert;
  double bytes_per_token = 0;  ///< of one copy
  bool streamed = true;        ///< forwarding inside a domain runs while the network delivers
  double nic_share = 1;        ///< of its NICs' rate it has, in (0, 1]: below 1 beside other traffic (network/concurrent.hpp)
};

/// The time of an exchange and what it is made of; bytes and rates are of the rank that receives most.
struct ExpertTime {
  double seconds = 0;
  double inside = 0;  ///< seconds of the part inside domains; of a single all_to_all over all ranks, zero when it leaves the domain
  double across = 0;  ///< seconds of the part between domains
  double fill = 0;    ///< what streaming does not hide of the smaller part
  double inside_bytes = 0, across_bytes = 0;
  double inside_imbalance = 1, across_imbalance = 1;
  /// Bytes over seconds of either part; 0 where nothing moves.
  [[nodiscard]] double inside_rate() const { return inside > 0 ? inside_bytes / inside : 0; }
  [[nodiscard]] double across_rate() const { return across > 0 ? across_bytes / across : 0; }
};

namespace detail {

/// The machine with each scale-up domain as one node, so that any number of ranks of a domain can be asked for.
[[nodiscard]] inline System with_domains_as_nodes(System system) {
  const double trays = system.nodes_per_domain();
  for (Tier& tier : system.tiers) {
    if (tier.role == TierRole::nic) tier.endpoints = std::max(1, static_cast<int>(std::lround(tier.endpoints * trays)));
    if (tier.role == TierRole::network) tier.endpoints = std::max(1, static_cast<int>(std::lround(tier.endpoints / trays)));
    if (tier.role == TierRole::network) break;  // tiers above count children of the one below
  }
  system.nodes = std::max(1, static_cast<int>(std::lround(system.nodes / trays)));
  system.gpus_per_node = system.domain;
  return system;
}

/// Seconds of a line's serial steps with nothing to move: what a streamed part adds behind the other.
[[nodiscard]] inline double steps_of(const Line& line) {
  double out = line.latency;
  for (const Part& p : line.base_parts)
    if (p.kind != TermKind::launch) out += p.value();
  return out;
}

/// A bound on a line's price without its norm: norm_q(a, b) <= a + b.
[[nodiscard]] inline double no_more_than(const Line& line, double bytes) {
  double out = line.base + line.latency + line.volume(bytes);
  for (const Ramp& r : line.ramps) out += r(bytes);
  return out;
}

}  // namespace detail

/// Seconds of one dispatch or combine for any number of tokens, compiled once; evaluating never allocates. A value of some 20 kB.
class ExpertCurve {
 public:
  /// Seconds for `tokens` tokens of every rank, at least 0 (then what starting costs).
  /// \param scale bytes of a token over those compiled with: one curve serves a dispatch in fp8 and the combine in 16 bit
  [[nodiscard]] double operator()(double tokens, double scale = 1) const {
    if (!inside_ && !across_) return 0;
    const double position = even_ ? 0 : Imbalance::position(tokens), all = tokens * scale;
    const double inside_size = all * inside_size_ * (even_ ? 1 : inside_imbalance_.at(position));
    if (!across_) return (*inside_)(inside_size);
    const double out = (*across_)(all * across_size_ * (even_ ? 1 : across_imbalance_.at(position)));
    if (!inside_) return out;
    if (!streamed_) return (*inside_)(inside_size) + out;
    if (detail::no_more_than(inside_->line(inside_size), inside_size) <= out) return out + fill_;  // no need to know it
    return std::max((*inside_)(inside_size), out) + fill_;
  }

  /// The same, taken apart.
  [[nodiscard]] ExpertTime terms(double tokens, double scale = 1) const {
    ExpertTime t;
    t.inside_imbalance = inside_imbalance_(tokens);
    t.across_imbalance = across_imbalance_(tokens);
    const double all = tokens * scale;
    t.inside_bytes = all * inside_bytes_ * t.inside_imbalance;
    t.across_bytes = all * across_bytes_ * t.across_imbalance;
    if (inside_) t.inside = (*inside_)(all * inside_size_ * t.inside_imbalance);
    if (across_) t.across = (*across_)(all * across_size_ * t.across_imbalance);
    t.fill = fill_;
    t.seconds = (*this)(tokens, scale);
    return t;
  }

  [[nodiscard]] const ExpertPlacement& placement() const { return placement_; }

  /// \throws RequestError for ranks that do not divide the experts or the placement, a share outside (0, 1], or a machine that cannot join
  /// them
  ExpertCurve(const System& machine, const ExpertExchange& x) : placement_(x.placement), streamed_(x.streamed) {
    const auto& at = x.placement;
    if (at.ranks < 1 || at.per_domain < 1 || at.ranks % at.per_domain != 0)
      throw RequestError(std::to_string(at.ranks) + " expert ranks do not divide into " + std::to_string(at.per_domain) + " a domain");
    if (at.per_domain > machine.domain)
      throw RequestError(machine.name + ": " + std::to_string(at.per_domain) + " expert ranks in a domain of " +
                         std::to_string(machine.domain));
    if (!(x.nic_share > 0 && x.nic_share <= 1)) throw RequestError("the share of the NICs must be above 0, at most 1");
    if (!(x.bytes_per_token > 0)) throw RequestError("bytes of a token must be above zero");
    const ExpertTraffic one = expert_traffic(x.gate, at, x.copies, 1, x.bytes_per_token);
    if (at.ranks == 1) return;
    inside_bytes_ = one.inside;
    across_bytes_ = one.across;
    const System system = detail::with_domains_as_nodes(machine);
    const int N = at.domains();
    const bool forwarded = x.copies == Copies::per_domain && N > 1;
    even_ = x.routing.kind == RoutingKind::balanced;
    if (!even_) describe_imbalance(x, forwarded);
    if (!forwarded) {
      Curve all = compile(system, AllToAll{.ranks = at.ranks, .nodes = N});
      if (N == 1) {
        inside_ = all;
        inside_size_ = one.counted_inside;
      } else {
        across_ = all;
        across_size_ = one.counted_inside / x.nic_share;
        across_imbalance_ = inside_imbalance_;
      }
      return;
    }
    const Tier* nic = system.tier(TierRole::nic);
    const double crowd = nic == nullptr ? 1 : std::max(1.0, static_cast<double>(system.domain) / nic->endpoints);  // GPUs of one NIC
    across_ = compile(system, AllToAll{.ranks = N, .nodes = N});
    across_size_ = one.counted_across * crowd / x.nic_share;
    if (at.per_domain == 1) return;
    inside_ = compile(system, AllToAll{.ranks = at.per_domain, .nodes = 1});
    inside_size_ = one.counted_inside;
    if (streamed_) fill_ = std::min(detail::steps_of(inside_->line(0)), detail::steps_of(across_->line(0)));
  }

 private:
  /// What the fullest rank, and the fullest domain, receive over the mean: choices where every one travels, else tokens that touch it.
  void describe_imbalance(const ExpertExchange& x, bool forwarded) {
    const Popularity p = popularity_of(x.gate, x.routing, x.placement.ranks);
    const auto touched = [&](int sets) {
      const std::vector<double> means = touched_each(x.gate, x.routing, p, sets);
      std::vector<double> spread;
      for (const double m : means) spread.push_back(std::max(0.0, 1 - m));
      return Imbalance{classes_of(means, spread), static_cast<double>(x.placement.ranks), 1.0};
    };
    const int e = x.placement.ranks;
    inside_imbalance_ = x.copies == Copies::per_expert ? Imbalance{load_classes(x.gate, p, e), static_cast<double>(e),
                                                                   std::min<double>(x.gate.top_k, x.gate.experts / e)}
                                                       : touched(e);
    if (forwarded) across_imbalance_ = touched(x.placement.domains());
  }

  ExpertPlacement placement_;
  bool streamed_ = true, even_ = true;
  double inside_size_ = 0, across_size_ = 0;    ///< nccl-tests bytes of one token
  double inside_bytes_ = 0, across_bytes_ = 0;  ///< that leave the rank
  double fill_ = 0;
  std::optional<Curve> inside_, across_;
  Imbalance inside_imbalance_, across_imbalance_;
};

/// Seconds of one dispatch (or combine) of `tokens` tokens of every rank. One question; for many, keep the curve.
/// \throws as ExpertCurve
[[nodiscard]] inline ExpertTime expert_exchange(const System& machine, const ExpertExchange& x, double tokens) {
  return ExpertCurve{machine, x}.terms(tokens);
}
[[nodiscard]] inline double expert_exchange_seconds(const System& machine, const ExpertExchange& x, double tokens) {
  return expert_exchange(machine, x, tokens).seconds;
}

/// One line of an answer's arithmetic: bytes / rate = seconds.
struct ExchangeTerm {
  std::string_view name;
  double bytes = 0, rate = 0, seconds = 0;
};

/// What it costs that the experts of a layer do not fit into one scale-up domain.
struct DomainPenalty {
  ExpertTime placed;    ///< where the ranks are
  ExpertTime together;  ///< the same ranks in one domain, imagined with the rate per GPU of the machine's own
  [[nodiscard]] double ratio() const { return together.seconds > 0 ? placed.seconds / together.seconds : 1; }
  [[nodiscard]] double seconds() const { return placed.seconds - together.seconds; }
  /// Where the time goes: across domains, inside them, what streaming leaves, and all of it in one domain. Rates are bytes over seconds,
  /// start included.
  [[nodiscard]] std::array<ExchangeTerm, 4> terms() const {
    return {{{"across domains", placed.across_bytes, placed.across_rate(), placed.across},
             {"inside domains", placed.inside_bytes, placed.inside_rate(), placed.inside},
             {"last hop", 0, 0, placed.fill},
             {"in one domain", together.inside_bytes, together.inside_rate(), together.inside}}};
  }
};

/// The exchange as placed against the same on a domain widened to hold all its ranks: same links, switches that are large enough. Copies
/// are made once per rank in the widened domain where they were made per domain. A ratio of 1 means that nothing leaves. \throws as
/// ExpertCurve; RequestError for a scale-up tier without switches, which cannot be widened
[[nodiscard]] inline DomainPenalty domain_penalty(const System& machine, const ExpertExchange& x, double tokens) {
  DomainPenalty out{.placed = expert_exchange(machine, x, tokens), .together = {}};
  if (x.placement.domains() == 1) {
    out.together = out.placed;
    return out;
  }
  System wide = detail::with_domains_as_nodes(machine);
  wide.domain = wide.gpus_per_node = std::max(machine.domain, x.placement.ranks);
  for (Tier& tier : wide.tiers) {
    if (tier.role != TierRole::scale_up) continue;
    if (tier.kind != TierKind::switched && tier.kind != TierKind::full_mesh)
      throw RequestError(machine.name + ": a scale-up domain without switches cannot be imagined larger");
    tier.endpoints = std::max(tier.endpoints, wide.domain);
  }
  ExpertExchange together = x;
  together.placement = {x.placement.ranks, x.placement.ranks};
  if (together.copies == Copies::per_domain) together.copies = Copies::per_rank;
  out.together = expert_exchange(wide, together, tokens);
  return out;
}

/// Dispatches and combines of one expert layer: 2 forward; in training 2 more backward (the combine's gradients go out, the dispatch's come
/// back), and the forward's again where all of a layer is recomputed.
[[nodiscard]] constexpr int expert_exchanges(bool training, Recompute recompute = Recompute::none) {
  return training ? recompute == Recompute::full ? 6 : 4 : 2;
}

/// What one rank's experts compute in one layer and one direction (forward).
struct ExpertWork {
  double rows = 0;              ///< tokens times choices that arrive, at the fullest rank
  double rows_per_expert = 0;   ///< M of its matrix products
  double experts_touched = 0;   ///< whose weights are read, of those it holds
  double flops = 0;             ///< 2 x matrices x h x f x rows / tensor ranks of an expert
  double weight_bytes = 0;      ///< of the experts touched
  double activation_bytes = 0;  ///< in and out: rows x (h + matrices x f + h) x bytes
};

/// Each of e ranks brings `tokens` tokens: rows = tokens x k x imbalance, of which every expert gets
/// rows / (E/e); weights matrices x h x f of the experts touched by all ranks' tokens, E/e (1 - (1 - k/E)^(tokens e)).
/// \param tokens of one expert-parallel rank \param imbalance fullest rank over the mean, at least 1
/// \throws RequestError when the ranks do not divide the experts
[[nodiscard]] inline ExpertWork expert_work(const Model& m, int ranks, int tensor_ranks, double tokens, double bytes_per_number,
                                            double imbalance = 1) {
  const Gate g = gate_of(m);
  if (ranks < 1 || tensor_ranks < 1 || m.experts % ranks != 0)
    throw RequestError(m.name + ": " + std::to_string(m.experts) + " experts do not divide over " + std::to_string(ranks) + " ranks");
  const double held = static_cast<double>(m.experts) / ranks, h = m.hidden, f = static_cast<double>(m.expert_ffn) / tensor_ranks;
  const double matrices = m.ffn_matrices();
  ExpertWork w;
  w.rows = tokens * m.top_k * imbalance;
  w.experts_touched = touched_experts(g, tokens * ranks) / ranks;
  w.rows_per_expert = w.rows / std::max(1e-300, std::min(held, w.experts_touched));
  w.flops = 2 * matrices * h * f * w.rows;
  w.weight_bytes = matrices * h * f * w.experts_touched * bytes_per_number;
  w.activation_bytes = w.rows * (2 * h + matrices * f) * bytes_per_number;
  return w;
}

}  // namespace fabricost
