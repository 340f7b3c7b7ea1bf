/// \file rules_curve.cpp
/// What the shape of bandwidth over size, and its distance from the prediction, say: a collapse is packets lost, a dip a wrong switch
/// point, one n-th of the adapters' rate the other adapters missing, a half one of two links, PCIe's rate a node without NVLink, the ring's
/// rate a switch that does not reduce. The rates are those of the described machine.

#include "diagnose/context.hpp"

#include <fabricost/error.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace fabricost::diagnosis {

namespace {

std::string at_size(const Shown& row) { return fmt::format("{} at {}", gigabytes(row.bus), size_text(Bytes::from_value(row.bytes))); }

/// Sizes where bandwidth matters more than latency.
std::vector<const Shown*> large_rows(const Context& c) {
  std::vector<const Shown*> out;
  for (const Shown& row : c.curve)
    if (row.bytes >= mebibyte && row.bus > 0) out.push_back(&row);
  return out;
}

/// From one size to the next bandwidth falls to a third or less and stays there.
std::optional<Clue> collapse(const Context& c) {
  const auto rows = large_rows(c);
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    double after = 0;
    for (std::size_t j = i + 1; j < rows.size(); ++j) after = std::max(after, rows[j]->bus);
    if (after > rows[i]->bus / 3) continue;
    const std::string shape = fmt::format("{} (line {}), then {} and never above {} again", at_size(*rows[i]), rows[i]->line,
                                          at_size(*rows[i + 1]), gigabytes(after));
    if (c.one_node())
      return Clue{{Cause::other, 0.5, shape, "is something else using the links at these sizes? Memory, clocks, another job"},
                  Weight::proof};
    return Clue{{Cause::roce_untuned, 0.75, shape + ": more in flight than the fabric buffers, so packets are dropped and sent again",
                 "PFC and ECN on every hop, drop counters; fewer nodes below one leaf as a test; congestion control, routing"},
                Weight::proof};
  }
  return std::nullopt;
}
std::optional<Clue> collapse_in_the_network(const Context& c) {
  auto clue = collapse(c);
  if (!clue || clue->finding.cause != Cause::roce_untuned) return std::nullopt;
  clue->finding.cause = Cause::oversubscription;
  clue->finding.confidence = 0.5;
  clue->finding.remedy = "compare nodes below one leaf with nodes across: the same at both is no matter of taper";
  return clue;
}

/// A fall of three eighths and more between neighbours that larger sizes make good again: the tuner changes algorithm or protocol too early
/// or too late.
std::optional<Clue> dip(const Context& c) {
  const auto rows = large_rows(c);
  for (std::size_t i = 0; i + 2 < rows.size(); ++i) {
    if (rows[i + 1]->bus > 0.625 * rows[i]->bus || rows[i + 1]->bytes > 4.1 * rows[i]->bytes) continue;
    double later = 0;
    for (std::size_t j = i + 2; j < rows.size(); ++j) later = std::max(later, rows[j]->bus);
    if (later < 1.1 * rows[i]->bus) continue;
    return Clue{{Cause::algorithm_choice, 0.65,
                 fmt::format("{} (line {}), {}, later {} again: a switch point between two algorithms or protocols", at_size(*rows[i]),
                             rows[i]->line, at_size(*rows[i + 1]), gigabytes(later)),
                 "time these sizes with NCCL_ALGO and NCCL_PROTO forced; a tuner plugin moves the switch (`fabricost tune`)"},
                Weight::hint};
  }
  return std::nullopt;
}

/// The compared size in words: measured against predicted.
std::string against(const Context& c) {
  const ComparedSize& at = *c.judged.at;
  return fmt::format("{} at {} where {} gives {} (at least {})", gigabytes(at.bus), size_text(at.operation.bytes), c.system->name,
                     gigabytes(at.bus * c.judged.ratio), gigabytes(at.bus * at.measured / at.high));
}

bool slow_between_nodes(const Context& c) { return c.judged.slow && c.system && c.judged.at->operation.nodes > 1; }
bool slow_inside(const Context& c) { return c.judged.slow && c.system && c.judged.at->operation.nodes <= 1; }
bool rdma_seen(const Context& c) {
  return std::any_of(c.info.net.begin(), c.info.net.end(), [](const auto& one) { return one.first != "Socket"; });
}
bool direct_seen(const Context& c) {
  return std::any_of(c.info.net.begin(), c.info.net.end(), [](const auto& one) { return one.second.direct > 0; });
}

