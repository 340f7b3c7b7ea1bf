#pragma once
/// The load that one collective puts on every link of a machine: bytes per byte of its size S, from the
/// messages of its schedule along their real routes.
///
/// Each algorithm (algorithms/*.hpp) defines who sends what to whom: step by step, one partner at a time, or
/// with the counter's sends, which support rings along wires, channels per NIC, and reductions in switches.
///
/// Volumes per rank equal those of the schedules (a test compares them). Exchanges are counted by groups
/// instead of pairs: n ranks in d domains cost n x NICs + levels, so 16,384 ranks are quick.

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/collective.hpp>
#include <fabricost/error.hpp>
#include <fabricost/plan/network/routes.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// Load of one link by a collective.
struct LinkLoad {
  int link = 0;
  double bytes = 0;  ///< per byte of the collective's size
  double flows = 0;  ///< messages at a time; the expected number where routes split
};

/// The part of one torus that some ranks fill, axis by axis; of no length where they fill none.
struct TorusBlock {
  std::vector<int> first, length;  ///< on every axis of the torus
  /// Axes of more than one chip.
  [[nodiscard]] int axes() const { return static_cast<int>(std::count_if(length.begin(), length.end(), [](int l) { return l > 1; })); }
};
[[nodiscard]] TorusBlock block_of(const Topology& t, std::span<const int> ranks);

struct Traffic {
  std::vector<LinkLoad> loads;    ///< links touched, by number
  std::vector<LinkLoad> between;  ///< what each two groups of a dragonfly send each other, by its wires; with minimal routes these are loads
  double sent_by_rank = 0;        ///< bytes per byte of size that leave one rank
};

/// Sums traffic link by link; one per topology, reused for many collectives.
class TrafficCounter {
 public:
  explicit TrafficCounter(const Topology& t, RouteOptions options = {})
      : t_(t), options_(options), bytes_(static_cast<std::size_t>(t.links()), 0), flows_(static_cast<std::size_t>(t.links()), 0) {}

  /// The links loaded by `collective` with `algorithm` over the GPUs `ranks`.
  /// \throws RequestError for a pair of collective and algorithm that does not exist, a GPU that does not
  /// exist or is named twice, or ranks it cannot run on
  [[nodiscard]] Traffic count(Collective collective, Algorithm algorithm, std::span<const int> ranks);

  // Sends used by algorithms/*.hpp to describe their traffic: traffic_rings-inl.hpp, traffic_exchange-inl.hpp, traffic_in_network-inl.hpp.

  using Group = std::vector<int>;
  struct Domains {
    std::vector<Group> members;  ///< in the order in which ranks name them
    std::size_t max = 0;
    [[nodiscard]] bool even() const {
      return std::all_of(members.begin(), members.end(), [&](const Group& d) { return d.size() == max; });
    }
  };

  [[nodiscard]] Domains by_domain(std::span<const int> ranks) const;
  [[noreturn]] void refuse(const std::string& why) const { throw RequestError(t_.name + ": " + why); }
  /// \throws RequestError when the domains have unequal numbers of ranks
  void require_even(const Domains& domains, std::string_view what) const {
    if (!domains.even()) refuse(std::string(what) + " needs as many ranks in every domain");
  }

  void send(int from, int to, double bytes);
  void ring(std::span<const int> ranks, double bytes);
  void inner_ring(const Group& members, double bytes);
  void trees(const Domains& domains, Collective collective, bool switched_inside);
  void exchange(std::span<const int> ranks, double each);
  void in_switch(const Domains& domains, Collective collective, double bytes);
  void aggregated(std::span<const int> heads, double up, double down);
  void every_wire(std::span<const int> ranks, double bytes, std::string_view what);
  [[nodiscard]] bool fill_axes(std::span<const int> ranks) const { return block_of(t_, ranks).axes() > 1; }
  [[nodiscard]] std::size_t channels_of(const Domains& domains);
  [[nodiscard]] Group ending_with(const Group& members, std::size_t channel, std::size_t max);

 private:
  [[nodiscard]] auto add(double bytes) {
    return [this, bytes](int link, double part) {
      const auto l = static_cast<std::size_t>(link);
      if (flows_[l] == 0 && bytes_[l] == 0) touched_.push_back(link);
      bytes_[l] += part * bytes;
      flows_[l] += part;
    };
  }
  void check(std::span<const int> ranks) const;
  template <class A>
  [[nodiscard]] double count_by(Collective collective, std::span<const int> ranks);
  template <class A>
  void step_by_step(Collective collective, std::span<const int> ranks);
  void exchange_across(std::span<const int> ranks, const Domains& domains, double each);
  void exchange_above(std::span<const int> ranks, double each, bool relayed);
  [[nodiscard]] const std::vector<std::vector<int>>& rings_among(const Group& members);

  const Topology& t_;
  RouteOptions options_;
  std::vector<double> bytes_, flows_;
  std::vector<int> touched_;
  std::map<Group, std::vector<std::vector<int>>> rings_;  // of a wired domain, by members
};

}  // namespace fabricost::plan

namespace fabricost {
using plan::LinkLoad;
using plan::Traffic;
using plan::TrafficCounter;
}  // namespace fabricost
