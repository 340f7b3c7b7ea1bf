#pragma once
/// The reference fit's constants of three generations (8-GPU servers, NCCL), and its forms written again as
/// plain functions. The model is compared with them, so they share no code with it. Microseconds, GB/s,
/// bytes.

#include <fabricost/hardware/constants.hpp>

#include <algorithm>
#include <cmath>

namespace fitted {

struct Generation {
  double one_way;  // GB/s
  int channels;
  double c0, h, bL, mc, mag, f, hs, q, B, x, mrs2, fN, lN, BN, switch_channels, ca, mS, BS, xS, qS, ck;
};
inline constexpr Generation ampere{300, 24,    8.10,  0.997, 4.8, 2.64,  0.559, 16.2, 7.17, 1.07,
                                   217, 0.333, 1.069, 0,     0,   0,  0, 11.15, 1.5,   217,  0.33, 1, 24.7};
inline constexpr Generation hopper{450, 24,    4.72,  0.820, 8.2, 0.49, 0.327, 7.97, 4.11, 1.02,
                                   389, 0.544, 0.989, 14, 26,  496, 16, 6.32, 5.1,   343,  0.25, 2.2, 25.7};
inline constexpr Generation blackwell{900, 32,    6.89,  1.378, 9.6, 0.96, 0.169, 7.77, 12.13, 1.95,
                                      702, 0.620, 0.966, 19, 35,  871, 32, 9.01, 3.9,   652,  0.97,  1.23, 23.7};
// shared by the generations
inline constexpr double m0 = 0.45, ce = 0.69, f1 = 14.7, y = 0.27, mar = 1.04, rl = 0.92, ha = 0.99, ma = 2.53, fS = 2.4, yS = 0.58,
                        i8 = 0.062, xN = 2.55, hN = 0.66745, rN = 0.19553, sN = 51.134 * 1024, la = 0.62, mrs = 0.07, i8L = 0.09;

inline fabricost::core::Constants constants_of(const Generation& g) {
  const double us = 1e-6;
  fabricost::core::Constants c;
  auto& up = c.scale_up;
  up.launch = g.c0 * us;
  up.ll = {g.h * us, g.bL / (g.one_way / g.channels), g.mc * us, m0 * us, g.mag * us, mrs * us, i8L * us, ce, 4096};
  up.ll128 = {f1 * us, 0.83, 1.4, 1.4};
  up.simple = {g.f * us, g.hs * us, g.q, g.B / g.one_way, g.x, y, g.mrs2, mar, rl};
  if (g.BN > 0) up.nvls = {g.fN * us, g.lN * 1024, xN, g.BN / g.one_way};
  up.all_to_all = {g.ca * us, ha * us, ma * us, la * 32 / g.channels, g.ck * us, fS * us, g.mS * us, g.BS / g.one_way, g.xS, yS, g.qS};
  up.int8_volume = i8;
  c.basis = fabricost::core::Basis::calibrated;
  return c;
}

inline double norm(double q, double a, double b) { return std::pow(std::pow(a, q) + std::pow(b, q), 1 / q); }

/// The collective on a ring: its steps, those that forward, those that reduce.
struct Ring {
  double k, ka, kr;
  double rho, mu_over_B;
};
enum class Op { all_reduce, all_gather, reduce_scatter };
inline Ring ring(Op op, int n, const Generation& g) {
  const double m = n - 1;
  switch (op) {
    case Op::all_reduce: return {2 * m, m, m, (1 + rl) / 2, mar};
    case Op::all_gather: return {m, m, 0, 1, 1};
    case Op::reduce_scatter: return {m, 0, m, rl, g.mrs2};
  }
  return {};
}

// microseconds for S bytes
inline double ring_ll(Op op, double S, int n, const Generation& g, bool int8) {
  const Ring r = ring(op, n, g);
  const double d = int8 && r.kr > 0 ? 1 : 0;
  const double V = S / n, c = std::clamp(S / (4096.0 * n), 1.0, double(g.channels)), w = V / c;
  const double F = std::min(1.0, w / 4096);
  const double W = ce * 4096 * std::max(0.0, std::ceil(w / 4096) - 1) + (1 - ce) * std::max(0.0, w - 4096);
  return g.c0 + g.h * r.k + F * F * (m0 + g.mag * r.ka + (mrs + i8L * d) * r.kr) + g.mc * (1 - 1 / c) + (r.k + 1) * W / (g.bL * 1e3);
}
inline double ring_ll128(Op op, double S, int n, const Generation& g, bool int8) {
  const Ring r = ring(op, n, g);
  const double d = int8 && r.kr > 0 ? 1 : 0;
  return g.c0 + g.h * r.k + norm(1.4, f1, (r.k + 1.4) * (S / n) * (1 + i8 * d) / (0.83 * g.B * 1e3));
}
inline double ring_simple(Op op, double S, int n, const Generation& g, bool int8) {
  const Ring r = ring(op, n, g);
  const double d = int8 && r.kr > 0 ? 1 : 0;
  const double V = S / n;
  const double volume = ((r.k + g.x) * V + y * std::min(V, g.channels * 1048576.0)) * (1 + i8 * d) / (r.mu_over_B * g.B * 1e3);
  return g.c0 + norm(g.q, r.rho * (g.f + g.hs * r.k), volume);
}
inline double nvls(double S, int n, const Generation& g) {
  const double KiB = 1024, ops = g.switch_channels * n;
  const double doubles[] = {ops * 64 * KiB, 8 * ops * 64 * KiB, 64 * ops * 128 * KiB};  // from here on the chunk is twice as large
  const auto moved = [&](double bytes) {
    const double chunk = bytes < doubles[0] ? 16 * KiB : bytes < doubles[1] ? 32 * KiB : bytes < doubles[2] ? 64 * KiB : 128 * KiB;
    return std::hypot(1.0, g.lN * KiB / chunk) * bytes + xN * ops * (chunk - 16 * KiB);
  };
  double least = moved(S);  // no size takes longer than one at which the chunk doubles
  for (const double at : doubles)
    if (S < at) least = std::min(least, moved(at));
  return g.c0 + g.fN + hN * n + rN * n * (1 - std::exp(-S / sN)) + least / (g.BN / 1.75 * 1e3);
}
/// Channels of a peer, as the 32 are dealt to n ranks of up to 8, then more while each has over 16 MiB.
inline int first_channels(int n) { return n <= 2 ? 16 : n <= 4 ? 8 : 4; }
inline int channels_of_peer(double V, int n) {
  int p = first_channels(n);
  while (p < 32 && V / p > 16.0 * 1048576) p *= 2;
  return p;
}
inline double exchange_ll(double S, int n, const Generation& g) {
  const double V = S / n;
  const int p = first_channels(n), most = (n * p + 31) / 32;
  return g.ca + ha * (std::log2(n) - 1) + norm(6, ma * std::min(1.0, V / 16384), most * V / p / (la * g.bL * 1e3));
}
inline double exchange_simple(double S, int n, const Generation& g) {
  const double V = S / n, channel = 524288 / g.ck, all = g.BS * 1e3;
  const auto moved = [&](double part) {
    const int p = channels_of_peer(part, n), most = (n * p + 31) / 32;
    return (n - 1) * part / std::min(all, channel * n * p / most) + g.xS * part * first_channels(n) / p / all;
  };
  double volume = moved(V);  // no size takes less long than a smaller one that fills its channels
  for (int p = first_channels(n); p < 32; p *= 2)
    if (V > p * 16.0 * 1048576) volume = std::max(volume, moved(p * 16.0 * 1048576));
  volume += yS * (n - 1) * std::min(V, 512 * 1024 * 32.0 / n) / all;
  return g.ca + ha * (std::log2(n) - 1) + norm(g.qS, fS + g.mS * std::min(1.0, V / 65536), volume);
}

}  // namespace fitted
