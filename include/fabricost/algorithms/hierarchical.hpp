#pragma once
/// Level by level, any number of them: reduce-scatter from the innermost level outwards, all-reduce at the
/// top among equal ranks of all groups (each on its own part, all at once), all-gather back inwards. Rings at
/// every level.
///
///   all_reduce   at level i with m groups: 2(m-1) steps, 2(m-1)/m S per endpoint and direction
///
/// Every part is reduced first where links are fastest; data crossing level i has been divided by all ranks
/// below, and all of them send at once, so an endpoint of any level sends (m-1)/m S per half.
///
///   all_to_all   one step per level, all its messages posted at once: inside, each rank sends the rank in the
///                receiver's place everything bound for that place in any group; then across to the same place
///                of every other group, (m-1)/m S per rank
///
/// The same bytes leave a group as with direct sends, in 1/g of the messages, each g times as large and on
/// its own rail (the 2DH of Tutel: Hwang et al., arXiv 2206.03382), after (m-1)/m S has passed inside.

#include <fabricost/algorithms/definition.hpp>

#include <vector>

namespace fabricost::core::algorithms {

struct Hierarchical : Defaults {
  static constexpr std::string_view name = "hierarchical";
  static constexpr bool reaches_neighbours = true;
  static constexpr SentPerRank sent_per_rank = SentPerRank::inside_and_out;

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return is_all_reduce_or_half(op) || op == Collective::all_to_all ? nullptr
                                                         : "hierarchical exists for all_reduce, all_gather, reduce_scatter and all_to_all";
  }
  [[nodiscard]] static const char* why_not(const Case& p) {
    if (p.collective != Collective::all_to_all) return not_for(p.collective);
    if (p.at.domains() <= 1 || p.at.local() <= 1) return "an all_to_all in two levels needs several domains of several ranks";
    if (p.at.neighbours_only) return "chips of a torus reach only their neighbours directly";
    return p.simple ? nullptr : "an all_to_all in two levels runs Simple only";
  }
  [[nodiscard]] static constexpr bool exchanges_at_once(Collective op, int level) { return op == Collective::all_to_all && level > 0; }

  static void add_phases(Schedule& out, const Connectivity& at) {
    const Levels& levels = at.levels;
    const Collective collective = out.collective;
    if (collective == Collective::all_to_all) {
      for (int level = 0; level < levels.count; ++level) {
        const double m = levels.size(level);
        if (m > 1) out.add({.level = level, .stage = level, .steps = 1, .bytes = levels.below(level) * (m - 1) / m, .message = 1 / m});
      }
      return;
    }
    const bool down = collective == Collective::all_reduce || collective == Collective::reduce_scatter;
    const bool up = collective == Collective::all_reduce || collective == Collective::all_gather;
    int stage = 0;
    const auto half = [&](int level, bool reducing) {
      const double m = levels.size(level);
      if (m <= 1) return;
      out.add({.level = level,
               .stage = stage++,
               .steps = m - 1,
               .bytes = (m - 1) / m,
               .message = 1 / (m * levels.below(level)),
               .forwards = reducing ? 0 : m - 1,
               .reduces = reducing ? m - 1 : 0});
    };
    if (down)
      for (int level = 0; level < levels.count; ++level) half(level, true);
    if (up)
      for (int level = levels.count - 1; level >= 0; --level) half(level, false);
  }

  /// Inside every domain, then among ranks in equal places of all domains.
  template <class Network>
  static void traffic(Network& net, Collective op, std::span<const int> ranks, double) {
    const auto domains = net.by_domain(ranks);
    net.require_even(domains, name);
    const std::size_t g = domains.max, N = domains.members.size();
    const auto among = [&](const std::vector<int>& members, double part, bool inside) {
      const auto m = static_cast<double>(members.size());
      if (op == Collective::all_to_all) return net.exchange(members, 1 / m);
      const double bytes = (op == Collective::all_reduce ? 2 : 1) * (m - 1) / m * part;
      inside ? net.inner_ring(members, bytes) : net.ring(members, bytes);
    };
    for (const auto& domain : domains.members) among(domain, 1, true);
    std::vector<int> across(N);
    for (std::size_t place = 0; place < g && N > 1; ++place) {
      for (std::size_t d = 0; d < N; ++d) across[d] = domains.members[d][place];
      among(across, 1 / static_cast<double>(g), false);
    }
  }
};

}  // namespace fabricost::core::algorithms
