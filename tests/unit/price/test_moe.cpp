// Kernels that carry tokens to experts: their forms written out again (docs of price/moe.hpp), over work of every kind.
#include <fabricost/price/moe.hpp>

#include "catch.hpp"
#include "support/fitted.hpp"

using namespace fabricost::core;

namespace {

std::vector<MoeWork> works() {
  std::vector<MoeWork> out;
  for (const double tokens : {0.0, 1.0, 128.0, 4096.0})
    for (const double copies : {1.0, 6.5})
      for (const double sms : {3.0, 4.0, 24.0})
        for (const double across : {0.0, 0.5}) {
          MoeWork w{
              .tokens = tokens, .copies = copies, .bytes = 7168, .ranks = 16, .experts = 256, .sms = sms, .all_sms = 132, .rate = 300e9};
          w.inside_bytes = tokens * copies * 7168 * (1 - across);
          w.across_bytes = tokens * copies * 7168 * across;
          w.across_rate = 40e9;
          w.network_step = across > 0 ? 7e-6 : 0;
          out.push_back(w);
        }
  return out;
}
double inside(const MoeWork& w, double share) { return w.inside_bytes / (share * w.rate); }
double across(const MoeWork& w) { return w.across_bytes / w.across_rate; }

}  // namespace

TEST_CASE("kernels of channels: an SM's time for a token and its copies, filled by the first chunks, beside the wires", "[price]") {
  const ChannelKernelConstants k = fabricost::core::moe_prior.normal_dispatch;
  for (const MoeWork& w : works()) {
    INFO(w.tokens << " tokens, " << w.copies << " copies, " << w.sms << " SMs");
    const double kib = 7;
    const double tau = fitted::norm(k.overlap, k.token + k.token_kib * kib, w.copies * (k.copy + k.copy_kib * kib));
    const double sms = w.sms <= 4 ? w.sms : 4 * std::pow(w.sms / 4, k.spread);
    const double x = w.tokens / (w.sms * k.fill_tokens);
    const double volume = fitted::norm(12, w.tokens * tau / sms, fitted::norm(12, inside(w, k.share), across(w)));
    const MoeCost c = price_moe(w, k, fabricost::core::moe_prior.form);
    CHECK(c.seconds() == Approx(k.start + k.start_copy * kib * std::sqrt(w.copies) + w.network_step + k.fill * tau * x / (1 + x) + volume));
    CHECK(c.start == Approx(k.start + k.start_copy * kib * std::sqrt(w.copies)));
    CHECK(c.network == w.network_step);
    CHECK(c.growth == Approx(k.fill * tau * x / (1 + x)));
    CHECK(c.work + c.inside + c.across == Approx(volume));
  }
}

TEST_CASE("kernels of messages: experts occupy SMs, work and wires hide part of each other", "[price]") {
  const MessageKernelConstants k = fabricost::core::moe_prior.low_latency_dispatch;
  for (const MoeWork& w : works()) {
    const double kib = 7;
    const double sms = 128;  // 256 experts on 132 SMs: two each
    const double volume =
        fitted::norm(k.overlap, w.tokens * (k.token + k.token_kib * kib) / sms, fitted::norm(12, inside(w, k.share), across(w)));
    const MoeCost c = price_moe(w, k, fabricost::core::moe_prior.form);
    INFO(w.tokens << " tokens, " << w.copies << " copies");
    CHECK(c.seconds() == Approx(k.start + k.expert * 256 + k.start_copy * kib * std::sqrt(w.copies) + w.network_step + volume));
    CHECK(c.network == w.network_step);
    CHECK(c.work + c.inside + c.across == Approx(volume));
  }
  CHECK(sms_of_experts(132, 132) == 132);
  CHECK(sms_of_experts(133, 132) == 67);
  CHECK(sms_of_experts(8, 132) == 8);
  CHECK(sms_of_experts(0, 132) == 0);
}

TEST_CASE("kernels inside a domain: copies one after the other, a step for each doubling, a floor the volume can hide", "[price]") {
  const DomainKernelConstants k = fabricost::core::moe_prior.one_sided_dispatch;
  for (const MoeWork& w : works()) {
    const double volume = fitted::norm(k.overlap, w.tokens * k.token, inside(w, k.share));
    const MoeCost c = price_moe(w, k, fabricost::core::moe_prior.form);
    INFO(w.tokens << " tokens, " << w.copies << " copies");
    CHECK(c.steps == Approx(k.copy * w.copies + k.step * 4));
    CHECK(c.seconds() == Approx(k.start + k.copy * w.copies + k.step * 4 + fitted::norm(2, k.floor, volume)));
  }
}

TEST_CASE("preparing costs a step for each doubling of ranks and each token", "[price]") {
  const PrepareConstants k = fabricost::core::moe_prior.prepare;
  const MoeCost c = price_moe(MoeWork{.tokens = 1000, .ranks = 32}, k);
  CHECK(c.seconds() == Approx(k.start + 5 * k.step + 1000 * k.token));
  CHECK(price_moe(MoeWork{.tokens = 10, .ranks = 1}, k).seconds() == Approx(k.start + 10 * k.token));
}

TEST_CASE("a part of a norm is its share by Euler's rule: parts sum to the whole, the larger counts for more", "[price]") {
  MoeCost c;
  fabricost::core::detail::share_volume(c, 3, 4, 0, 2, 12);
  CHECK(c.work == Approx(9.0 / 5));
  CHECK(c.inside == Approx(16.0 / 5));
  CHECK(c.across == 0);
  MoeCost half;
  fabricost::core::detail::share_volume(half, 3, 0, 4, 2, 12, 0.5);
  CHECK(half.work == Approx(9.0 / 10));
  CHECK(half.across == Approx(16.0 / 10));
  CHECK(half.inside == 0);
  MoeCost none;
  fabricost::core::detail::share_volume(none, 0, 0, 0, 2, 12);
  CHECK(none.seconds() == 0);
}

TEST_CASE("a token's copies lengthen the first chunk's path by their power", "[price]") {
  const ChannelKernelConstants k = fabricost::core::moe_prior.normal_dispatch;
  MoeForm form = fabricost::core::moe_prior.form;
  for (const double power : {0.0, 0.5, 1.0, 2.0}) {
    form.copies_power = power;
    for (const MoeWork& w : works()) CHECK(price_moe(w, k, form).start == Approx(k.start + k.start_copy * 7 * std::pow(w.copies, power)));
  }
}
