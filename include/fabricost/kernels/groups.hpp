#pragma once
/// \file groups.hpp
/// The parallel groups of a job as ranks on a machine, and the cost of collectives on them.
///
/// A group of n ranks that are k GPUs apart (tensor k = 1, context k = t, data k = t c, ...) occupies min(n,
/// D / k) places in a scale-up domain of D GPUs, in n / places domains. All groups of a kind run at the same
/// time, so they share a domain's NICs in proportion to their places. Curves are compiled once per
/// (collective, places, domains) and kept.

#include <fabricost/experts/experts.hpp>
#include <fabricost/interrupt.hpp>
#include <fabricost/model/layout.hpp>
#include <fabricost/predict/curve.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>

namespace fabricost {

/// The ranks of a group per domain, and the number of domains.
struct Placement {
  int local = 1;
  int domains = 1;

  [[nodiscard]] int ranks() const { return local * domains; }
};

/// Places n ranks, `stride` GPUs apart, on domains of `domain` GPUs. Where they do not divide, domains are
/// filled as far as equal whole numbers of ranks allow.
[[nodiscard]] inline Placement place(int n, int stride, int domain) {
  if (static_cast<long long>(n) * stride <= domain) return {n, 1};
  int local = std::max(1, std::min(n, domain / stride));
  while (n % local != 0) --local;
  return {local, n / local};
}

/// GPUs of a domain that groups of tensor, context, data and expert ranks can use without another stage's in
/// between: all of them; with stages inside data t c of each whole block of t c p GPUs (at least t c).
[[nodiscard]] inline int domain_for_data(const Layout& l, int domain) {
  if (l.placing == Placing::data_inside || l.pp == 1) return domain;
  const int near = l.tp * l.cp;
  return domain >= near * l.pp ? near * (domain / (near * l.pp)) : std::min(domain, near);
}
/// Whether any stage's next stage is in another domain.
[[nodiscard]] inline bool stages_cross_domains(const Layout& l, int domain) {
  const long long apart = l.placing == Placing::stages_inside ? static_cast<long long>(l.tp) * l.cp * l.pp : l.gpus();
  return apart > domain;
}

/// Costs of collectives on one machine, compiled on first use. Not thread-safe: give each thread its own.
class GroupCosts {
 public:
  explicit GroupCosts(const System& system, Choice choice = {}) : system_(system), choice_(choice) {}

  [[nodiscard]] const System& system() const { return system_; }

  /// The curve of a collective, valid as long as this object. \throws RequestError when the machine cannot
  /// join these ranks
  [[nodiscard]] const Curve& curve(Collective collective, Placement place, Path path = Path::gpu_gpu) {
    const std::uint64_t key = (static_cast<std::uint64_t>(place.local) << 34) | (static_cast<std::uint64_t>(place.domains) << 10) |
                              (static_cast<std::uint64_t>(collective) << 4) | static_cast<std::uint64_t>(path);
    if (key == last_key_) return *last_;
    ask_to_go_on();
    std::unique_ptr<Curve>& at = curves_[key];
    if (!at) {
      const Operation op{.collective = collective, .ranks = place.ranks(), .path = path};
      const Levels levels = place.domains > 1 ? Levels{place.local, place.domains} : Levels{place.local};
      Fabric fabric = fabric_on(system_, op, levels);
      if (place.domains > 1) fabric.outer_rate = std::min(fabric.outer_rate, domain_rate() * place.local / system_.domain);
      at = std::make_unique<Curve>(compiled(fabric, op));
    }
    last_key_ = key;
    last_ = at.get();
    return *at;
  }

  /// Seconds; `bytes` as nccl-tests counts them (operation.hpp). 0 for a single rank.
  [[nodiscard]] double seconds(Collective collective, Placement place, double bytes) {
    return place.ranks() < 2 || bytes <= 0 ? 0 : curve(collective, place)(bytes);
  }

  /// The exchange of tokens between expert ranks. The key contains only the kind of a routing: use one object
  /// per skewed routing. \throws as ExpertCurve
  [[nodiscard]] const ExpertCurve& experts(const Gate& gate, const ExpertPlacement& at, Copies copies, double bytes_per_token,
                                           const Routing& routing) {
    const ExpertKey key{gate.experts,   gate.top_k, gate.groups, gate.group_limit, at.ranks, at.per_domain, static_cast<int>(copies),
                        bytes_per_token, routing.kind, routing.exponent};
    if (key == last_expert_key_) return *last_expert_;
    std::unique_ptr<ExpertCurve>& curve = experts_[key];
    if (!curve)
      curve = std::make_unique<ExpertCurve>(
          system_, ExpertExchange{.gate = gate, .routing = routing, .placement = at, .copies = copies, .bytes_per_token = bytes_per_token});
    last_expert_key_ = key;
    last_expert_ = curve.get();
    return *curve;
  }

  /// Rows of the fullest of `ranks` expert ranks over the mean, as a function of the tokens of one rank.
  [[nodiscard]] const Imbalance& load(const Gate& gate, const Routing& routing, int ranks) {
    const ExpertKey key{gate.experts, gate.top_k, gate.groups, gate.group_limit, ranks, 0, 0, 0, routing.kind, routing.exponent};
    std::unique_ptr<Imbalance>& at = loads_[key];
    if (!at) at = std::make_unique<Imbalance>(imbalance_of(gate, popularity_of(gate, routing, ranks), ranks));
    return *at;
  }

  /// Seconds of one message: inside the domain, or (`across`) from NIC to NIC.
  [[nodiscard]] double send(bool across, double bytes) {
    if (across) {
      const Curve& pair = curve(Collective::send_recv, {1, 2}, Path::nic);
      const double crowd = std::max(1.0, pair.fabric().outer_rate * system_.domain / domain_rate());  // GPUs per NIC
      return pair(bytes * crowd);
    }
    return curve(Collective::send_recv, {2, 1})(bytes);
  }

 private:
  /// Compiles with the requested ways, where this collective can use them.
  [[nodiscard]] Curve compiled(const Fabric& fabric, const Operation& op) const {
    if (!choice_.ways.any()) return detail::compile_on(fabric, system_, op, choice_);
    Choice choice = choice_;
    choice.ways.symmetric = choice.ways.symmetric && detail::why_no_windows(fabric, op, choice) == nullptr;
    return detail::compile_by_ways(fabric, system_, op, choice,
                                   [&](const Fabric& on) { return detail::compile_on(on, system_, op, choice); });
  }

  using ExpertKey = std::tuple<int, int, int, int, int, int, int, double, RoutingKind, double>;

  /// Bytes per second that all NICs of a domain send, since all groups of a kind use them at the same time.
  [[nodiscard]] double domain_rate() const { return nics_rate(system_) * system_.nodes_per_domain(); }

  const System& system_;
  Choice choice_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Curve>> curves_;
  std::uint64_t last_key_ = ~std::uint64_t{0};
  const Curve* last_ = nullptr;
  std::map<ExpertKey, std::unique_ptr<ExpertCurve>> experts_;
  std::map<ExpertKey, std::unique_ptr<Imbalance>> loads_;
  ExpertKey last_expert_key_{};
  const ExpertCurve* last_expert_ = nullptr;
};

}  // namespace fabricost
