#pragma once
/// Dispatch of tokens to their experts and back: seconds of one dispatch or combine inside a scale-up domain
/// and across domains.
///
/// Tokens are copied in one of three ways: for each expert, for each rank, or for each domain and forwarded
/// there (traffic.hpp).
///
/// The first two are the library's all_to_all over e ranks. The third is two of them: one rank of each domain
/// over its own NICs with S = T Dn b, and the g ranks of a domain with S = T Dr b. Streamed through each
/// other they take the larger of the two plus the serial steps of the other, else their sum. Sizes grow by
/// the fullest receiver over the mean (load.hpp). Prices are NCCL's: dedicated kernels start sooner.

#include <fabricost/experts/imbalance.hpp>
#include <fabricost/experts/expert_traffic.hpp>
#include <fabricost/predict/curve.hpp>

#include <optional>

namespace fabricost::core {

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

/// The time of an exchange and its parts; bytes are of the rank that receives most.
struct ExpertTime {
  double seconds = 0;
  double inside = 0;  ///< seconds inside domains; 0 for a single all_to_all over all ranks that leaves the domain
  double across = 0;  ///< seconds of the part between domains
  double fill = 0;    ///< part of the smaller one that streaming does not hide
  double inside_bytes = 0, across_bytes = 0;
};

/// Seconds on the links of a rank: inside its scale-up domain, and across domains.
struct LinkTime {
  double inside = 0, across = 0;

  void add(const LinkTime& o, double n) { inside += n * o.inside, across += n * o.across; }
  /// Transfers over different links can run at the same time.
  [[nodiscard]] double least() const { return std::max(inside, across); }
};

namespace detail {

/// The machine with each scale-up domain as one node, so that any number of ranks per domain is valid.
[[nodiscard]] System with_domains_as_nodes(System system);

/// Seconds of a line's serial steps without data: the time a streamed part adds after the other.
[[nodiscard]] double steps_of(const Line& line);

}  // namespace detail

/// The time of one dispatch or combine for any number of tokens, compiled once; evaluation never allocates. A
/// value of about 20 kB.
class ExpertCurve {
 public:
  /// The time for `tokens` tokens per rank, at least 0 (then the start-up cost).
  /// \param scale bytes of a token relative to the compiled ones: one curve serves a dispatch in fp8 and the
  /// combine in 16 bit
  [[nodiscard]] Time operator()(double tokens, double scale = 1) const { return Time::from_value(seconds(tokens, scale)); }
  /// The same in seconds, for inner loops.
  [[nodiscard]] double seconds(double tokens, double scale = 1) const;

  /// The same, by parts.
  [[nodiscard]] ExpertTime terms(double tokens, double scale = 1) const;

  /// Seconds that its bytes need at the links' full rate, whatever the constants.
  [[nodiscard]] LinkTime min(double tokens, double scale = 1) const {
    const double inside = tokens * scale * inside_imbalance_(tokens) * inside_size_;
    const double across = tokens * scale * across_imbalance_(tokens) * across_size_;
    return {inside_ ? inside_->min_seconds(inside) : 0, across_ ? across_->min_seconds(across) : 0};
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
  void describe_imbalance(const ExpertExchange& x, bool forwarded);

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
[[nodiscard]] ExpertTime expert_exchange(const System& machine, const ExpertExchange& x, double tokens);

}  // namespace fabricost::core

namespace fabricost {
using core::expert_exchange;
using core::ExpertExchange;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/experts/expert_exchange-inl.hpp>
#endif
