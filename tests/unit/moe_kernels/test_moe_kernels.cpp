// Dispatch and combine kernels: bytes against published figures and simulated tokens, limits, monotonicity, and where they cannot run.
#include "support/message_of.hpp"
#include "support/random_cases.hpp"
#include "support/simulated_tokens.hpp"

#include <fabricost/experts/moe_kernels.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

using namespace fabricost::observe;
using fabricost::test::Tokens;

namespace {

const System& h100() {
  static const System system = load_system("dgx-h100");
  return system;
}
const System& nvl72() {
  static const System system = load_system("gb200-nvl72");
  return system;
}

MoeQuestion deepseek(MoeKernel kernel, MoePhase phase, double tokens, int ranks) {
  return {.phase = phase,
          .kernel = kernel,
          .gate = {256, 8},
          .routing = {.kind = RoutingKind::uniform},
          .hidden = 7168,
          .tokens = tokens,
          .ranks = ranks};
}

/// All but MORI's, with those of data/exchanges.
const std::vector<MoeKernel> all_kernels = [] {
  std::vector<MoeKernel> out;
  for (std::size_t i = 0; i < moe_kernel_names.size(); ++i)
    if (const auto kernel = static_cast<MoeKernel>(i); kernel != MoeKernel::mori) out.push_back(kernel);
  return out;
}();

}  // namespace

TEST_CASE("bytes are those DeepEP's tables imply") {
  // low latency: 128 tokens, top 8, hidden 7168: 7.57 MB out in fp8, 14.68 MB back in bf16
  CHECK(predict(h100(), deepseek(MoeKernel::deepep_low_latency, MoePhase::dispatch, 128, 8)).bytes == Approx(7.57e6).epsilon(0.001));
  CHECK(predict(h100(), deepseek(MoeKernel::deepep_low_latency, MoePhase::combine, 128, 8)).bytes == Approx(14.68e6).epsilon(0.001));
  // normal: 4096 tokens on 4 nodes touch 3.614 nodes: 109.4 and 212.2 MB counted, of which a quarter stays
  const MoePrediction out = predict(h100(), deepseek(MoeKernel::deepep_normal, MoePhase::dispatch, 4096, 32));
  const MoePrediction back = predict(h100(), deepseek(MoeKernel::deepep_normal, MoePhase::combine, 4096, 32));
  CHECK(out.across_bytes / 0.75 == Approx(109.4e6).epsilon(0.001));
  CHECK(back.across_bytes / 0.75 == Approx(212.2e6).epsilon(0.001));
  // on one node a copy for each distinct GPU: 160.3 MB
  CHECK(predict(h100(), deepseek(MoeKernel::deepep_normal, MoePhase::dispatch, 4096, 8)).bytes == Approx(160.3e6).epsilon(0.001));
}

TEST_CASE("copies of a token are those of tokens drawn one by one") {
  for (const auto& [experts, top_k, ranks] : {std::tuple{256, 8, 8}, {128, 4, 8}, {512, 22, 8}, {64, 6, 2}, {16, 1, 4}}) {
    MoeQuestion q = deepseek(MoeKernel::deepep_normal, MoePhase::dispatch, 1000, ranks);
    q.gate = {experts, top_k};
    Tokens tokens(q.gate, std::vector<double>(static_cast<std::size_t>(experts), 1), 7);
    CHECK(predict(h100(), q).copies == Approx(tokens.mean_touched(ranks, 40000)).epsilon(0.01));
    q.kernel = MoeKernel::deepep_low_latency;
    CHECK(predict(h100(), q).copies == top_k);
  }
}

TEST_CASE("balanced tokens of TensorRT-LLM go to as many ranks as they have experts") {
  for (const auto& [ranks, copies] : {std::pair{2, 2.0}, {4, 4.0}, {8, 8.0}, {16, 8.0}, {64, 8.0}}) {
    MoeQuestion q = deepseek(MoeKernel::trtllm_one_sided, MoePhase::combine, 1000, ranks);
    q.routing.kind = RoutingKind::balanced;
    const MoePrediction p = predict(nvl72(), q);
    CHECK(p.copies == copies);
    CHECK(p.inside_bytes == Approx(1000 * 14336 * copies * (ranks - 1) / ranks));
  }
}

