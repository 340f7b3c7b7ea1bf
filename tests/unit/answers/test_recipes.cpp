/// \file test_recipes.cpp
/// What a recipe says of kernels and overlap beside its stack: each option moves its own term alone, and is
/// refused where it says nothing.

#include "catch.hpp"

#include <fabricost/answers/plan.hpp>
#include <fabricost/specs/stacks.hpp>

#include <string>

using namespace fabricost;

namespace {

PlanRequest experts() {
  PlanRequest r;
  r.system = {"dgx-h100"}, r.model = {"qwen3-30b-a3b"};
  r.gpus = 16, r.global_batch = 64, r.tp = 1, r.pp = 2, r.cp = 1, r.ep = 8, r.microbatch = 1, r.zero = 1;
  return r;
}
PlanRequest dense(Precision precision = Precision::fp8) {
  PlanRequest r;
  r.system = {"dgx-h100"}, r.model = {"llama3-8b"};
  r.gpus = 8, r.global_batch = 64, r.tp = 2, r.pp = 1, r.cp = 1, r.microbatch = 1, r.zero = 1;
  r.precision = precision;
  return r;
}
double term(const PlanRequest& r, const std::string& name) {
  const PlanAnswer a = answer(r);
  for (const StepTerm& one : a.layouts.front().terms)
    if (one.name == name) return one.seconds;
  return 0;
}
double memory(const PlanRequest& r) { return answer(r).layouts.front().memory_bytes; }
/// The message with which a request is refused; empty where it is answered.
std::string refusal(const PlanRequest& r) {
  try {
    (void)answer(r);
  } catch (const RequestError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a dispatcher that sends a token once a domain exchanges less, one that sorts them costs no permutation") {
  PlanRequest r = experts();
  r.gpus = 32, r.ep = 16;
  r.moe_dispatcher = Dispatcher::alltoall;
  const double every = term(r, "expert"), kernels = term(r, "compute");
  r.moe_dispatcher = Dispatcher::deepep;
  CHECK(term(r, "expert") < every);
  CHECK(term(r, "compute") == Approx(kernels));
  const double once = term(r, "expert");
  r.moe_dispatcher = Dispatcher::hybridep;
  CHECK(term(r, "expert") == Approx(once));
  CHECK(term(r, "compute") < kernels);
}

TEST_CASE("what overlaps is exposed no more than in the stack known for it, what does not is exposed whole") {
  PlanRequest r = dense();
  const double as_it_comes = term(r, "tensor");
  r.tp_comm_overlap = true;
  CHECK(term(r, "tensor") == Approx(load_stack("nemo").tensor_exposed * as_it_comes));
  r.stack = {"nemo", {}};
  const double overlapped = term(r, "tensor");
  r.tp_comm_overlap = false;
  CHECK(term(r, "tensor") == Approx(overlapped / load_stack("nemo").tensor_exposed));

  PlanRequest gradients = dense();
  const double hidden = term(gradients, "data");
  gradients.overlap_grad_reduce = true;
  CHECK(term(gradients, "data") == Approx(hidden));
  gradients.overlap_grad_reduce = false;
  CHECK(term(gradients, "data") > 1.5 * hidden);

  PlanRequest tokens = experts();
  const double exposed = term(tokens, "expert");
  tokens.overlap_moe_comm = false;
  CHECK(term(tokens, "expert") == Approx(exposed));
  tokens.overlap_moe_comm = true;
  CHECK(term(tokens, "expert") < 0.5 * exposed);
}

TEST_CASE("one scale a tensor takes less memory than one for 32 values, attention in fp8 less time") {
  PlanRequest r = dense();
  r.fp8_recipe = Fp8Recipe::mxfp8;
  const double fine = memory(r);
  r.fp8_recipe = Fp8Recipe::blockwise;
  const double blocks = memory(r);
  r.fp8_recipe = Fp8Recipe::delayed;
  CHECK(memory(r) < blocks);
  CHECK(blocks < fine);
  r.fp8_recipe.reset();
  const double scores = term(r, "compute");
  r.fp8_attention = true;
  CHECK(term(r, "compute") < scores);
}

TEST_CASE("modules that predict further tokens cost their layers and heads") {
  PlanRequest r = experts();
  r.mtp_num_layers = 0;
  const double none = answer(r).layouts.front().step_seconds;
  r.mtp_num_layers = 1;
  const double one = answer(r).layouts.front().step_seconds;
  CHECK(one > none);
  CHECK(one < 1.25 * none);
}

TEST_CASE("options that say nothing of the model or its precision are refused") {
  PlanRequest r = dense(Precision::bf16);
  r.fp8_recipe = Fp8Recipe::mxfp8;
  CHECK(refusal(r).find("not fp8") != std::string::npos);
  r = dense(Precision::bf16);
  r.fp8_attention = true;
  CHECK(refusal(r).find("narrow") != std::string::npos);
  r = dense();
  r.moe_dispatcher = Dispatcher::deepep;
  CHECK(refusal(r).find("llama3-8b has no experts") != std::string::npos);
  r = dense();
  r.overlap_moe_comm = true;
  CHECK(refusal(r).find("llama3-8b has no experts") != std::string::npos);
}
