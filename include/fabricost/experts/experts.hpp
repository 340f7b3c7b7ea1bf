#pragma once
/// \file experts.hpp
/// Dispatch of tokens to their experts and back: seconds of one dispatch or combine inside a scale-up domain
/// and across domains, and the cost of leaving the domain.
///
/// Tokens are copied in one of three ways: for each expert, for each rank, or for each domain and forwarded
/// there (traffic.hpp).
///
/// The first two are the library's all_to_all over e ranks. The third is two of them: one rank of each domain
/// over its own NICs with S = T Dn b, and the g ranks of a domain with S = T Dr b. Streamed through each
/// other they take the larger of the two plus the serial steps of the other, else their sum. Sizes grow by
/// the fullest receiver over the mean (load.hpp). Prices are NCCL's: dedicated kernels start sooner.

#include <fabricost/experts/load.hpp>
#include <fabricost/experts/traffic.hpp>
#include <fabricost/predict/curve.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <optional>

namespace fabricost {

/// Slow-down of an all_to_all beside an all-reduce of gradients: 16 A100s behind 100 Gbit/s (Lina, USENIX ATC
/// 2022). Fair sharing of the NICs gives 1.3 send by send and 2 collective by collective
/// (network/concurrent.hpp): 1 / median is a reasonable share to assume.
struct SlowDown {
  double median = 1, worst = 1;
};
inline constexpr SlowDown beside_all_reduce{prior::experts::beside_all_reduce, prior::experts::beside_all_reduce_worst};

/// One layer's exchange over one group of ranks.
struct ExpertExchange {
  Gate gate{};
  Routing routing{};
  ExpertPlacement placement{};
  Copies copies = Copies::per_expert;
  double bytes_per_token = 0;  ///< of one copy
  bool streamed = true;        ///< forwarding inside a domain runs while the network delivers
  double nic_share = 1;        ///< share of its NICs' rate, in (0, 1]: below 1 beside other traffic (network/concurrent.hpp)
};

/// The time of an exchange and its parts; bytes and rates are of the rank that receives most.
struct ExpertTime {
  double seconds = 0;
  double inside = 0;  ///< seconds inside domains; 0 for a single all_to_all over all ranks that leaves the domain
  double across = 0;  ///< seconds of the part between domains
  double fill = 0;    ///< part of the smaller one that streaming does not hide
  double inside_bytes = 0, across_bytes = 0;
  double inside_imbalance = 1, across_imbalance = 1;
  /// Bytes over seconds of either part; 0 if nothing moves.
  [[nodiscard]] double inside_rate() const { return inside > 0 ? inside_bytes / inside : 0; }
  [[nodiscard]] double across_rate() const { return across > 0 ? across_bytes / across : 0; }
};

namespace detail {

/// The machine with each scale-up domain as one node, so that any number of ranks per domain is valid.
[[nodiscard]] inline System with_domains_as_nodes(System system) {
  const double trays = system.nodes_per_domain();
  for (Tier& tier : system.tiers) {
    if (tier.role == TierRole::nic) tier.endpoints = std::max(1, static_cast<int>(std::lround(tier.endpoints * trays)));
    if (tier.role == TierRole::network) tier.endpoints = std::max(1, static_cast<int>(std::lround(tier.endpoints / trays)));
    if (tier.role == TierRole::network) break;  // tiers above count children of the one below
  }
  system.nodes = std::max(1, static_cast<int>(std::lround(system.nodes / trays)));
  system.gpus_per_node = system.domain;
  system.pod = 0;
  return system;
}

/// Seconds of a line's serial steps without data: the time a streamed part adds after the other.
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

/// Seconds of one dispatch or combine for any number of tokens, compiled once; evaluation never allocates. A
/// value of about 20 kB.
class ExpertCurve {
 public:
  /// Seconds for `tokens` tokens per rank, at least 0 (then the start-up cost).
  /// \param scale bytes of a token relative to the compiled ones: one curve serves a dispatch in fp8 and the
  /// combine in 16 bit
  [[nodiscard]] double operator()(double tokens, double scale = 1) const {
    if (!inside_ && !across_) return 0;
    const double position = even_ ? 0 : Imbalance::position(tokens), all = tokens * scale;
    const double inside_size = all * inside_size_ * (even_ ? 1 : inside_imbalance_.at(position));
    if (!across_) return (*inside_)(inside_size);
    const double out = (*across_)(all * across_size_ * (even_ ? 1 : across_imbalance_.at(position)));
    if (!inside_) return out;
    if (!streamed_) return (*inside_)(inside_size) + out;
    // the exact value cannot be larger than the other part
    if (detail::no_more_than(inside_->line(inside_size), inside_size) <= out) return out + fill_;
    return std::max((*inside_)(inside_size), out) + fill_;
  }

