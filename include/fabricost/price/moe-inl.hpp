#pragma once
/// Bodies of moe.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/moe.hpp>

namespace fabricost::core::detail {

FABRICOST_BODY void share_volume(MoeCost& c, double work, double inside, double across, double q, double w, double visible) {
  c.alone.work = work;
  c.alone.inside = inside;
  c.alone.across = across;
  c.alone.order = q;
  c.alone.wire_order = w;
  const double wire = norm(inside, across, w);
  const double all = norm(work, wire, q);
  c.work += all * share_in(work, all, q) * visible;
  const double of_wire = all * share_in(wire, all, q) * visible;
  c.inside += of_wire * share_in(inside, wire, w);
  c.across += of_wire * share_in(across, wire, w);
}

FABRICOST_BODY double inside_time(const MoeWork& w, double share) { return w.inside_bytes > 0 ? w.inside_bytes / (share * w.rate) : 0; }

FABRICOST_BODY double across_time(const MoeWork& w) { return w.across_bytes > 0 ? w.across_bytes / w.across_rate : 0; }

/// Factor by which a token's copies lengthen the first chunk's path.
FABRICOST_BODY double longer_start(double copies, const MoeForm& form) {
  return form.copies_power == 0.5 ? std::sqrt(copies) : std::pow(copies, form.copies_power);
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY double sms_of_experts(double experts, double all_sms) {
  return std::ceil(experts / std::max(1.0, std::ceil(experts / all_sms)));
}

FABRICOST_BODY MoeCost price_moe(const MoeWork& w, const ChannelKernelConstants& k, const MoeForm& form) {
  const double kib = w.bytes / 1024;
  const double tau = norm(k.token + k.token_kib * kib, w.skew * w.copies * (k.copy + k.copy_kib * kib), k.overlap);
  const double sms = w.sms > form.few_sms ? form.few_sms * std::pow(w.sms / form.few_sms, k.spread) : w.sms;
  const double x = w.tokens / (w.sms * k.fill_tokens);
  MoeCost c{.start = k.start + k.start_copy * kib * detail::longer_start(w.copies, form),
            .network = w.network_step,
            .growth = k.fill * tau * x / (1 + x)};
  detail::share_volume(c, w.tokens * tau / sms, detail::inside_time(w, k.share), detail::across_time(w), form.rate_overlap,
                       form.rate_overlap);
  return c;
}

FABRICOST_BODY MoeCost price_moe(const MoeWork& w, const MessageKernelConstants& k, const MoeForm& form) {
  const double kib = w.bytes / 1024;
  MoeCost c{.start = k.start + k.expert * w.experts + k.start_copy * kib * detail::longer_start(w.copies, form), .network = w.network_step};
  const double work = w.tokens * (k.token + k.token_kib * kib) / sms_of_experts(w.experts, w.all_sms);
  detail::share_volume(c, work, detail::inside_time(w, k.share), detail::across_time(w), k.overlap, form.rate_overlap);
  return c;
}

FABRICOST_BODY MoeCost price_moe(const MoeWork& w, const DomainKernelConstants& k, const MoeForm& form, double power) {
  const double longer = power > 0 ? std::pow(w.bytes / 1024, power) : 1, floor = longer * k.floor;
  MoeCost c{.start = k.start, .steps = longer * k.copy * w.copies + k.step * std::log2(std::max(1.0, w.ranks))};
  const double work = w.tokens * k.token, wire = detail::inside_time(w, k.share);
  const double q = form.floor_overlap, volume = norm(work, wire, k.overlap), all = norm(floor, volume, q);
  c.start += all * detail::share_in(floor, all, q);
  c.alone.floor = floor;
  c.alone.floor_order = q;
  const double visible = volume > 0 ? all * detail::share_in(volume, all, q) / volume : 0;
  detail::share_volume(c, work, wire, 0, k.overlap, form.rate_overlap, visible);
  return c;
}

FABRICOST_BODY MoeCost price_moe(const MoeWork& w, const PrepareConstants& k) {
  return {.start = k.start, .steps = k.step * std::log2(std::max(1.0, w.ranks)), .work = w.tokens * k.token};
}

}  // namespace fabricost::core
