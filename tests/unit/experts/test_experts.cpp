// Bytes and seconds of an expert exchange: DeepEP's printed volumes, tokens counted one by one, the library's own all_to_all, limits.
#include "support/simulated_tokens.hpp"

#include <fabricost/experts/expert_exchange.hpp>
#include <fabricost/plan/network/concurrent.hpp>
#include <fabricost/plan/network/topology_of.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/training/tensor_parallel.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include "support/systems.hpp"

#include "catch.hpp"

using namespace fabricost::core;
using namespace fabricost::plan;

namespace {

const Gate deepseek{256, 8};
const Gate deepseek_limited{256, 8, 8, 4};

/// Sends of 256 tokens of each rank counted one by one: {inside, across} copies per token.
std::pair<double, double> counted(const Gate& gate, const ExpertPlacement& at, Copies copies, int tokens) {
  fabricost::test::Tokens source{gate, std::vector<double>(static_cast<std::size_t>(gate.experts), 1.0), 41};
  const int each = gate.experts / at.ranks;
  int inside = 0, across = 0;
  for (int from = 0; from < at.ranks; ++from)
    for (int t = 0; t < tokens; ++t) {
      std::vector<int> ranks;
      for (const int i : source.choose()) ranks.push_back(i / each);
      if (copies != Copies::per_expert) {
        std::sort(ranks.begin(), ranks.end());
        ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
      }
      const int home = from / at.per_domain;
      if (copies != Copies::per_domain) {
        for (const int r : ranks) (r / at.per_domain != home ? across : inside) += r != from;
        continue;
      }
      std::set<int> domains;
      for (const int r : ranks) domains.insert(r / at.per_domain);
      for (const int d : domains) across += d != home;
      for (const int r : ranks) inside += r % at.per_domain != from % at.per_domain;  // from the rank of the same place there
    }
  const double n = static_cast<double>(at.ranks) * tokens;
  return {inside / n, across / n};
}

ExpertExchange exchange(Gate gate, ExpertPlacement at, Copies copies, Routing routing = {}) {
  return {.gate = gate, .routing = std::move(routing), .placement = at, .copies = copies, .bytes_per_token = 7392};
}

}  // namespace

TEST_CASE("DeepEP's printed volumes follow from its test's shape") {
  // 4096 tokens of 7168, 8 of 256 experts, at most 4 nodes of 8 GPUs; dispatch fp8, combine bf16 (MB as its README's bandwidth x time)
  const double dispatch = token_bytes(7168, Precision::fp8), combine = token_bytes(7168, Precision::bf16);
  CHECK(dispatch == 7392);
  CHECK(combine == 14336);
  struct Row {
    int ranks;
    Gate gate;
    double dispatch, combine;
  };
  for (const Row& r : {Row{16, {256, 8}, 60.3, 117.0}, {32, {256, 8}, 109.4, 212.2}, {64, {256, 8, 8, 4}, 109.9, 213.1}}) {
    INFO(r.ranks << " ranks");
    const ExpertPlacement at{r.ranks, 8};
    CHECK(expert_traffic(r.gate, at, Copies::per_domain, 4096, dispatch).counted_across / 1e6 == Approx(r.dispatch).margin(0.0501));
    CHECK(expert_traffic(r.gate, at, Copies::per_domain, 4096, combine).counted_across / 1e6 == Approx(r.combine).margin(0.0501));
  }
  const ExpertPlacement node{8, 8};
  CHECK(expert_traffic({256, 8}, node, Copies::per_domain, 4096, dispatch).counted_inside / 1e6 == Approx(160.3).margin(0.0501));
  CHECK(expert_traffic({256, 8}, node, Copies::per_domain, 4096, combine).counted_inside / 1e6 == Approx(310.9).margin(0.0501));
  // low latency: 128 tokens, every choice sent
  CHECK(expert_traffic({256, 8}, {16, 8}, Copies::per_expert, 128, dispatch).counted_across / 1e6 == Approx(7.57).margin(0.005));
  CHECK(expert_traffic({256, 8}, {16, 8}, Copies::per_expert, 128, combine).counted_across / 1e6 == Approx(14.68).margin(0.005));
  CHECK(token_bytes(7168, Precision::fp4) == 7168 * 0.5625);
}

