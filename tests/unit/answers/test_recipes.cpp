/// What a recipe says of kernels and overlap beside its stack: each option moves its own term alone, and is
/// refused where it says nothing.

#include "catch.hpp"
#include "support/job.hpp"
#include "support/message_of.hpp"

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/explain/step.hpp>
#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/specs/stacks.hpp>

using namespace fabricost::plan;

namespace {

PlanRequest experts() {
  auto r = support::job<PlanRequest>("dgx-h100", "qwen3-30b-a3b", 16, 64);
  r.tp = 1;
  r.pp = 2;
  r.cp = 1;
  r.ep = 8;
  r.microbatch = 1;
  r.zero = 1;
  return r;
}
PlanRequest dense(Precision precision = Precision::fp8) {
  auto r = support::job<PlanRequest>("dgx-h100", "llama3-8b", 8, 64);
  r.tp = 2;
  r.pp = 1;
  r.cp = 1;
  r.microbatch = 1;
  r.zero = 1;
  r.precision = precision;
  return r;
}
double term(const PlanRequest& r, const std::string& name) {
  const PlanAnswer a = answer(r);
  for (const StepTerm& one : a.layouts.front().terms)
    if (one.name == name) return one.time.value();
  return 0;
}
double memory(const PlanRequest& r) { return answer(r).layouts.front().memory_size.value(); }
std::string refusal(const PlanRequest& r) {
  return support::message_of([&] { return answer(r); });
}

}  // namespace

TEST_CASE("the columns of a printed layout, given by hand, give its step again") {
  int placed = 0;
  for (const auto& [model, machine, gpus, batch] : {std::tuple{"llama3-70b", "gb200-nvl72", 512, 1024},
                                                    {"llama3-70b", "dgx-h100", 128, 256},
                                                    {"qwen3-30b-a3b", "gb200-nvl72", 72, 288},
                                                    {"llama3.1-405b", "dgx-h100", 512, 256}}) {
    auto r = support::job<PlanRequest>(machine, model, gpus, batch);
    r.sequence = 8192;
    r.top = 6;
    for (const PlannedLayout& row : answer(r).layouts) {
      if (row.used_gpus != gpus) continue;
      PlanRequest named = r;
      named.tp = row.tp, named.pp = row.pp, named.vp = row.vp, named.cp = row.cp, named.ep = row.ep, named.dp = row.dp;
      named.expert_tp = row.expert_tp, named.zero = row.zero, named.shard = row.shard, named.microbatch = row.microbatch;
      if (row.recompute == "none") named.recompute = Recompute::none;
      if (row.recompute == "selective") named.recompute = Recompute::selective;
      if (row.recompute == "full") named.recompute = Recompute::full;
      if (!row.recompute_modules.empty()) named.recompute_modules = {row.recompute_modules};
      named.recompute_num_layers = row.recompute_num_layers;
      named.optimizer_offload_fraction = row.optimizer_offload_fraction;
      named.decoder_first_pipeline_num_layers = row.decoder_first_pipeline_num_layers;
      named.decoder_last_pipeline_num_layers = row.decoder_last_pipeline_num_layers;
      if (row.cp_comm_type == "a2a") named.cp_comm_type = ContextParallel::ulysses;
      placed += row.placing == "stages_inside";
      INFO(machine << " " << model << " tp " << row.tp << " pp " << row.pp << " vp " << row.vp << " cp " << row.cp << " " << row.placing);
      CHECK(answer(named).layouts.front().step.value() == Approx(row.step.value()).epsilon(1e-12));
    }
  }
  CHECK(placed > 0);
}

TEST_CASE("a measured step gives the factor that explains it, and a narrower range") {
  for (PlanRequest r : {dense(), experts()}) {
    const PlannedLayout before = answer(r).layouts.front();
    r.measured_step = 1.15 * before.step;
    const PlanAnswer by_step = answer(r);
    const PlannedLayout after = by_step.layouts.front();
    CHECK(after.step.value() == Approx(1.15 * before.step.value()).epsilon(1e-9));
    CHECK(after.terms.front().time > 1.15 * before.terms.front().time);  // computing, since exchanges keep their time
    CHECK(after.interval.second / after.step < before.interval.second / before.step);
    r.measured_step.reset();
    r.stack_scale = by_step.stack_scale;
    r.vp = after.vp;
    CHECK(answer(r).layouts.front().step.value() == Approx(after.step.value()).epsilon(1e-9));
    r.measured_step = before.step;
    CHECK(support::contains(refusal(r), "leave one of them out"));
    r.stack_scale.reset();
    r.measured_step = 1000 * before.step;
    CHECK(support::contains(refusal(r), "with factors from 0.2 to 5 this layout takes"));
    r.tp.reset();
    CHECK(support::contains(refusal(r), "is of one layout"));
  }
}