TEST_CASE("TensorRT-LLM's latency grows with the ranks a token goes to, hardly with those of the group") {
  for (const MoeKernel kernel : {MoeKernel::trtllm_one_sided, MoeKernel::trtllm_two_sided}) {
    const auto at = [&](int ranks, int top_k) {
      MoeQuestion q = deepseek(kernel, MoePhase::combine, 1, ranks);
      q.routing.kind = RoutingKind::balanced;
      q.gate.top_k = top_k;
      return predict(nvl72(), q).seconds;
    };
    CHECK(at(64, 8) > at(32, 8));
    CHECK(at(64, 8) < 1.15 * at(16, 8));
    CHECK(at(8, 8) - at(4, 8) > at(16, 8) - at(8, 8));
    CHECK(at(64, 2) < at(64, 8));
  }
}

TEST_CASE("terms of expert exchange sum to its time", "[property]") {
  for (const MoeKernel kernel : all_kernels)
    for (const double tokens : {1.0, 100.0, 30000.0}) {
      const MoePrediction p = predict(nvl72(), deepseek(kernel, MoePhase::combine, tokens, 16));
      double sum = 0;
      for (const Term& t : p.terms) sum += t.time.value();
      CHECK(sum == Approx(p.seconds).epsilon(1e-9));
      CHECK(p.low < p.seconds);
      CHECK(p.high > p.seconds);
    }
}

TEST_CASE("more tokens, wider tokens, more experts per token are never quicker", "[property]") {
  support::Random random(support::seed);
  const auto asked = [](const MoeQuestion& q) {
    return q.kernel == MoeKernel::mori ? load_system("mi355x-8") : q.ranks > 8 && !fabricost::core::is_trtllm(q.kernel) ? h100() : nvl72();
  };
  for (int i = 0; i < 300; ++i) {
    const MoeKernel kernel = static_cast<MoeKernel>(random.below(6));
    MoeQuestion q = deepseek(kernel, static_cast<MoePhase>(1 + random.below(2)), random.scaled(1, 1e5),
                             kernel == MoeKernel::mori ? 8 : random.of(std::vector{2, 8, 16, 32}));
    q.gate = {random.of(std::vector{32, 128, 256}), 1 + random.below(8)};
    q.hidden = 128 * (1 + random.below(100));
    if (const int kind = random.below(4); kind == 0)
      q.routing.kind = RoutingKind::balanced;
    else if (kind > 1)
      q.routing = {.kind = RoutingKind::zipf, .exponent = random.uniform(0, 4)};
    const System system = asked(q);
    const double before = predict(system, q).seconds * (1 - 1e-9);
    INFO(i << ": " << name(kernel) << " " << name(q.phase) << " zipf " << q.routing.exponent << ", " << q.tokens << " tokens of "
           << q.hidden << ", " << q.gate.top_k << " of " << q.gate.experts << " on " << q.ranks);
    MoeQuestion more = q;
    more.tokens *= random.scaled(1, 4);
    CHECK(predict(system, more).seconds >= before);
    more = q;
    more.hidden += 128 * (1 + random.below(20));
    CHECK(predict(system, more).seconds >= before);
    more = q;
    more.gate.top_k += 1 + random.below(4);
    // another number of choices may have another of the random orders as the median one
    CHECK(predict(system, more).seconds >= before * (q.routing.skewed() ? 0.99 : 1));
  }
}

TEST_CASE("a rank receives a token once, however skewed the choices, where copies are made for ranks", "[property]") {
  for (const double exponent : {0.5, 1.2, 3.0, 10.0})
    for (const int top_k : {1, 4, 16}) {
      MoeQuestion q = deepseek(MoeKernel::trtllm_two_sided, MoePhase::combine, 4096, 8);
      q.gate.top_k = top_k;
      q.routing = {.kind = RoutingKind::zipf, .exponent = exponent};
      CHECK(predict(nvl72(), q).work.inside_bytes <= 4096 * 14336.0 * 7 * (1 + 1e-9));
    }
}

TEST_CASE("no kernel moves more than its link carries", "[property]") {
  const double rate = h100().tier(TierRole::scale_up)->bandwidth.value.value();
  for (const MoeKernel kernel : all_kernels)
    for (const int sms : {4, 24, 132}) {
      MoeQuestion q = deepseek(kernel, MoePhase::combine, 1e6, 8);
      if (kernel == MoeKernel::deepep_normal) q.sms = sms;
      CHECK(predict(h100(), q).bus_bandwidth() < rate);
    }
}

