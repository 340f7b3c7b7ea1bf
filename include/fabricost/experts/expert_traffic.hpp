#pragma once
/// Bytes per rank of tokens sent to experts and back. Independent of any machine.
///
/// T tokens per rank of b bytes each, k of E experts per token, e ranks on N domains of g; per token
///
///   one copy for each   sent               inside           across
///   expert              k                  k (g-1)/e        k (1 - g/e)       NCCL; low-latency kernels
///   rank                Dr                 Dr (g-1)/e       Dr (1 - g/e)
///   domain              Dn, forwarded Dr   Dr (1 - 1/g)     Dn (1 - 1/N)      DeepEP's normal kernels
///
/// Dr, Dn: expected ranks and domains touched (routing.hpp). DeepEP also counts copies that stay local: T Dn
/// b and T Dr b are its printed volumes.

#include <fabricost/experts/routing.hpp>
#include <fabricost/hardware/kinds.hpp>

namespace fabricost::core {

/// The number of copies sent of a token: one per expert, per rank or per domain that it chooses.
enum class Copies : unsigned char { per_expert, per_rank, per_domain };
inline constexpr std::array<std::string_view, 3> copies_names{"per_expert", "per_rank", "per_domain"};
[[nodiscard]] constexpr std::string_view name(Copies c) { return copies_names[static_cast<std::size_t>(c)]; }

/// Bytes of one token of `hidden` numbers on the wire, including block scales: 2 h in 16 bit; fp8 h + 4 h/128
/// (one float per 128 numbers, DeepSeek-V3, arXiv 2412.19437, section 3.3); fp4 h/2 + h/16 (NVFP4: one byte
/// per 16 numbers).
[[nodiscard]] inline double token_bytes(int hidden, Precision p) {
  const double h = hidden;
  switch (p) {
    case Precision::fp8: return h + 4 * h / 128;
    case Precision::fp4: return bytes_in_4_bit * h;
    default: return 2 * h;
  }
}

/// Placement of one expert-parallel group: `ranks` of them, `per_domain` in each scale-up domain.
struct ExpertPlacement {
  int ranks = 1;
  int per_domain = 1;
  [[nodiscard]] int domains() const { return ranks / per_domain; }
};

/// Places as many ranks of the group per domain as fit, on every `stride`-th GPU (an expert's tensor ranks in
/// between).
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
  double counted_inside = 0;  ///< as kernels report: including copies that stay on the rank
  double counted_across = 0;  ///< including copies that stay in the domain
};

/// Expected bytes for `tokens` tokens of `bytes_each` under balanced or uniform choices (skewed ones move the
/// same on average). \throws RequestError when the ranks, or the domains if copies are made per domain, do
/// not divide the experts
[[nodiscard]] inline ExpertTraffic expert_traffic(const Gate& gate, const ExpertPlacement& at, Copies copies, double tokens, double bytes_each) {
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

}  // namespace fabricost::core