TEST_CASE("traffic is what tokens counted one by one send") {
  for (const Gate& gate : {deepseek, deepseek_limited, Gate{64, 6}})
    for (const ExpertPlacement& at : {ExpertPlacement{8, 8}, {16, 4}, {8, 1}, {64, 8}})
      for (const Copies copies : {Copies::per_expert, Copies::per_rank, Copies::per_domain}) {
        INFO(gate.experts << " experts, limit " << gate.group_limit << ", " << at.ranks << " ranks by " << at.per_domain << ", "
                          << name(copies));
        const auto [inside, across] = counted(gate, at, copies, 8192 / at.ranks);
        const ExpertTraffic t = expert_traffic(gate, at, copies, 1, 1);
        CHECK(t.inside == Approx(inside).epsilon(0.03).margin(0.01));
        CHECK(t.across == Approx(across).epsilon(0.03).margin(0.01));
      }
}

TEST_CASE("merging copies never sends more across, and never more in all than choices") {
  for (const ExpertPlacement& at : {ExpertPlacement{16, 8}, {64, 8}, {144, 72}, {256, 8}}) {
    const Gate gate{at.ranks % 144 == 0 ? 288 : 256, 8};
    const ExpertTraffic all = expert_traffic(gate, at, Copies::per_expert, 1, 1), rank = expert_traffic(gate, at, Copies::per_rank, 1, 1),
                        domain = expert_traffic(gate, at, Copies::per_domain, 1, 1);
    CHECK(rank.across <= all.across);
    CHECK(domain.across <= rank.across);
    CHECK(rank.inside <= all.inside);
  }
}

TEST_CASE("a copy for each expert is the library's all_to_all") {
  const System box = systems::hopper_box();
  for (const int ranks : {8, 32}) {
    const ExpertCurve curve{box, exchange(deepseek, place_experts(ranks, 8), Copies::per_expert)};
    for (const double tokens : {1.0, 128.0, 4096.0})
      CHECK(curve.seconds(tokens) ==
            Approx(predict(box, AllToAll{.bytes = Bytes::from_value(tokens * 8 * 7392), .ranks = ranks}).seconds).epsilon(1e-12));
  }
  // any number of ranks of a rack, also one that no whole trays make
  const ExpertCurve rack{systems::rack(), exchange({288, 8}, {36, 18}, Copies::per_expert)};
  CHECK(rack.seconds(1024) > 0);
  CHECK(rack(1024, 0.5) == Time::from_value(rack.seconds(1024, 0.5)));
}

TEST_CASE("forwarding hides behind the network when streamed, and adds otherwise") {
  const System box = systems::hopper_box();
  ExpertExchange x = exchange(deepseek, {32, 8}, Copies::per_domain);
  const ExpertTime streamed = expert_exchange(box, x, 4096);
  x.streamed = false;
  const ExpertTime apart = expert_exchange(box, x, 4096);
  CHECK(apart.seconds == Approx(apart.inside + apart.across).epsilon(1e-12));
  CHECK(streamed.seconds == Approx(std::max(streamed.inside, streamed.across) + streamed.fill).epsilon(1e-12));
  CHECK(streamed.fill < 0.05 * streamed.seconds);
  CHECK(streamed.seconds < apart.seconds);
  // the bytes of the terms are those of the traffic
  const ExpertTraffic t = expert_traffic(deepseek, {32, 8}, Copies::per_domain, 4096, 7392);
  CHECK(streamed.across_bytes == Approx(t.across));
  CHECK(streamed.inside_bytes == Approx(t.inside));
  CHECK(streamed.across_bytes / streamed.across < 50e9);  // one NIC of 50 GB/s a GPU
  CHECK(streamed.inside_bytes / streamed.inside < 450e9);
  // copies once per domain beat one for every expert as soon as bytes count
  x.copies = Copies::per_expert;
  CHECK(expert_exchange(box, x, 4096).seconds > streamed.seconds);
}

TEST_CASE("leaving the domain costs about what the rates say") {
  const System box = systems::hopper_box();
  const auto of = [](const System& s, ExpertPlacement at, Copies copies, double tokens) {
    return expert_exchange(s, exchange(deepseek, at, copies), tokens);
  };
  const auto inside = of(box, {8, 8}, Copies::per_expert, 65536), across = of(box, {32, 8}, Copies::per_expert, 65536);
  // large messages: 7/8 of the bytes at NVLink, or 24/32 at the NIC, each at what the library reaches
  CHECK(inside.seconds == Approx(inside.inside).epsilon(0.05));
  CHECK(across.seconds == Approx(across.across).epsilon(0.05));
  CHECK(across.seconds > 4 * inside.seconds);
  CHECK(across.seconds < 450.0 / 50 * 1.5 * inside.seconds);
  const auto merged = of(box, {32, 8}, Copies::per_domain, 65536);
  CHECK(merged.seconds < across.seconds);
  CHECK(merged.seconds > inside.seconds);
  // a rack holds what eight-GPU domains do not
  const auto in_rack = of(systems::rack(), place_experts(64, 72), Copies::per_rank, 4096);
  CHECK(in_rack.across == 0);
  CHECK(in_rack.seconds < of(systems::blackwell_box(), place_experts(64, 8), Copies::per_domain, 4096).seconds);
}