  /// The same, by parts.
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
    const double crowd = nic == nullptr ? 1 : std::max(1.0, static_cast<double>(system.domain) / nic->endpoints);  // GPUs per NIC
    across_ = compile(system, AllToAll{.ranks = N, .nodes = N});
    across_size_ = one.counted_across * crowd / x.nic_share;
    if (at.per_domain == 1) return;
    inside_ = compile(system, AllToAll{.ranks = at.per_domain, .nodes = 1});
    inside_size_ = one.counted_inside;
    if (streamed_) fill_ = std::min(detail::steps_of(inside_->line(0)), detail::steps_of(across_->line(0)));
  }

 private:
  /// Load of the fullest rank and domain over the mean: choices if every copy travels, else touching tokens.
  void describe_imbalance(const ExpertExchange& x, bool forwarded) {
    const Popularity p = popularity_of(x.gate, x.routing, x.placement.ranks);
    const auto touched = [&](int sets) {
      const std::vector<double> means = touched_each(x.gate, x.routing, p, sets);
      std::vector<double> spread;
      for (const double m : means) spread.push_back(std::max(0.0, 1 - m));
      return Imbalance{classes_of(means, spread), static_cast<double>(x.placement.ranks), 1.0};
    };
    const int e = x.placement.ranks, experts_each = x.gate.experts / e;
    inside_imbalance_ = x.copies == Copies::per_expert ? Imbalance{load_classes(x.gate, p, e), static_cast<double>(e),
                                                                   static_cast<double>(std::min(x.gate.top_k, experts_each))}
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

/// Seconds of one dispatch (or combine) of `tokens` tokens per rank. For one call; for many, keep the curve.
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

/// The cost of experts of a layer that do not fit into one scale-up domain.
struct DomainPenalty {
  ExpertTime placed;    ///< where the ranks are
  ExpertTime together;  ///< the same ranks in one imagined domain with the machine's own rate per GPU
  [[nodiscard]] double ratio() const { return together.seconds > 0 ? placed.seconds / together.seconds : 1; }
  [[nodiscard]] double seconds() const { return placed.seconds - together.seconds; }
  /// Parts of the time: across domains, inside them, the part that streaming does not hide, and the total in
  /// one domain. Rates are bytes over seconds, including the start.
  [[nodiscard]] std::array<ExchangeTerm, 4> terms() const {
    return {{{"across domains", placed.across_bytes, placed.across_rate(), placed.across},
             {"inside domains", placed.inside_bytes, placed.inside_rate(), placed.inside},
             {"last hop", 0, 0, placed.fill},
             {"in one domain", together.inside_bytes, together.inside_rate(), together.inside}}};
  }
};

/// The exchange as placed compared with the same in a domain widened to hold all of its ranks: same links,
/// switches that are large enough. The widened domain makes copies per rank instead of per domain. A ratio of
/// 1 means that nothing leaves. \throws as ExpertCurve; RequestError for a scale-up tier without switches,
/// which cannot be widened
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

}  // namespace fabricost
