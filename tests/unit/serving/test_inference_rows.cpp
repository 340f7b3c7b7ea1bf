/// \file test_inference_rows.cpp
/// Reading inference tables: the meaning of a row, refused rows, and errors of predictions of published runs.

#include "unit/io_points/files.hpp"
#include "support/measurements.hpp"
#include "rig.hpp"

#include <fabricost/plan/evaluation/inference.hpp>
#include <fabricost/plan/evaluation/workload.hpp>
#include <fabricost/plan/specs/serving.hpp>

#include <catch.hpp>

#include <algorithm>
#include <map>

using namespace fabricost::observe;
using namespace fabricost::test;

namespace {

const std::string header =
    "id,group,source,model,system,gpu,gpus,interconnect,backend,mode,phase,tp,pp,attn_dp,moe_tp,moe_ep,batch,concurrency,isl,osl,prefill_"
    "workers,"
    "prefill_tp,prefill_pp,prefill_attn_dp,prefill_moe_tp,prefill_moe_ep,prefill_batch,decode_workers,decode_tp,decode_pp,decode_attn_dp,"
    "decode_moe_tp,decode_moe_ep,decode_batch,precision_gemm,precision_moe,metric,value,unit,metric2,value2,unit2,provenance,fully_"
    "specified,notes\n";

/// A run of one engine on 8 B200.
std::string served(const std::string& cells_from_gpus_to_osl, const std::string& values = "ttft_ms,200,ms,tpot_ms,10,ms",
                   const std::string& gpu = "B200 SXM", const std::string& model = "deepseek-ai/DeepSeek-R1") {
  return "r,silicon_agg,s," + model + ",b200," + gpu + "," + cells_from_gpus_to_osl + std::string(14, ',') + ",fp8,fp8," + values +
         ",file,yes,\n";
}
std::vector<InferenceRow> rows_of(const std::string& text) {
  const Folder folder;
  return read_inference_rows(folder.write("inference.csv", header + text), load_serving_table());
}
Issue fault_of(const std::string& text) {
  try {
    (void)rows_of(text);
  } catch (const SpecError& error) {
    return error.issues().front();
  }
  return {};
}

}  // namespace

TEST_CASE("a served run becomes two figures, in groups of their own") {
  const std::vector<InferenceRow> rows = rows_of(served("8,8/node,sglang 0.5.9,agg,both,8,1,1,8,1,64,64,1024,1024"));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].row.group == "silicon_agg:ttft_ms");
  CHECK(rows[1].row.group == "silicon_agg:tpot_ms");
  CHECK(rows[0].row.measured == 200);
  CHECK(rows[1].row.measured == 10);
  CHECK(rows[0].system == "dgx-b200");
  CHECK(rows[0].stack == "sglang");
  CHECK(rows[0].engine.tp == 8);
  CHECK(rows[0].load.concurrency == 64);
  CHECK(rows[0].load.isl == Approx(0.9 * 1024));  // lengths are drawn from 0.8 to 1 of the nominal
  CHECK(rows[0].row.skipped.empty());
}

TEST_CASE("ranks counted twice are counted once") {
  const auto engine = [](const std::string& cells) { return rows_of(served(cells)).front(); };
  InferenceRow r = engine("64,8/node,trtllm,agg,both,64,1,1,8,8,32,32,1024,1024");
  CHECK(r.engine.tp == 8);
  CHECK(r.engine.ep == 8);
  r = engine("64,8/node,trtllm,agg,both,1,1,64,8,8,4,256,1024,1024");
  CHECK(r.engine.tp == 1);
  CHECK(r.engine.attention_dp == 8);
  CHECK(r.load.concurrency == 256);
  r = engine("16,8/node,vllm,agg,both,4,1,4,1,16,16,64,1024,1024");
  CHECK(r.engine.gpus() == 4);
  CHECK(r.engine.ep == 4);
  CHECK(r.load.concurrency == 64);
  r = engine("8,8/node,vllm,agg,both,1,1,8,1,8,16,128,1024,1024");  // nothing to drop
  CHECK(r.engine.attention_dp == 8);
}