std::optional<Clue> rate_of_tcp(const Context& c) {
  if (!slow_between_nodes(c) || c.judged.ratio < 2.2 || rdma_seen(c)) return std::nullopt;
  return Clue{{Cause::tcp_fallback, c.judged.ratio < 2.8 ? 0.45 : 0.6,
               fmt::format("{}: slower by {:.3g}, as sockets are", against(c), c.judged.ratio),
               "run with NCCL_DEBUG=INFO: \"Using network\" must name the fabric, not Socket"},
              Weight::hint};
}
std::optional<Clue> rate_without_gpu_direct(const Context& c) {
  if (!slow_between_nodes(c) || direct_seen(c) || c.judged.ratio < 1.4) return std::nullopt;
  return Clue{
      {Cause::gdr_off, 0.5, fmt::format("{}: slower by {:.3g}; staging in host memory costs a half and more", against(c), c.judged.ratio),
       "NCCL_DEBUG=INFO must say GDRDMA behind \"via NET/...\""},
      Weight::hint};
}
std::optional<Clue> rate_of_one_adapter(const Context& c) {
  if (!slow_between_nodes(c)) return std::nullopt;
  const Tier* nic = c.system->tier(TierRole::nic);
  if (nic == nullptr || nic->endpoints < 4) return std::nullopt;
  const double one = c.judged.at->bus * c.judged.ratio / nic->endpoints;
  for (const int used : {1, 2}) {
    if (used * 2 >= nic->endpoints) break;
    if (std::fabs(c.judged.at->bus / (used * one) - 1) < 0.25)
      return Clue{
          {Cause::rail_missing, 0.65,
           fmt::format("{}: {} of {} adapters would give {}", against(c), used, nic->endpoints, gigabytes(used * one)),
           "\"via NET/...\" lines must name every adapter; topology file and plugin of the platform; ibstat for ports that are down"},
          Weight::hint};
  }
  return std::nullopt;
}
std::optional<Clue> rate_of_half(const Context& c) {
  if (!slow_between_nodes(c) || c.judged.ratio < 1.75 || c.judged.ratio > 2.4) return std::nullopt;
  return Clue{{Cause::half_rate_link, 0.5, fmt::format("{}: half of it, a factor of {:.3g}", against(c), c.judged.ratio),
               "ibstat rate and width of every port; bonds (NCCL_IB_QPS_PER_CONNECTION); half of the adapters down look the same"},
              Weight::hint};
}
std::optional<Clue> rate_of_a_taper(const Context& c) {
  if (!slow_between_nodes(c) || c.judged.ratio >= 2.8) return std::nullopt;
  const Tier* nic = c.system->tier(TierRole::nic);
  const bool ethernet = nic != nullptr && nic->transport == Transport::roce;
  return Clue{
      {ethernet ? Cause::roce_untuned : Cause::oversubscription, 0.4, fmt::format("{}: a factor of {:.3g}", against(c), c.judged.ratio),
       "pairs of nodes below one leaf against pairs across; ECN and PFC; adaptive routing"},
      Weight::hint};
}
std::optional<Clue> channels_are_few(const Context& c) {
  if (!c.judged.slow || !c.system || c.judged.ratio >= 2.8) return std::nullopt;
  const bool said = c.info.channels > 0 && c.info.channels <= 8 && slow_inside(c);
  return Clue{{Cause::few_channels, said ? 0.6 : 0.3,
               against(c) + (said ? "; " + cited(c.info.channels_line) : std::string{": too few channels have this effect"}),
               "NCCL_MIN_CTAS=24 or 32; unset NCCL_MAX_NCHANNELS and NCCL_MAX_CTAS"},
              Weight::hint};
}