TEST_CASE("DeepEP's normal kernels gain from SMs until the link is full") {
  MoeQuestion q = deepseek(MoeKernel::deepep_normal, MoePhase::dispatch, 65536, 8);
  q.sms = 4;
  const double four = predict(h100(), q).seconds;
  q.sms = 8;
  const double eight = predict(h100(), q).seconds;
  CHECK(four / eight > 1.8);
  CHECK(four / eight <= 2);
  q.sms = 64;
  const double many = predict(h100(), q).seconds;
  q.sms = 128;
  CHECK(predict(h100(), q).seconds == Approx(many).epsilon(0.02));
}

TEST_CASE("few experts leave most of the GPU's SMs without work") {
  CHECK(sms_of_experts(8, 132) == 8);
  CHECK(sms_of_experts(128, 132) == 128);
  CHECK(sms_of_experts(160, 132) == 80);
  CHECK(sms_of_experts(512, 132) == 128);
  MoeQuestion q = deepseek(MoeKernel::deepep_low_latency, MoePhase::dispatch, 1024, 8);
  q.hidden = 4096;
  q.gate = {8, 2};
  const double few = predict(h100(), q).seconds;
  q.gate = {128, 8};
  CHECK(few > 1.5 * predict(h100(), q).seconds);  // a quarter of the messages, twice the time
}

TEST_CASE("leaving the domain costs more than staying in it") {
  System cut = nvl72();  // the same GPUs and links in domains of 8
  cut.domain = 8;
  for (Tier& tier : cut.tiers)
    if (tier.role == TierRole::scale_up) tier.endpoints = 8;
  for (const MoeKernel kernel : {MoeKernel::deepep_normal, MoeKernel::deepep_low_latency, MoeKernel::nccl})
    for (const int ranks : {16, 64}) {
      const MoePrediction across = predict(cut, deepseek(kernel, MoePhase::combine, 4096, ranks));
      const MoePrediction inside = predict(nvl72(), deepseek(kernel, MoePhase::combine, 4096, ranks));
      CHECK(across.seconds > 1.2 * inside.seconds);
      CHECK(across.across_bytes > 0);
      CHECK(inside.across_bytes == 0);
      CHECK(across.extrapolated.nodes);
    }
}

TEST_CASE("published low-latency times on H800 are met without a constant of their own") {
  // deepseek-ai/DeepEP, README: 128 tokens, hidden 7168, top 8, fp8 dispatch, CX7 InfiniBand: microseconds by expert ranks
  const System h800 = load_system("deepseek-v3-h800");
  for (const auto& [ranks, us] : {std::pair{8, 77.0}, {16, 118.0}, {32, 155.0}, {64, 173.0}, {128, 192.0}, {256, 194.0}}) {
    const MoePrediction p = predict(h800, deepseek(MoeKernel::deepep_low_latency, MoePhase::dispatch, 128, ranks));
    INFO(ranks << " ranks: " << 1e6 * p.seconds << " us");
    CHECK(std::fabs(1e6 * p.seconds / us - 1) < 0.25);
  }
}

TEST_CASE("published low-latency times on H800 lie in their intervals, whose links have another rate than those that were measured") {
  // deepseek-ai/DeepEP, README, as above; combine in bf16
  struct Published {
    int ranks;
    double dispatch, combine;
  };
  const System h800 = load_system("deepseek-v3-h800"), h20 = load_system("hgx-h20");
  const auto half = [](const MoePrediction& p) { return std::log(p.high / p.seconds); };
  for (const Published& row : {Published{8, 77, 114}, {16, 118, 195}, {32, 155, 273}, {128, 192, 369}})
    for (const auto& [phase, us] : {std::pair{MoePhase::dispatch, row.dispatch}, {MoePhase::combine, row.combine}}) {
      const MoeQuestion q = deepseek(MoeKernel::deepep_low_latency, phase, 128, row.ranks);
      const MoePrediction p = predict(h800, q);
      INFO(row.ranks << " ranks: " << 1e6 * p.low << " to " << 1e6 * p.high << " us, published " << us);
      CHECK((1e6 * p.low <= us && us <= 1e6 * p.high));
      if (row.ranks == 8) CHECK(half(p) > 2 * half(predict(h20, q)));  // its links are an H100's
    }
}