TEST_CASE("one curve serves tokens of another width") {
  const System box = systems::hopper_box();
  ExpertExchange x = exchange(deepseek, {32, 8}, Copies::per_domain, {RoutingKind::uniform});
  const ExpertCurve narrow{box, x};
  x.bytes_per_token = 14336;
  const ExpertCurve wide{box, x};
  for (const double tokens : {1.0, 100.0, 4096.0}) CHECK(narrow.seconds(tokens, 14336.0 / 7392) == Approx(wide.seconds(tokens)).epsilon(1e-12));
}

TEST_CASE("every shipped machine with a domain prices an exchange inside it, and across where it has NICs") {
  int inside = 0, across = 0;
  for (const SystemName& n : system_names()) {
    const System s = load_system(n.name);
    if (s.tier(TierRole::scale_up) == nullptr || s.domain < 2 || s.tier(TierRole::scale_up)->kind == TierKind::torus) continue;
    INFO(s.name);
    const int half = 1 << static_cast<int>(std::log2(s.domain));
    const int ranks = std::min(64, half);
    for (const Copies copies : {Copies::per_expert, Copies::per_rank, Copies::per_domain}) {
      const ExpertCurve near{s, exchange(deepseek, {ranks, ranks}, copies)};
      double last = 0;
      for (const double tokens : {0.0, 1.0, 333.0, 1e5}) {
        CHECK(std::isfinite(near.seconds(tokens)));
        CHECK(near.seconds(tokens) >= last);
        last = near.seconds(tokens);
      }
      ++inside;
      if (s.tier(TierRole::nic) == nullptr) continue;
      const ExpertCurve far{s, exchange(deepseek, {2 * ranks, ranks}, copies, {RoutingKind::uniform})};
      CHECK(std::isfinite(far.seconds(1e5)));
      CHECK(far.seconds(1e5) > 0);
      // no faster than the bytes at the rate of the NICs a domain has, all its GPUs in use
      const Tier& nic = *s.tier(TierRole::nic);
      const double rate =
          nic.aggregate().value() * s.nodes_per_domain() / nic.shared_by / std::max(1, copies == Copies::per_domain ? s.domain : ranks);
      CHECK(far.seconds(1e5) >= 0.999 * far.terms(1e5).across_bytes / rate);
      ++across;
    }
  }
  CHECK(inside > 60);
  CHECK(across > 60);
}

TEST_CASE("an exchange takes longer with more tokens, more skew, and less of the NICs") {
  const System box = systems::hopper_box();
  for (const Copies copies : {Copies::per_expert, Copies::per_rank, Copies::per_domain}) {
    const ExpertCurve even{box, exchange(deepseek, {32, 8}, copies)},
        uniform{box, exchange(deepseek, {32, 8}, copies, {RoutingKind::uniform})},
        skewed{box, exchange(deepseek, {32, 8}, copies, {RoutingKind::zipf, 1.2})};
    ExpertExchange beside = exchange(deepseek, {32, 8}, copies);
    beside.nic_share = 0.5;
    const ExpertCurve shared{box, beside};
    double last = 0;
    for (const double tokens : {1.0, 64.0, 512.0, 4096.0, 32768.0}) {
      CHECK(even.seconds(tokens) >= last);
      CHECK(uniform.seconds(tokens) >= even.seconds(tokens));
      CHECK(skewed.seconds(tokens) >= even.seconds(tokens));
      CHECK(shared.seconds(tokens) >= even.seconds(tokens));
      last = even.seconds(tokens);
    }
    CHECK(skewed.seconds(4096) > 1.2 * even.seconds(4096));
    CHECK(uniform.seconds(32768) < 1.1 * even.seconds(32768));
    CHECK(shared.seconds(32768) > 1.5 * even.seconds(32768));
  }
  CHECK(ExpertCurve{box, exchange(deepseek, {1, 1}, Copies::per_expert)}.seconds(4096) == 0);
}

// The effect of an all-reduce beside an all_to_all, as published.