/// The ring's own prediction fits where in-switch reduction was to run. Looked at wherever the constants were measured, because the
/// interval widens beyond; what is named is one definite thing, so being outside the interval is enough on a machine that was named.
std::optional<Clue> rate_of_the_ring(const Context& c) {
  if (!c.judged.compared || !c.system || c.judged.at->operation.nodes > 1 || (c.guessed && !c.judged.slow)) return std::nullopt;
  int switched = 0, as_ring = 0;
  std::string example;
  for (const ComparedSize& one : c.sizes) {
    const bool named = one.operation.collective == Collective::all_reduce && one.predicted > 0 && one.operation.nodes <= 1;
    if (!named || one.operation.bytes.value() < 64 * mebibyte) continue;
    try {
      const Prediction chosen = predict(*c.system, one.operation);
      if (chosen.ran.algorithm != Algorithm::nvls || chosen.extrapolated.any()) continue;
      ++switched;
      const Prediction ring = predict(*c.system, one.operation, Choice{.algorithm = Algorithm::ring});
      if (one.measured < 1.02 * chosen.high || one.measured < ring.low / 1.1 || one.measured > ring.high * 1.15) continue;
      ++as_ring;
      example = fmt::format("{} at {} where reduction in the switch gives {} (at least {}) and a ring {}", gigabytes(one.bus),
                            size_text(one.operation.bytes), gigabytes(chosen.bus_bandwidth().value()),
                            gigabytes(one.bus * one.measured / chosen.high), gigabytes(ring.bus_bandwidth().value()));
    } catch (const RequestError&) {
      return std::nullopt;
    }
  }
  if (switched < 2 || 2 * as_ring < switched) return std::nullopt;
  return Clue{{Cause::nvls_off, 0.75, example,
               "NCCL_DEBUG=INFO must say that NVLS multicast is available; fabric manager, driver, NCCL_NVLS_ENABLE, NCCL_ALGO"},
              Weight::proof};
}
std::optional<Clue> rate_of_pcie(const Context& c) {
  if (!slow_inside(c)) return std::nullopt;
  const Tier* up = c.system->tier(TierRole::scale_up);
  const Tier* host = host_tier(*c.system);
  if (up == nullptr || host == nullptr || up->kind == TierKind::host) return std::nullopt;
  if (c.judged.at->bus > 1.1 * host->bandwidth.value.value()) return std::nullopt;
  return Clue{{Cause::nvlink_not_used, 0.6,
               fmt::format("{}: no more than one PCIe link carries ({}), so {} is not used", against(c),
                           gigabytes(host->bandwidth.value.value()), up->name.view()),
               "nvidia-smi nvlink -s; \"via P2P\" in NCCL's lines; NCCL_P2P_DISABLE, NCCL_P2P_LEVEL"},
              Weight::hint};
}
std::optional<Clue> rate_of_shared_memory(const Context& c) {
  if (!slow_inside(c) || c.info.peer > 0) return std::nullopt;
  const Tier* host = host_tier(*c.system);
  if (host == nullptr || c.judged.at->bus > 0.8 * host->bandwidth.value.value()) return std::nullopt;
  return Clue{{Cause::no_p2p_shm, 0.55, against(c) + ": less than one PCIe link; copies through host memory look like this",
               "nvidia-smi topo -p2p r; IOMMU and ACS off; container IPC; \"via SHM\" in NCCL's lines"},
              Weight::hint};
}
std::optional<Clue> narrow_pcie(const Context& c) {
  if (!slow_inside(c)) return std::nullopt;
  const Tier* up = c.system->tier(TierRole::scale_up);
  if (up == nullptr || up->kind != TierKind::host || c.judged.ratio < 1.5) return std::nullopt;
  return Clue{{Cause::pcie_downgraded, 0.45,
               fmt::format("{}: a factor of {:.3g}; a link trained to half its width or an earlier generation", against(c), c.judged.ratio),
               "lspci -vv under load: LnkSta against LnkCap of every GPU and bridge"},
              Weight::hint};
}

std::optional<Clue> only_small_sizes(const Context& c) {
  if (!c.judged.slow_small) return std::nullopt;
  const ComparedSize* small = nullptr;
  for (const ComparedSize& one : c.sizes)
    if (one.predicted > 0 && one.operation.bytes.value() <= 64 * kibibyte && small == nullptr) small = &one;
  if (small == nullptr) return std::nullopt;
  return Clue{
      {Cause::cpu_launch_bound, 0.6,
       fmt::format("{} takes {} where {} gives {}, and large sizes are fine: the host launches too late", size_text(small->operation.bytes),
                   time_text(Time::from_value(small->measured)), c.system->name, time_text(Time::from_value(small->predicted))),
       "CUDA graphs; cores for the ranks and NCCL's proxies (--bind-to numa); no other work on them"},
      Weight::hint};
}