TEST_CASE("versions pick the stack that describes them") {
  const ServingTable table = load_serving_table();
  CHECK(table.published("trtllm 1.2.0rc6.post3").drafts == 3);
  CHECK(table.published("trtllm 1.2.0rc6.post2").name == "trtllm");
  CHECK(table.published("trtllm 0.5.1-rc0.pre3").name == "trtllm");
  CHECK(table.published("trtllm 0.5").name == "trtllm-2023");
  CHECK(table.published("vllm 0.18.0").name == "vllm");
  CHECK(table.published("sglang+DeepEP").overlaps);
  CHECK(table.published("something else").name == "vllm");
  CHECK_THROWS_AS(table.stack("nothing", Generation::hopper), RequestError);
}

TEST_CASE("published runs are priced as their servers were set, what is stated last winning") {
  const auto set = [](const std::string& backend, const std::string& model, const std::string& c, const std::string& lengths, int tp = 8) {
    const std::string t = std::to_string(tp);
    return rows_of(served(t + ",8/node," + backend + ",agg,both," + t + ",1,1," + t + ",1," + c + "," + c + "," + lengths,
                          "ttft_ms,200,ms,tpot_ms,10,ms", "B200 SXM", model))
        .front()
        .settings;
  };
  const std::string deepseek = "deepseek-ai/DeepSeek-R1", llama = "meta-llama/Llama-3.1-70B";
  CHECK(set("sglang 0.5.9", deepseek, "8", "1024,1024").poll == 10.0);
  CHECK(set("sglang 0.5.9", deepseek, "16", "1024,1024").poll == 30.0);
  CHECK(set("sglang 0.5.9", deepseek, "16", "1024,1024").chunk == 16384.0);
  CHECK(!set("sglang 0.5.9", llama, "16", "1024,1024").poll);
  CHECK(set("trtllm", llama, "16", "1024,1024", 4).hold_steps == 20.0);
  CHECK(!set("trtllm", llama, "16", "1024,1024", 8).hold_steps);
  CHECK(!set("trtllm", llama, "16", "1024,8192", 4).hold_steps);
  CHECK(set("trtllm", deepseek, "16", "8192,1024").chunk == 8192.0);
  CHECK(!set("trtllm 1.1.0rc2.post2", deepseek, "16", "8192,1024").drafts);  // drafted on another day, as its notes say
  CHECK(set("sglang 0.5.6", "meta-llama/Llama-3.1-8B-Instruct", "16", "1000,100").length == 1.0);  // of another client
  CHECK(set("vllm 0.12.0", "Qwen/Qwen3-32B", "16", "1024,128").kv == 2.0);
  ServingStack stack;
  const ServingStack with = ServerSettings{.chunk = 1000, .hold_steps = 3, .drafts = 2}.on(stack);
  CHECK(with.drafts == 2);
  CHECK(with.chunk == 1000);
  CHECK(with.hold_steps == 3);
  CHECK(with.poll == stack.poll);
}

TEST_CASE("a stack without measurements takes after its engine's other versions") {
  ServingTable table = load_serving_table();
  ServingStack fresh = table.published("trtllm");
  fresh.name = "trtllm-9";
  table.stacks.push_back(fresh);
  const double first = table.stack("trtllm-9", Generation::blackwell).first;
  double min = 1e9, max = 0;
  for (const auto& [name, generations] : table.fitted)
    if (name.starts_with("trtllm"))
      for (const auto& [g, set] : generations) min = std::min(min, set.stack.first), max = std::max(max, set.stack.first);
  CHECK(first > min);
  CHECK(first < max);
}