TEST_CASE("a named layout is compared with the best of its job, and with the rule of practitioners") {
  auto r = support::job<PlanRequest>("dgx-h100", "llama3-70b", 128, 256);
  r.sequence = 8192;
  const PlanAnswer open = answer(r);
  CHECK_FALSE(best_of_job(open));
  r.tp = r.pp = r.dp = 8;
  r.gpus = 512;
  r.recompute = Recompute::full;
  r.microbatch = 1;
  r.global_batch = 1024;
  r.explain = true;
  const PlanAnswer named = answer(r);
  const auto best = best_of_job(named);
  REQUIRE(best);
  CHECK(best->step < named.layouts.front().step);
  CHECK(named.explanation->usual->step < named.layouts.front().step);
}

TEST_CASE("a dispatcher that sends a token once a domain exchanges less, one that sorts them costs no permutation") {
  PlanRequest r = experts();
  r.gpus = 32;
  r.ep = 16;
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
  r.stack = "megatron-core";  // hides nothing of it by itself
  const double as_it_comes = term(r, "tensor");
  r.tp_comm_overlap = true;
  CHECK(term(r, "tensor") == Approx(load_stack("nemo").tensor_exposed * as_it_comes));
  r.stack = "nemo";
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
  tokens.vp = 2;
  const double exposed = term(tokens, "expert");
  tokens.overlap_moe_comm = false;
  CHECK(term(tokens, "expert") == Approx(exposed));
  tokens.overlap_moe_comm = true;
  CHECK(term(tokens, "expert") < 0.5 * exposed);
}

TEST_CASE("one scale a tensor takes less memory than one for 32 values, attention in fp8 less time") {
  PlanRequest r = dense();
  r.system = {"dgx-b200"};
  r.fp8_recipe = Fp8Recipe::mxfp8;
  const double fine = memory(r);
  r.fp8_recipe = Fp8Recipe::blockwise;
  const double blocks = memory(r);
  r.fp8_recipe = Fp8Recipe::delayed;
  CHECK(memory(r) < blocks);
  CHECK(blocks < fine);
  for (const char* machine : {"dgx-h100", "dgx-b200"}) {  // none given is one scale a tensor, in time and in memory
    r.system = {machine};
    r.fp8_recipe.reset();
    const double held = memory(r), computing = term(r, "compute");
    r.fp8_recipe = Fp8Recipe::tensorwise;
    CHECK(memory(r) == held);
    CHECK(term(r, "compute") == computing);
  }
  r.fp8_recipe.reset();
  const double scores = term(r, "compute");
  r.fp8_attention = true;
  CHECK(term(r, "compute") < scores);
}

TEST_CASE("what a stack casts each time it keeps nowhere, whatever the recipe of scales") {
  const auto held = [](const PlanRequest& r, const std::string& what) {
    const PlanAnswer plan = answer(r);
    for (const MemoryPart& part : plan.layouts.front().memory)
      if (part.name == what) return part.bytes;
    return Bytes{};
  };
  PlanRequest r = dense();
  r.system = {"dgx-b200"};
  r.tp = 1;
  r.pp = 1;
  r.zero = 1;
  r.recompute = Recompute::none;
  for (const char* stack : {"torchtitan", "pytorch-2026"}) {
    r.stack.name = stack;
    r.fp8_recipe.reset();
    const Bytes weights = held(r, "weights"), activations = held(r, "activations");
    for (const Fp8Recipe recipe : {Fp8Recipe::delayed, Fp8Recipe::blockwise, Fp8Recipe::mxfp8}) {
      r.fp8_recipe = recipe;
      INFO(stack << ", " << fp8_recipe_names[static_cast<std::size_t>(recipe)]);
      CHECK(held(r, "weights") == weights);
      CHECK(held(r, "activations") == activations);
    }
  }
}