/// Without a machine to compare with: inside a node NCCL's own latency is 10 to 30 us, through host memory included.
std::optional<Clue> late_launches(const Context& c) {
  if (c.judged.compared || !c.one_node() || c.info.net.contains("Socket")) return std::nullopt;
  std::vector<double> times;
  for (const Shown& row : c.curve)
    if (row.bytes <= 4 * kibibyte) times.push_back(row.seconds);
  if (times.size() < 3) return std::nullopt;
  std::sort(times.begin(), times.end());
  const double usual = times[times.size() / 2];
  if (usual < 60 * microsecond) return std::nullopt;
  return Clue{
      {Cause::cpu_launch_bound, 0.5,
       fmt::format("{} for a few bytes inside a node, where 10 to 30 us are usual: the host is late", time_text(Time::from_value(usual))),
       "CUDA graphs; cores for the ranks and NCCL's proxies (--bind-to numa); no synchronising after every call"},
      Weight::hint};
}

/// NVLink needs many channels to be filled; two or four are what NCCL makes for PCIe.
std::optional<Clue> few_channels_on_nvlink(const Context& c) {
  bool nvlink = c.multicasts().value_or(false);
  for (const io::MatrixRow& row : c.info.matrix)
    for (const std::string& cell : row.cells) nvlink = nvlink || (cell.starts_with("NV") && row.cells.size() > 2);
  if (!nvlink || c.info.channels == 0 || c.info.channels > 4 || !c.one_node() || c.info.peer == 0) return std::nullopt;
  return Clue{{Cause::few_channels, 0.55, cited(c.info.channels_line) + ": few for GPUs with NVLink, where 16 to 32 are usual",
               "unset NCCL_MAX_NCHANNELS and NCCL_MAX_CTAS; NCCL_MIN_CTAS=16 as a test; look at the topology NCCL sees"},
              Weight::hint};
}

/// Without any machine to compare with: eight GPUs that never exceed half a PCIe 3 x16 link (7.9 GB/s), flat from 1 MiB on.
std::optional<Clue> flat_and_low(const Context& c) {
  constexpr double half_pcie3 = 7.9e9;
  const auto rows = large_rows(c);
  if (c.judged.compared || rows.size() < 3 || c.largest() < 64 * mebibyte || c.best_bus() > half_pcie3 || !c.info.net.empty())
    return std::nullopt;
  if (rows.front()->bus < 0.7 * c.best_bus() || c.nodes() > 1 || c.info.has(io::Sign::verbs_missing)) return std::nullopt;
  return Clue{{Cause::no_p2p_shm, 0.35,
               fmt::format("flat from {} to {}: less than half a PCIe 3 x16 link, as copies through host memory are",
                           at_size(*rows.front()), at_size(*rows.back())),
               "NCCL_DEBUG=INFO: \"via P2P\" or \"via SHM\"? Give --system for a comparison"},
              Weight::hint};
}
std::optional<Clue> starved_threads(const Context& c) {
  auto clue = flat_and_low(c);
  if (!clue) return std::nullopt;
  clue->finding.cause = Cause::other;
  clue->finding.confidence = 0.3;
  clue->finding.evidence += "; processes bound to single cores starve NCCL's copying threads in the same way";
  clue->finding.remedy = "mpirun --bind-to numa (or none), and one process for all GPUs as a test";
  return clue;
}

std::optional<Clue> message_too_small(const Context& c) {
  if (!(c.expected.rate > 0) || c.curve.empty() || c.largest() > 4 * mebibyte) return std::nullopt;
  const double shown = c.best_bus();
  if (shown >= 0.95 * c.expected.rate || c.judged.slow) return std::nullopt;
  return Clue{{Cause::small_message, 0.7,
               fmt::format("the largest size is {}: {} is a matter of latency there, not of bandwidth",
                           size_text(Bytes::from_value(c.largest())), gigabytes(shown)),
               "measure up to several GiB (-e 8G) before comparing with a bandwidth; batch small messages"},
              Weight::hint};
}

constexpr std::array all_curve_rules{Rule{collapse},
                                     Rule{collapse_in_the_network},
                                     Rule{dip},
                                     Rule{rate_of_tcp},
                                     Rule{rate_without_gpu_direct},
                                     Rule{rate_of_one_adapter},
                                     Rule{rate_of_half},
                                     Rule{rate_of_a_taper},
                                     Rule{channels_are_few},
                                     Rule{rate_of_the_ring},
                                     Rule{rate_of_pcie},
                                     Rule{rate_of_shared_memory},
                                     Rule{narrow_pcie},
                                     Rule{only_small_sizes},
                                     Rule{flat_and_low},
                                     Rule{starved_threads},
                                     Rule{message_too_small},
                                     Rule{late_launches},
                                     Rule{few_channels_on_nvlink}};

}  // namespace

std::span<const Rule> curve_rules() { return all_curve_rules; }

}  // namespace fabricost::diagnosis