TEST_CASE("an all_to_all beside an all-reduce is slowed down between what fair sends and fair collectives say, as Lina measured") {
  // USENIX ATC 2023: 16 A100s behind 100 Gbit/s InfiniBand; worst slow-down 4.14
  constexpr double published_median = 1.83;
  const System s = systems::machine(
      "lina", Generation::ampere, 4, 4,
      {systems::scale_up(TierKind::switched, 4, 12, 25, 20), systems::nics(1, 12.5, systems::infiniband), systems::network("leaf", 64)});
  const Topology t = topology_of(s, 4);
  std::vector<int> all(16);
  std::iota(all.begin(), all.end(), 0);
  std::vector<ConcurrentCollective> both{
      {.name = "experts", .collective = Collective::all_to_all, .algorithm = Algorithm::direct, .ranks = all},
      {.name = "gradients", .collective = Collective::all_reduce, .ranks = all}};
  const double by_sends = contention(t, both).outcomes[0].slow_down();
  both[1].weight = 3.2;  // 12 of 15 sends of 4 ranks leave the node: as many bytes through the NIC for each collective
  const double by_collectives = contention(t, both).outcomes[0].slow_down();
  WARN("all_to_all beside all-reduce: slowed down " << by_sends << " with equal sends, " << by_collectives
                                                    << " with equal collectives; published median " << published_median);
  CHECK(by_sends < published_median);
  CHECK(by_collectives > published_median);
  CHECK(by_collectives == Approx(2));
  // the exchange priced with the share of the NICs that the published slow-down leaves
  ExpertExchange x{.gate = {16, 2}, .routing = {}, .placement = {16, 4}, .copies = Copies::per_expert, .bytes_per_token = 2048};
  const double alone = expert_exchange(s, x, 65536).seconds;
  x.nic_share = 1 / published_median;
  CHECK(expert_exchange(s, x, 65536).seconds / alone == Approx(published_median).epsilon(0.05));
}

// Messages of tensor parallelism counted against the papers' figures.

namespace {

Model mixture() {
  Model m = load_model("llama3-70b");
  m.name = "mixture";
  m.layers = 10;
  m.first_dense = 2;
  m.experts = 64;
  m.top_k = 4;
  m.expert_ffn = 2048;
  return m;
}
TensorQuestion question(int ranks, double tokens, bool sequence = false, Recompute recompute = Recompute::none) {
  return {
      .ranks = ranks, .expert_ranks = 1, .tokens = tokens, .bytes_per_number = 2, .sequence_parallel = sequence, .recompute = recompute};
}

}  // namespace

TEST_CASE("a layer all-reduces twice forward and twice backward, after the row-parallel products") {
  const Model m = load_model("llama3-70b");
  CHECK(tensor_message_bytes(m, question(8, 1)) == 16384);
  CHECK(tensor_message_bytes(m, question(8, 256)) == 4 * 1024 * 1024);
  const TensorMessages forward = tensor_forward(m, question(8, 4096)), backward = tensor_backward(m, question(8, 4096));
  CHECK(forward.count(Collective::all_reduce) == 2);
  CHECK(backward.count(Collective::all_reduce) == 2);
  CHECK(forward.begin()[0].name == "attention_output");
  CHECK(forward.begin()[1].name == "mlp_down");
  CHECK(forward.begin()->bytes == 4096 * 16384.0);
  CHECK(tensor_backward(m, question(8, 4096, false, Recompute::full)).count(Collective::all_reduce) == 4);
  CHECK(tensor_backward(m, question(8, 4096, false, Recompute::selective)).count(Collective::all_reduce) == 2);
  CHECK(tensor_forward(m, question(1, 4096)).size() == 0);
}

TEST_CASE("layers of experts have a block less, or one of their own") {
  const Model m = mixture();
  const LayerParts experts{.experts = true};
  CHECK(tensor_forward(m, question(8, 100), experts).count(Collective::all_reduce) == 1);
  CHECK(expert_tensor_forward(m, question(8, 100)).size() == 0);
  TensorQuestion cut = question(8, 100);
  cut.expert_ranks = 2;
  const TensorMessages with = expert_tensor_forward(m, cut);
  CHECK(with.count(Collective::all_gather) == 1);
  CHECK(with.count(Collective::reduce_scatter) == 1);
  // 100 tokens over 8 ranks, 4 copies each: 50 rows on each of the two that hold one expert, 100 together
  CHECK(with.begin()->bytes == 100 * 16384.0);
  CHECK(expert_tensor_backward(m, cut).count(Collective::reduce_scatter) == 1);
  CHECK(expert_tensor_backward(m, cut).count(Collective::all_gather) == 1);  // the gathered rows are kept
  // every rank has all tokens without sequence parallelism, and results of its own share of them alone
  CHECK(tensor_forward(m, question(8, 100), experts).count(Collective::all_gather) == 1);
  CHECK(tensor_forward(m, question(8, 100, true), experts).count(Collective::all_gather) == 1);  // of attention
  Model shared = m;
  shared.shared_experts = 1;
  shared.shared_ffn = 2048;
  CHECK(tensor_forward(shared, question(8, 100), experts).count(Collective::all_reduce) == 2);
}
