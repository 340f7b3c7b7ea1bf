#pragma once
/// Algorithms in which switches reduce or multicast data.
///
///   nvls            every GPU of a domain sends its part to the NVSwitches, which add and multicast: S (1 + 1/n) per
///                   direction instead of the ring's 2 S (n-1)/n
///   nvls_tree       nvls inside each domain, double binary trees between them
///   collnet_direct  direct reduce-scatter and all-gather inside, the network's switches (SHARP) in between: S per domain
///   collnet_chain   the same with a chain inside (alias sharp)

#include <fabricost/algorithms/definition.hpp>

#include <vector>

namespace fabricost::core::algorithms {

struct Nvls : Defaults {
  static constexpr std::string_view name = "nvls", nccl_name = "NVLS";
  static constexpr bool all_links = true;

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return is_all_reduce_or_half(op) ? nullptr : "in-switch reduction exists for all_reduce, all_gather and reduce_scatter";
  }
  [[nodiscard]] static const char* why_not(const Case& p) {
    if (const char* why = not_for(p.collective)) return why;
    if (!p.at.in_switch) return "the switches of this domain do not reduce";
    if (p.at.domains() > 1)
      return p.at.sharp ? "NVLS over SHARP was measured nowhere and has no price; collnet_direct is SHARP, nic.sharp=false nvls without it"
                        : "between domains in-switch reduction is called nvls_tree";
    if (p.byte_wide && reduces(p.collective)) return "in-switch reduction exists for 16- and 32-bit types";
    return p.simple ? nullptr : "in-switch reduction runs Simple only";
  }

  static void add_phases(Schedule& out, const Connectivity& at) {
    const double n = at.levels.size(0);
    const bool both = out.collective == Collective::all_reduce;
    // one direction carries a rank's own part up, the other the result down; the busier one counts
    out.add({.level = 0,
             .steps = both ? 2.0 : 1.0,
             .bytes = both ? 1 + 1 / n : 1,
             .message = 1 / n,
             .reduces = reduces(out.collective) ? 1.0 : 0.0});
  }

  template <class Network>
  static void traffic(Network& net, Collective op, std::span<const int> ranks, double sent) {
    const auto domains = net.by_domain(ranks);
    if (domains.members.size() > 1) net.refuse("nvls stays inside one domain; between domains it is nvls_tree");
    net.in_switch(domains, op, sent);
  }
};

struct NvlsTree : Defaults {
  static constexpr std::string_view name = "nvls_tree", nccl_name = "NVLSTree";
  static constexpr bool all_links = true;
  static constexpr SentPerRank sent_per_rank = SentPerRank::inside;

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return op == Collective::all_reduce ? nullptr : "nvls_tree exists for all_reduce";
  }
  [[nodiscard]] static const char* why_not(const Case& p) {
    if (const char* why = not_for(p.collective)) return why;
    if (!p.at.in_switch) return "the switches of this domain do not reduce";
    if (p.at.domains() <= 1) return "nvls_tree needs more than one domain";
    if (p.byte_wide) return "in-switch reduction exists for 16- and 32-bit types";
    return p.simple ? nullptr : "in-switch reduction runs Simple only";
  }

  static void add_phases(Schedule& out, const Connectivity& at) {
    const Levels& levels = at.levels;
    const double g = levels.size(0);
    const double N = levels.ranks() / g;
    out.add({.level = 0, .steps = 2, .bytes = 1 + 1 / g, .message = 1 / g, .reduces = 1});
    for (int level = 1; level < levels.count; ++level) {
      const double hops = std::log2(levels.size(level));
      out.add({.level = level, .steps = 2 * hops, .bytes = fullest_of_two_trees(N), .message = 1 / g, .forwards = hops, .reduces = hops});
    }
  }

  template <class Network>
  static void traffic(Network& net, Collective op, std::span<const int> ranks, double sent) {
    const auto domains = net.by_domain(ranks);
    if (domains.max > 1) net.in_switch(domains, op, sent);
    net.trees(domains, op, true);
  }
};

/// Common part of collnet_direct and collnet_chain.
template <bool chain>
struct Collnet : Defaults {
  static constexpr SentPerRank sent_per_rank = SentPerRank::inside_and_out;

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return is_all_reduce_or_half(op) && !(gathers_or_scatters(op) && chain) ? nullptr : "CollNet does not offer this operation";
  }
  [[nodiscard]] static const char* why_not(const Case& p) {
    if (const char* why = not_for(p.collective)) return why;
    if (p.at.domains() <= 1) return "CollNet needs more than one domain";
    if (!p.at.sharp) return "this network offers no in-network reduction (nic.sharp is false; set nic.sharp=true where NCCL uses SHARP)";
    return p.simple ? nullptr : "CollNet runs Simple only";
  }

  static void add_phases(Schedule& out, const Connectivity& at) {
    const Levels& levels = at.levels;
    const double g = levels.size(0);
    if (g > 1)
      out.add({.level = 0,
               .steps = chain ? 2 * (g - 1) : 2,
               .bytes = (out.collective == Collective::all_reduce ? 2 : 1) * (chain ? 1 : (g - 1) / g),
               .message = chain ? 1 : 1 / g,
               .reduces = 1});
    for (int level = 1; level < levels.count; ++level) out.add({.level = level, .steps = 2, .bytes = 1, .message = 1 / g, .reduces = 1});
  }

  /// After the inner phase, rank i of every domain (or the last rank of each chain) has the i-th part, which
  /// goes up and comes down.
  template <class Network>
  static void traffic(Network& net, Collective op, std::span<const int> ranks, double) {
    const auto domains = net.by_domain(ranks);
    const std::size_t N = domains.members.size();
    if (N < 2) net.refuse("CollNet needs more than one domain");
    net.require_even(domains, "CollNet");
    const double own = 1 / static_cast<double>(N);
    const double up = op == Collective::all_gather ? own : 1, down = op == Collective::reduce_scatter ? own : 1;
    const std::size_t channels = chain ? net.channels_of(domains) : domains.max;
    const double part = 1 / static_cast<double>(channels);
    std::vector<int> heads(N);
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t d = 0; d < N; ++d) {
        if (!chain) {
          heads[d] = domains.members[d][c];
          continue;
        }
        const std::vector<int> order = net.ending_with(domains.members[d], c, domains.max);
        heads[d] = order.back();
        for (std::size_t i = 1; i < order.size(); ++i) {
          net.send(order[i - 1], order[i], part);
          net.send(order[i], order[i - 1], part);
        }
      }
      net.aggregated(heads, up * part, down * part);
    }
    if (chain) return;
    const double halves = op == Collective::all_reduce ? 2 : 1;
    for (const auto& domain : domains.members) net.exchange(domain, halves * part);
  }
};

struct CollnetDirect : Collnet<false> {
  static constexpr std::string_view name = "collnet_direct", nccl_name = "CollNetDirect";
};
struct CollnetChain : Collnet<true> {
  static constexpr std::string_view name = "collnet_chain", nccl_name = "CollNetChain", alias = "sharp";
};

}  // namespace fabricost::core::algorithms