TEST_CASE("modules that predict further tokens take memory and count as FLOPs of the model") {
  PlanRequest r = experts();
  r.pp = 1;
  r.mtp_num_layers = 0;
  const PlannedLayout none = answer(r).layouts.front();
  r.mtp_num_layers = 1;
  const PlannedLayout one = answer(r).layouts.front();
  const auto flops = [](const PlannedLayout& p) { return p.flops_per_second_per_gpu * p.step.value(); };
  CHECK(flops(one) > flops(none));
  CHECK(flops(one) < 1.25 * flops(none));
  CHECK(one.memory_size > none.memory_size);
  r.mtp_num_layers = 2;
  const PlannedLayout two = answer(r).layouts.front();
  CHECK(flops(two) - flops(one) == Approx(flops(one) - flops(none)).epsilon(1e-9));
  CHECK(two.memory_size > one.memory_size);
}

TEST_CASE("activations wait in host memory without stages, recomputation or graphs, as Megatron-Core offloads them") {
  PlanRequest r = dense(Precision::bf16);
  r.cpu_offloading_num_layers = 8;
  CHECK(refusal(r).empty());
  r.pp = 2;
  CHECK(refusal(r).find("pipeline stages") != std::string::npos);
  r.pp = 1;
  r.recompute = Recompute::full;
  CHECK(refusal(r).find("recomputed") != std::string::npos);
  r.recompute.reset();
  r.recompute_modules = {"mlp"};
  CHECK(refusal(r).find("recomputed") != std::string::npos);
  r.recompute_modules.clear();
  r.cuda_graphs = true;
  CHECK(refusal(r).find("graphs") != std::string::npos);
  // of 32
  r.cuda_graphs.reset();
  r.cpu_offloading_num_layers = 32;
  CHECK(refusal(r).find("take at most 31") != std::string::npos);
  r.cpu_offloading_num_layers = 8;
  r.tp.reset();
  r.pp.reset();
  r.cp.reset();
  r.microbatch.reset();
  r.zero.reset();
  for (const PlannedLayout& one : answer(r).layouts) {
    CHECK(one.pp == 1);
    CHECK(one.recompute == "none");
  }
}

TEST_CASE("scales of fp8 are those that the processor multiplies with") {
  PlanRequest r = dense();
  r.fp8_recipe = Fp8Recipe::mxfp8;
  CHECK(refusal(r).find("sm_100") != std::string::npos);
  r.fp8_recipe = Fp8Recipe::blockwise;
  CHECK(refusal(r).empty());
  r.system = {"dgx-b200"};
  r.fp8_recipe = Fp8Recipe::mxfp8;
  CHECK(refusal(r).empty());
  r.system = {"rtx-pro-6000-pcie"};
  CHECK(refusal(r).find("sm_120") != std::string::npos);
  r.system = {"mi300x-8"};
  CHECK(refusal(r).find("gfx950") != std::string::npos);
  r.system = {"mi355x-8"};
  CHECK(refusal(r).empty());
  PlanRequest again = experts();
  again.precision = Precision::fp8;
  again.fp8_recipe = Fp8Recipe::delayed;
  again.recompute_modules = {"moe_act"};
  CHECK(refusal(again).find("scales of earlier steps") != std::string::npos);
  again.recompute_modules = {"moe"};
  CHECK(refusal(again).empty());
}

TEST_CASE("tokens that are exchanged behind another microbatch need chunks to do so, and are exchanged once") {
  PlanRequest r = experts();
  r.overlap_moe_comm = true;
  for (const PlannedLayout& one : answer(r).layouts) CHECK(one.vp > 1);
  r.vp = 1;
  CHECK(refusal(r).find("several chunks") != std::string::npos);
  r.vp.reset();
  r.recompute = Recompute::full;
  CHECK(refusal(r).find("exchanged again") != std::string::npos);
  r.recompute.reset();
  r.ep = 1;
  CHECK(refusal(r).find("no tokens are exchanged") != std::string::npos);
  r.ep = 8;
  r.mtp_num_layers = 2;
  CHECK(refusal(r).find("one prediction module") != std::string::npos);
}