TEST_CASE("one-sided kernels on a rack take what FlashInfer's authors print, also in fp8") {
  // flashinfer-ai/flashinfer pull 3697: 32 GB200, microseconds
  struct Printed {
    MoePhase phase;
    Precision precision;
    double tokens, microseconds;
  };
  for (const Printed& p : {Printed{MoePhase::dispatch, Precision::fp4, 1, 21.2},
                           {MoePhase::dispatch, Precision::fp4, 256, 32.7},
                           {MoePhase::dispatch, Precision::fp4, 2048, 124.1},
                           {MoePhase::combine, Precision::bf16, 4, 27.9},
                           {MoePhase::combine, Precision::bf16, 16, 30.0},
                           {MoePhase::combine, Precision::fp8, 4, 21.0},
                           {MoePhase::combine, Precision::fp8, 16, 21.9}}) {
    MoeQuestion q = deepseek(MoeKernel::trtllm_one_sided, p.phase, p.tokens, 32);
    q.precision = p.precision;
    const double us = 1e6 * predict(nvl72(), q).seconds;
    INFO(p.tokens << " tokens, " << precision_names[static_cast<std::size_t>(p.precision)] << ": " << us << " us");
    CHECK(std::fabs(std::log(us / p.microseconds)) < 0.17);
  }
}

TEST_CASE("MORI sends a copy to each rank, on GPUs of AMD inside one mesh") {
  const System mi355x = load_system("mi355x-8");
  const MoePrediction p = predict(mi355x, deepseek(MoeKernel::mori, MoePhase::dispatch, 1000, 8));
  CHECK(p.precision == Precision::fp8);
  CHECK(p.copies == Approx(touched_sets({256, 8}, 8)));
  CHECK(predict(mi355x, deepseek(MoeKernel::mori, MoePhase::combine, 1000, 8)).precision == Precision::bf16);
  CHECK(support::message_of([&] { (void)predict(h100(), deepseek(MoeKernel::mori, MoePhase::dispatch, 10, 8)); }).find("GPUs of AMD;") !=
        std::string::npos);
}

TEST_CASE("kernels of data/exchanges have the form, the copies and the SMs of another, and say that they were measured hardly anywhere") {
  for (std::size_t i = 0; i < exchange_kernels.size(); ++i) {
    const ExchangeKernel& own = exchange_kernels[i];
    const auto kernel = static_cast<MoeKernel>(own_moe_kernels + i);
    CAPTURE(own.name);
    CHECK(parse_moe_kernel(own.name) == kernel);
    for (const MoePhase phase : {MoePhase::dispatch, MoePhase::combine})
      for (const double tokens : {1.0, 64.0, 4096.0}) {
        MoeQuestion q = deepseek(kernel, phase, tokens, 16);
        const MoePrediction p = predict(h100(), q);
        q.kernel = own.form;
        q.precision = p.precision;
        q.sms = own.sms;
        const MoePrediction form = predict(h100(), q);
        const auto& added = phase == MoePhase::dispatch ? own.dispatch : own.combine;
        CHECK(p.seconds == Approx(added.factor * form.seconds + added.start + added.token * std::min(tokens, own.chunk)));
        CHECK(p.bytes == form.bytes);
        CHECK(p.high / p.seconds > form.high / form.seconds);
        CHECK(p.basis >= Basis::sibling);
        CHECK(p.extrapolated.sizes == (tokens < own.tokens[0] || tokens > own.tokens[1]));
      }
    CHECK(support::message_of([&] { (void)predict(load_system("mi355x-8"), deepseek(kernel, MoePhase::dispatch, 10, 8)); })
              .find("GPUs of NVIDIA;") != std::string::npos);
  }
  CHECK(parse_moe_kernel("NCCL_EP") == parse_moe_kernel("nccl-ep-normal"));
  CHECK(parse_moe_kernel("nccl") == MoeKernel::nccl);
  CHECK(parse_moe_kernel("deepep") == MoeKernel::deepep_normal);
  CHECK(parse_moe_kernel("deepep-ll") == MoeKernel::deepep_low_latency);
}

TEST_CASE("skewed routing takes longer than uniform") {
  MoeQuestion q = deepseek(MoeKernel::deepep_normal, MoePhase::dispatch, 8192, 8);
  const double uniform = predict(h100(), q).seconds;
  q.routing = {.kind = RoutingKind::zipf, .exponent = 1};
  CHECK(predict(h100(), q).seconds > 1.1 * uniform);
}