TEST_CASE("a generation without measurements gets the mean of those with them, and wider intervals") {
  const ServingTable table = load_serving_table();
  const ServingConstants seen = table.constants(Generation::hopper), unseen = table.constants(Generation::cdna3);
  CHECK(unseen.kv > 0.9 * seen.kv);
  CHECK(unseen.kv < 1.1 * seen.kv);
  double widest = 0;
  for (const Generation g : {Generation::hopper, Generation::blackwell}) widest = std::max(widest, table.stack("vllm", g).spread_tpot);
  const ServingStack cdna = table.stack("vllm", Generation::cdna3), ampere = table.stack("vllm", Generation::ampere);
  CHECK(cdna.spread_tpot > 0.99 * table.stack("vllm", Generation::blackwell).spread_tpot);
  // without the effect of its assumed kernels
  CHECK(std::sqrt(cdna.spread_tpot * cdna.spread_tpot - assumed_kernels_spread * assumed_kernels_spread) < 1.4 * widest);
  CHECK(cdna.assumed_kernels);
  CHECK_FALSE(ampere.assumed_kernels);
}

TEST_CASE("malformed cells are refused with line, column and remedy") {
  const std::string good = served("8,8/node,vllm,agg,both,8,1,1,8,1,64,64,1024,1024");
  Issue fault = fault_of(good + served("8,8/node,vllm,agg,both,eight,1,1,8,1,64,64,1024,1024"));
  CHECK(fault.line == 3);
  CHECK(fault.column > 1);
  CHECK(fault.message.find("tp is \"eight\", not a whole number") != std::string::npos);
  CHECK(!fault.remedy.empty());
  CHECK(fault_of(served("8,8/node,vllm,agg,both,8,1,1,8,1,-64,64,1024,1024")).message.find("batch is \"-64\"") != std::string::npos);
  CHECK(fault_of(served("8,8/node,vllm,agg,both,8,1,1,8,1,64,64,10.5,1024")).message.find("isl is \"10.5\"") != std::string::npos);
  CHECK(fault_of(served("8,8/node,vllm,agg,both,8,1,1,8,1,64,64,1024,1024", "ttft_ms,-3,ms,tpot_ms,10,ms")).message.find("negative") !=
        std::string::npos);
  CHECK(fault_of("r,too,few\n").line == 2);
}

TEST_CASE("rows that cannot be priced say why") {
  const auto why = [](const std::string& text) {
    std::vector<InferenceRow> rows = rows_of(text);
    predict_inference_rows(rows, load_serving_table());
    return rows.front().row.skipped;
  };
  const std::string cells = "8,8/node,vllm,agg,both,8,1,1,8,1,64,64,1024,1024", values = "ttft_ms,200,ms,tpot_ms,10,ms";
  CHECK(why(served(cells)).empty());
  CHECK(why(served(cells, values, "Q9000")).find("no machine known with a GPU \"Q9000\"") != std::string::npos);
  CHECK(why(served(cells, values, "B200 SXM", "someone/unheard-of")).find("no model known as") != std::string::npos);
  CHECK(why(served("72,NVL72,vllm,agg,both,72,1,1,72,1,64,64,1024,1024", values, "GB200")).find("128 heads do not divide over 72") !=
        std::string::npos);
  CHECK(why(served("0,8/node,vllm,agg,both,2,1,0,0,0,64,64,1024,1024")).find("counts no GPUs") != std::string::npos);
  CHECK(why(served("1,8/node,vllm,agg,both,1,1,1,1,1,64,64,1024,1024")).find("do not fit") != std::string::npos);
  CHECK(why(served(cells, "two_batch_overlap_gain_decode,0.2,fraction,,,")).find("a share, a gain") != std::string::npos);
}