TEST_CASE("where every microbatch is alone in its stage, overlapped tokens cost what exposed ones do, fewer on a shorter last stage") {
  auto r = support::job<PlanRequest>("dgx-b200", "deepseek-v3", 256, 96);  // 61 layers: seven on the last stage, eight on others
  r.tp = 2;
  r.pp = 8;
  r.vp = 7;
  r.cp = 4;
  r.ep = 32;
  r.microbatch = 3;
  r.zero = 0;
  r.headroom = 0;
  const double exposed = answer(r).layouts.front().step.value();
  r.overlap_moe_comm = true;
  CHECK(answer(r).layouts.front().step.value() == Approx(exposed).epsilon(2e-3));
}

TEST_CASE("parameters are updated by the stage that owns most of them, which is not always the one that holds most") {
  auto r = support::job<PlanRequest>("hgx-h20", "kimi-k2", 96, 16);  // each expert has one replica, other matrices are sharded
  r.tp = 4;
  r.pp = 3;
  r.cp = 2;
  r.ep = 32;
  r.zero = 1;
  r.microbatch = 1;
  r.recompute = Recompute::none;
  r.decoder_last_pipeline_num_layers = 19;
  const double without = term(r, "optimizer");
  r.mtp_num_layers = 1;  // the last stage holds most then, with both tables
  CHECK(term(r, "optimizer") == Approx(without));
}

TEST_CASE("layouts that differ only in how context ranks exchange are listed once, by the faster") {
  auto r = support::job<PlanRequest>("dgx-h100", "llama3-8b", 16, 16);
  r.sequence = 65536;
  r.top = 40;
  const std::vector<PlannedLayout> both = answer(r).layouts;
  const auto key = [](const PlannedLayout& l) {
    return std::tuple{l.tp,         l.pp,       l.vp,        l.cp,
                      l.dp,         l.zero,     l.microbatch, l.schedule,
                      l.recompute,  l.recompute_modules,     l.sequence_parallel};
  };
  bool ranks = false;
  for (std::size_t i = 0; i < both.size(); ++i) {
    ranks = ranks || both[i].cp > 1;
    for (std::size_t j = i + 1; j < both.size(); ++j) CHECK(key(both[i]) != key(both[j]));
  }
  CHECK(ranks);
  for (const ContextParallel one : {ContextParallel::ring, ContextParallel::ulysses}) {
    r.cp_comm_type = one;
    CHECK(both.front().step.value() <= answer(r).layouts.front().step.value() * (1 + 1e-12));
  }
}

TEST_CASE("a kind of attention is slower or faster than another, and refused where it does not run") {
  PlanRequest r = dense(Precision::bf16);
  r.sequence = 32768;
  const auto seconds = [&](AttentionKernel kind) {
    r.attention = kind;
    return term(r, "compute");
  };
  const double own = seconds(AttentionKernel::cudnn);
  CHECK(seconds(AttentionKernel::flash3) == Approx(own).epsilon(0.05));
  CHECK(seconds(AttentionKernel::flash2) > 1.1 * own);
  CHECK(seconds(AttentionKernel::math) > seconds(AttentionKernel::flash2));
  r.attention.reset();
  CHECK(term(r, "compute") == Approx(own));  // the default stack's
  r.stack = {"torchtitan"};
  const double of_2024 = term(r, "compute");
  CHECK(seconds(AttentionKernel::flash2) == Approx(of_2024));
  CHECK(seconds(AttentionKernel::cudnn) < of_2024);
  r = dense(Precision::bf16);
  r.recompute = Recompute::none;
  const double fused = memory(r);
  r.attention = AttentionKernel::math;
  CHECK(memory(r) > 1.2 * fused);  // scores are kept
  r.attention = AttentionKernel::flash3;
  r.system = {"dgx-b200"};
  CHECK(refusal(r).find("flash3") != std::string::npos);
  CHECK(refusal(r).find("cudnn, flash2 or math") != std::string::npos);
  r.system = {"dgx-1-v100"};
  r.precision = Precision::fp16;
  r.attention = AttentionKernel::flash2;
  CHECK(refusal(r).find("cudnn or math") != std::string::npos);
  r.attention = AttentionKernel::cudnn;
  CHECK(refusal(r).find("<attention>") == std::string::npos);
}

