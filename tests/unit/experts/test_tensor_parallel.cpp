/// \file test_tensor_parallel.cpp
/// Messages of tensor parallelism counted against the papers' figures.

#include "catch.hpp"

#include <fabricost/plan/training/tensor_parallel.hpp>

using namespace fabricost::plan;

namespace {

Model llama_70b() {
  Model m;
  m.name = "llama3-70b";
  m.layers = 80;
  m.hidden = 8192;
  m.heads = 64;
  m.kv_heads = 8;
  m.head_dim = 128;
  m.vocab = 128256;
  m.ffn = 28672;
  return m;
}
Model mixture() {
  Model m = llama_70b();
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
  const Model m = llama_70b();
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