TEST_CASE("published serving runs are predicted within what is asked", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  const WorkloadReport report = validate_workloads({folder / "workloads" / "inference.csv"});
  std::map<std::string, ErrorSummary> by;
  for (const ErrorGroup& g : report.by_group) by[g.name] = g.errors;
  for (const char* gpu : {"silicon_agg_b200_sxm", "silicon_agg_h100_sxm", "silicon_agg_h200_sxm", "silicon_agg_gb200"})
    CHECK(by.at(std::string{gpu} + ":tpot_ms").median_ape <= 15);
  std::vector<double> first;
  for (const WorkloadRow& row : report.rows)
    if (row.metric == "ttft_ms" && row.fully_specified && row.skipped.empty()) first.push_back(100 * std::fabs(row.error()));
  REQUIRE(first.size() > 1800);
  std::nth_element(first.begin(), first.begin() + static_cast<long>(first.size() / 2), first.end());
  CHECK(first[first.size() / 2] <= 17);
  for (const char* group : {"silicon_agg_b200_sxm", "silicon_agg_h100_sxm", "silicon_agg_h200_sxm", "silicon_disagg_b200_sxm"})
    CHECK(by.at(std::string{group} + ":ttft_ms").median_ape <= 20);
  CHECK(by.at("kv_bytes_per_token").mape == Approx(0).margin(1e-9));
  for (const WorkloadRow& row : report.rows)
    if (row.group == "mooncake_vllm_pd" && row.skipped.empty()) CHECK(std::fabs(row.error()) <= 0.07);
  // never fitted: wide expert parallelism of others
  CHECK(by.at("deepseek_profile").median_ape <= 25);
  CHECK(report.total.interval_coverage > 0.85);
}

TEST_CASE("serving is what a fit of the published runs finds on the shipped kernels", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  const ServingTable shipped = load_serving_table();
  const ServingFit fit = calibrate_serving(read_inference_rows(folder / "workloads" / "inference.csv", shipped));
  for (const auto& [g, c] : shipped.gpus) {
    CHECK(fit.table.gpus.at(g).kv == Approx(c.kv).epsilon(0.01));
    CHECK(fit.table.gpus.at(g).experts == Approx(c.experts).epsilon(0.05));
  }
  for (const auto& [name, generations] : shipped.fitted)
    for (const auto& [g, stack] : generations)
      // a fit stops where a step gains less than a millionth of its cost: 1.2 % of this for an engine with eight rows
      CHECK(fit.table.fitted.at(name).at(g).stack.stretch == Approx(stack.stack.stretch).epsilon(0.015));
}

TEST_CASE("a fit finds constants it is given") {
  // times made with known constants, on rows written here
  const ServingTable table = load_serving_table();
  std::string text;
  for (const char* model : {"meta-llama/Llama-3.1-70B", "deepseek-ai/DeepSeek-R1", "Qwen/Qwen3-32B"})
    for (const int c : {1, 4, 16, 64, 256})
      for (const char* lengths : {"1024,1024", "8192,1024", "1024,8192"})
        text += served("8,8/node,vllm,agg,both,8,1,1,8,1," + std::to_string(c) + "," + std::to_string(c) + "," + lengths,
                       "ttft_ms,200,ms,tpot_ms,10,ms", "H100 SXM", model);
  std::vector<InferenceRow> rows = rows_of(text);
  const System system = load_system("dgx-h100");
  ServingConstants truth;
  truth.kv = 0.5;
  ServingStack stack = table.published("vllm");
  ServingMachine machine{system, truth, stack.kernels};
  stack.step = 0.8e-3;
  stack.bunching = 0.12;
  for (InferenceRow& r : rows) {
    if (r.row.model == "deepseek-ai/DeepSeek-R1") r.row.skipped = "does not fit";
    if (r.row.skipped.empty()) r.row.measured = InferenceJob(r, machine)(stack);
  }
  const ServingFit fit = calibrate_serving(rows);
  CHECK(fit.median_tpot < 2);
  CHECK(fit.median_ttft < 3);
  CHECK(std::fabs(fit.table.gpus.at(Generation::hopper).kv - 0.5) < 0.7 * (ServingConstants{}.kv - 0.5));  // these rows read little cache
  CHECK(fit.table.fitted.at("vllm").at(Generation::hopper).stack.bunching == Approx(0.12).epsilon(0.2));
}

TEST_CASE("nothing to fit is refused") { CHECK_THROWS_AS(calibrate_serving(rows_of("")), RequestError); }