TEST_CASE("the second moment is as the first, and what is not given as the stack has it") {
  const auto states = [](const PlanRequest& r) {
    const PlanAnswer a = answer(r);
    for (const MemoryPart& part : a.layouts.front().memory)
      if (part.name == "optimizer") return part.bytes.value();
    return 0.0;
  };
  PlanRequest r = dense(Precision::bf16);
  r.recompute = Recompute::none;
  r.stack = {"megatron-core"};
  const double whole = states(r) / 12;  // of one byte a parameter
  r.main_params_dtype = StateFormat::none;
  r.exp_avg_dtype = StateFormat::bf16;
  CHECK(states(r) == Approx(4 * whole));
  r.exp_avg_sq_dtype = StateFormat::fp32;
  CHECK(states(r) == Approx(6 * whole));
  r.exp_avg_dtype.reset();
  r.exp_avg_sq_dtype.reset();
  CHECK(states(r) == Approx(8 * whole));
  r = dense(Precision::bf16);
  r.recompute = Recompute::none;
  r.stack = {"pytorch-fsdp2"};  // bf16 states without masters
  const double own = states(r);
  r.main_params_dtype = StateFormat::fp32;
  CHECK(states(r) == Approx(2 * own));
  r.main_params_dtype.reset();
  r.exp_avg_dtype = StateFormat::fp32;
  CHECK(states(r) == Approx(2 * own));
}

TEST_CASE("the optimizer's time is that of its bytes, in every stack, and --explain names them") {
  PlanRequest r = dense(Precision::bf16);
  r.recompute = Recompute::none;
  r.main_params_dtype = StateFormat::none;
  r.exp_avg_dtype = StateFormat::bf16;
  r.explain = true;
  for (const char* stack : {"megatron-core", "nemo", "torchtitan", "pytorch-fsdp2", "pytorch-2026"}) {
    r.stack = {stack};
    const PlanAnswer a = answer(r);
    const Stack& used = a.found->question.stack;
    const double bytes = update_bytes(used.memory);
    CHECK(bytes == used.memory.gradient + 2 * 4 + 2 * used.memory.weight);
    const double parameters = parameters_of(a.found->question.model).total / 8;  // tp 2 and ZeRO 1 over 4 replicas
    const double least = parameters * bytes / a.found->system.gpu.hbm_bandwidth.value.value();
    const double seconds = term(r, "optimizer");
    INFO(stack << ": " << seconds << " s, least " << least);
    CHECK(seconds >= least);
    CHECK(seconds == Approx(update_seconds(Processor::of(a.found->system), used, parameters)).epsilon(0.01));
    bool told = false;
    for (const ExplainedTerm& one : a.explanation->terms)
      if (one.name == "optimizer")
        for (const std::string& line : one.how) told |= line.starts_with(std::to_string(static_cast<int>(bytes)) + " B of memory traffic");
    CHECK(told);
  }
}

TEST_CASE("one microbatch adds up no gradients") {
  PlanRequest r = dense(Precision::bf16);
  r.global_batch = 4;
  CHECK(term(r, "accumulation") == 0);
  r.global_batch = 8;
  CHECK(term(r, "accumulation") > 0);
}

TEST_CASE("Meta's layout of Llama 3 405B fits without recomputation and reaches the published share of the peak") {
  auto r = support::job<PlanRequest>("meta-24k-roce", "llama3-405b", 16384, 2048);
  r.stack = {"meta-llama3"};
  r.sequence = 8192;
  r.tp = 8;
  r.cp = 1;
  r.pp = 16;
  r.dp = 128;
  const PlanAnswer a = answer(r);
  CHECK(a.fits);
  CHECK(a.layouts.front().recompute == "none");
  CHECK(a.layouts.front().zero == 1);
  CHECK(a.layouts.front().mfu > 0.38);
  CHECK(a.layouts.front().mfu < 0.43);
}

TEST_CASE("without a recipe fp8 has the scales of the stack: of blocks with DeepSeek's, of tensors elsewhere") {
  auto r = support::job<PlanRequest>("deepseek-v3-h800", "deepseek-v3", 256, 1920);
  r.precision = Precision::fp8;
  r.top = 1;
  const auto step = [&](const char* stack, std::optional<Fp8Recipe> recipe) {
    r.stack = stack;
    r.fp8_recipe = recipe;
    return answer(r).layouts.front().step;
  };
  CHECK(step("deepseek", {}) == step("deepseek", Fp8Recipe::blockwise));
  CHECK(step("deepseek", {}) > step("deepseek", Fp8Recipe::tensorwise));
  CHECK(step("nemo", {}) == step("nemo", Fp8Recipe::tensorwise));
}
