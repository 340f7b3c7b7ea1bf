#pragma once
/// The parallel groups of a job as ranks on a machine, and the cost of collectives on them.
///
/// A group of n ranks that are k GPUs apart (tensor k = 1, context k = t, data k = t c, ...) occupies min(n,
/// D / k) places in a scale-up domain of D GPUs, in n / places domains. All groups of a kind run at the same
/// time, so they share a domain's NICs, and what is staged its nodes' memory, in proportion to their places. Curves are compiled once per
/// (collective, places, domains) and kept.

#include <fabricost/experts/expert_exchange.hpp>
#include <fabricost/plan/model/layout.hpp>
#include <fabricost/predict/curve.hpp>
#include <fabricost/progress.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>

namespace fabricost::plan {

/// The ranks of a group per domain, and the number of domains.
struct Placement {
  int local = 1;
  int domains = 1;

  [[nodiscard]] int ranks() const { return local * domains; }
};

/// Places n ranks, `stride` GPUs apart, on domains of `domain` GPUs. Where they do not divide, domains are
/// filled as far as equal whole numbers of ranks allow.
[[nodiscard]] Placement place(int n, int stride, int domain);

/// GPUs of a domain that groups of tensor, context, data and expert ranks can use without another stage's in
/// between: all of them; with stages inside data t c of each whole block of t c p GPUs (at least t c).
[[nodiscard]] int domain_for_data(const Layout& l, int domain);
/// Whether any stage's next stage is in another domain.
[[nodiscard]] bool stages_cross_domains(const Layout& l, int domain);

/// Costs of collectives on one machine, compiled on first use. Not thread-safe: give each thread its own.
class GroupCosts {
 public:
  explicit GroupCosts(const System& system, Choice choice = {}) : system_(system), choice_(choice) {}

  [[nodiscard]] const System& system() const { return system_; }

  /// The curve of a collective, valid as long as this object. \throws RequestError when the machine cannot
  /// join these ranks
  [[nodiscard]] const Curve& curve(Collective collective, Placement place, Path path = Path::gpu_gpu);

  /// Seconds; `bytes` as nccl-tests counts them (operation.hpp). 0 for a single rank.
  [[nodiscard]] double seconds(Collective collective, Placement place, double bytes) {
    return place.ranks() < 2 || bytes <= 0 ? 0 : curve(collective, place).seconds(bytes);
  }

  /// Seconds that its bytes need at the links' full one-way rate: no exchange is shorter, whatever hides it.
  [[nodiscard]] LinkTime min(Collective collective, Placement place, double bytes);
  /// Half width, in log, of the 5-95 % interval around its seconds, as predict gives it.
  [[nodiscard]] double half_width(Collective collective, Placement place, double bytes, Path path = Path::gpu_gpu);

  /// The exchange of tokens between expert ranks. The key contains only the kind of a routing: use one object
  /// per skewed routing. \throws as ExpertCurve
  [[nodiscard]] const ExpertCurve& experts(const Gate& gate, const ExpertPlacement& at, Copies copies, double bytes_per_token,
                                           const Routing& routing);

  /// Rows of the fullest of `ranks` expert ranks over the mean, as a function of the tokens of one rank.
  [[nodiscard]] const Imbalance& load(const Gate& gate, const Routing& routing, int ranks);

  /// Seconds of one message: inside the domain, or (`across`) from NIC to NIC.
  [[nodiscard]] double send(bool across, double bytes) { return message(across).seconds(bytes * crowd(across)); }
  /// Of those, what its bytes need at the links' full one-way rate.
  [[nodiscard]] LinkTime min_send(bool across, double bytes);

 private:
  [[nodiscard]] const Curve& message(bool across) {
    return across ? curve(Collective::send_recv, {1, 2}, Path::nic) : curve(Collective::send_recv, {2, 1});
  }
  /// GPUs that send over one NIC.
  [[nodiscard]] double crowd(bool across) {
    return across ? std::max(1.0, message(true).fabric().outer_rate * system_.domain / domain_rate()) : 1;
  }
  /// Compiles with the requested ways, where this collective can use them.
  [[nodiscard]] Curve compiled(const Fabric& fabric, const Operation& op) const;

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

}  // namespace fabricost::plan
