// One's own kernels: tables read, rooflines fitted to them, stacks that hold them, steps that those price.
#include "tables.hpp"

#include <fabricost/plan/evaluation/calibrate_kernels.hpp>
#include <fabricost/plan/evaluation/ops.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/specs/load.hpp>

#include "support/message_of.hpp"

#include <catch.hpp>

using namespace fabricost::plan;
using support::contains;

namespace own_kernels {
using namespace fabricost::plan;
using support::contains;
using support::message_of;

const std::string header =
    "id,group,source,gpu,interconnect,op,model,hidden,ffn,heads,kv_heads,tp,ranks,ranks_per_node,tokens,bytes,time_us,derived,notes\n";

static std::vector<OpsRow> read(const std::string& rows) { return read_ops_rows(tables::File(header + rows).path()); }
static OpsRow read_one(const std::string& row) { return read(row + "\n").front(); }

/// Products on an H100 as `truth` prices them.
static std::string products(const KernelRate& truth) {
  const Processor gpu = Processor::of(load_system("dgx-h100"));
  std::string out;
  int id = 0;
  for (const double rows : {1, 16, 64, 256, 1024, 4096, 16384})
    for (const auto& [inner, width] : {std::pair{2048.0, 2048.0}, {8192.0, 2048.0}, {4096.0, 4096.0}, {2048.0, 8192.0}, {8192.0, 8192.0}}) {
      const double x = 2 * rows * inner * width / (truth.share * gpu.peak8),
                   y = (rows * inner + 2 * rows * width + inner * width) / (truth.memory * gpu.memory_rate), z = truth.depth * inner;
      out += "P" + std::to_string(++id) + ",mine,s,H100,,matmul M=" + std::to_string(int(rows)) + " K=" + std::to_string(int(inner)) +
             " N=" + std::to_string(int(width)) + " fp8,,,,,,,,,,," + std::to_string(1e6 * (truth.start + std::hypot(x, y, z))) + ",,\n";
    }
  return out;
}

TEST_CASE("kernels of engines' tables have their shapes", "[ops]") {
  const OpsRow gemm = read_one("G,g,s,B200,,gemm_nvfp4,,8192,10240,,,,,,16384,,718.5,,");
  CHECK((gemm.kind == OpKind::product && gemm.precision == Precision::fp4));
  CHECK((gemm.rows == 16384 && gemm.columns == 10240 && gemm.inner == 8192));
  CHECK(kernel_precision(read_one("G,g,s,H100,,gemm_fp8_block,,8192,10240,,,,,,16,,37,,")) == KernelPrecision::fp8_block);

  const OpsRow prefill =
      read_one("A,g,s,H100,,context_attention_fp8_kv_fp8,,8192,,64,8,,,,32768,,3928.4,,\"batch 8, sequence 4096, head 128, causal\"");
  CHECK((prefill.kind == OpKind::attention && prefill.precision == Precision::fp8));
  CHECK(prefill.rows * prefill.columns * prefill.inner == 8.0 * 64 * 4096 * 4096 * 256);

  const OpsRow decode =
      read_one("D,g,s,H100,,generation_attention_kv_bfloat16,,8192,,64,8,,,,64,,100,,\"batch 64, context 1024, head 128\"");
  CHECK(decode.kind == OpKind::decode);
  CHECK(decode.bytes == 2.0 * 64 * 1024 * 8 * 256 + 2.0 * 64 * 64 * 256);

  const OpsRow experts = read_one(
      "E,g,s,H100,,moe_bfloat16,,2048,768,,,1,32,,128,,33.7,,\"128 experts over 32 ranks, top 8, balanced, tokens entering all ranks\"");
  CHECK((experts.kind == OpKind::experts && experts.rows == 32 && experts.count == 4));
  CHECK(kernel_bytes(experts) == 2.0 * 3 * 4 * 2048 * 768);

  const OpsRow core = read_one("T,g,s,TPU7x (one of two cores of a chip),,gemm_bf16,,4096,4096,,,,,,256,,16.58,,");
  CHECK((core.part == 0.5 && core.gpu == "TPU7x"));
  const OpsRow padded =
      read_one("N,g,s,Trainium 3 (LNC=2: 2 of 8 NeuronCores),,gemm_bf16,,4096,4096,,,,,,16,,474.2,,executed 2048x4096x4096");
  CHECK((padded.part == 0.25 && padded.rows == 2048));
}

TEST_CASE("rows that say nothing of a kernel give the reason", "[ops]") {
  CHECK(contains(
      read_one("A,g,s,H100,,context_attention_bfloat16_kv_fp8,,8192,,64,8,,,,4096,,474,,\"batch 1, sequence 4096, head 128\"").row.skipped,
      "cache in another"));
  CHECK(contains(read_one("E,g,s,H100,,moe_fp8,,4096,1536,,,1,1,,16,,413,,\"128 experts over 1 ranks, top 8, power_law_1.2\"").row.skipped,
                 "not balanced"));
  // 1,243 TFLOP/s in bf16 on an H100: the rows of a group that ran in another precision than it says
  std::vector<OpsRow> rows =
      read("B1,g,s,H100,,gemm_bfloat16,,2048,6144,,,1,1,,32768,,663.4,,\nB2,g,s,H100,,gemm_bfloat16,,2048,6144,,,1,1,,8,,9,,\n");
  predict_ops_rows(rows);
  for (const OpsRow& row : rows) CHECK(contains(row.row.skipped, "faster than the peak"));
}

TEST_CASE("a roofline is found again in the times that it makes", "[calibrate]") {
  const KernelRate truth{0.6, 0.8, 4e-6, 1.5e-9};
  const KernelStackAnswer found = calibrate_kernels(read(products(truth)), load_stack("nemo"));
  REQUIRE(found.kernels.size() == 1);
  const KernelFit& one = found.kernels.front();
  CHECK((one.gpu == "h100-sxm" && one.kind == KernelKind::gemm && one.precision == KernelPrecision::fp8 && one.rows == 35));
  CHECK(one.rate.share == Approx(truth.share).epsilon(0.02));
  CHECK(one.rate.memory == Approx(truth.memory).epsilon(0.05));
  CHECK(one.rate.start == Approx(truth.start).epsilon(0.05));
  CHECK(one.rate.depth == Approx(truth.depth).epsilon(0.05));
  CHECK(found.mean_error() < 0.02);
}

TEST_CASE("decode that a few blocks walk takes its context's length, not its bytes", "[calibrate]") {
  std::string rows;
  int id = 0;
  for (const double context : {1024, 4096, 16384})
    for (const double batch : {1, 4, 16})
      rows += "D" + std::to_string(++id) + ",mine,s,L40S,,generation_attention_kv_fp8,,1024,,8,1,,,,1,," +
              std::to_string(8 + 0.016 * context) + ",,\"batch " + std::to_string(int(batch)) + ", context " +
              std::to_string(int(context)) + ", head 128\"\n";
  const KernelStackAnswer found = calibrate_kernels(read(rows), load_stack("nemo"));
  REQUIRE(found.kernels.size() == 1);
  CHECK(found.kernels.front().rate.depth == Approx(16e-9).epsilon(0.1));
  CHECK(found.mean_error() < 0.05);
}

TEST_CASE("a stack with own kernels prices steps on their GPU, and on no other", "[calibrate]") {
  KernelStackAnswer found = calibrate_kernels(read(products({0.3, 0.8, 4e-6, 1e-9})), load_stack("nemo"));
  found.origin = "a test";
  const tables::File file(found.yaml("mine", "2026-01-31"), "mine.yaml");
  const Stack mine = load_stack(file.path().string()), plain = load_stack("nemo");
  for (const Generation made : {Generation::hopper, Generation::blackwell})  // an interval stays that of the recipe
    CHECK(spread_of(mine, {.generation = made}) == spread_of(plain, {.generation = made}));
  REQUIRE(mine.kernels.size() == 1);
  CHECK(mine.kernels.front().rate.share == Approx(found.kernels.front().rate.share).epsilon(1e-3));
  CHECK(mine.kernels.front().rate.depth == Approx(found.kernels.front().rate.depth).epsilon(0.01));
  CHECK(mine.scale == 1);
  CHECK(mine.tensor_exposed == plain.tensor_exposed);
  Layout layout;
  layout.precision = Precision::fp8;
  const auto seconds = [&](const Stack& stack, const char* system) {
    return product_seconds(driven_by(stack, layout, Processor::of(load_system(system))), Precision::fp8, 8192, 8192, 8192);
  };
  const double work = 2 * std::pow(8192.0, 3);
  CHECK(seconds(mine, "dgx-h100") == Approx(work / (0.3 * 1979e12)).epsilon(0.05));
  Stack unscaled = plain;
  unscaled.scale = 1;
  CHECK(seconds(mine, "dgx-h200") == Approx(seconds(unscaled, "dgx-h200")));
}

TEST_CASE("a table without enough times of a kernel is refused", "[calibrate]") {
  const auto fit = [] { (void)calibrate_kernels(read("G,g,s,H100,,gemm_bf16,,4096,4096,,,,,,256,,20,,\n"), load_stack("nemo")); };
  CHECK(contains(message_of(fit), "5 times of one kind"));
}

TEST_CASE("a GPU of kernels is one that data/gpus names, or a driver's name in full", "[calibrate][ops]") {
  const auto gpu_of = [](const std::string& written) {
    const OpsRow row = read_one("G,g,s," + written + ",,gemm_bf16,,4096,4096,,,,,,256,,20,,");
    CHECK(row.unknown.has_value() == !row.row.skipped.empty());
    return row.unknown ? std::string{} : load_system(row.system, row.overrides).gpu.name;
  };
  for (const std::string& name : fabricost::core::names_in("gpus")) CHECK(gpu_of(name) == name);
  for (const auto& [written, gpu] :
       std::initializer_list<std::pair<const char*, const char*>>{{"H100", "h100-sxm"},
                                                                  {"H100-80G", "h100-sxm"},
                                                                  {"NVIDIA H100 80GB HBM3", "h100-sxm"},
                                                                  {"H100 PCIe", "h100-pcie"},
                                                                  {"NVIDIA H100 NVL", "h100-nvl"},
                                                                  {"A100-80G", "a100-sxm-80"},
                                                                  {"A100-SXM4-40GB", "a100-sxm-40"},
                                                                  {"NVIDIA A100-PCIE-40GB", "a100-pcie-40"},
                                                                  {"Tesla V100-SXM2-16GB", "v100-sxm-16"},
                                                                  {"Tesla V100-SXM3-32GB-H", "v100-sxm"},
                                                                  {"AMD Instinct MI250X", "mi250x-gcd"},
                                                                  {"GH200 120GB", "gh200"},
                                                                  {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"},
                                                                  {"Trainium 3 (LNC=2: 2 of 8 NeuronCores)", "trainium-3"},
                                                                  {"TPU7x", "tpu-v7"}})
    CHECK(gpu_of(written) == gpu);
  for (const char* unknown : {"H1000", "B2000", "H100-turbo", "NVIDIA H1000", "L400", "T40", "RTX 40900", "./nowhere.yaml"})
    CHECK(gpu_of(unknown).empty());
}

TEST_CASE("an unknown GPU of kernels is refused once, with its line and the near names, unless its group is left out", "[calibrate]") {
  const std::string row = "G,g,s,H1000,,gemm_bf16,,4096,4096,,,,,,256,,20,,\n";
  const auto fit = [&](const std::vector<std::string>& leave_out) -> std::string {
    try {
      (void)calibrate_kernels(read(products({0.6, 0.8, 4e-6, 0}) + row + row), load_stack("nemo"), leave_out);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  const std::string said = fit({});
  INFO(said);
  CHECK((contains(said, ":37:7: gpu is \"H1000\"") && contains(said, "did you mean h100-sxm?") && !contains(said, ":38:")));
  CHECK(fit({"g"}).empty());
}

TEST_CASE("kernels of a GPU that one's own file describes are fitted to it, also by the file of a machine with it", "[calibrate]") {
  const tables::File half("name: half\ntitle: half\nextends: h100-sxm\nhbm: {bandwidth: 1700 GB/s}\n", "half.yaml");
  const tables::File box("name: box\ntitle: box\nextends: dgx-h100\ngpu: " + half.path().string() + "\n", "box.yaml");
  for (const tables::File* own : {&half, &box}) {
    const OpsRow row = read_one("G,g,s," + own->path().string() + ",,gemm_bf16,,4096,4096,,,,,,256,,20,,");
    CHECK(load_system(row.system, row.overrides).gpu.name == "half");
  }
}

TEST_CASE("a cell that is read as the shape of several kernels is refused once, and a reason gives its first row", "[ops]") {
  CHECK(tables::faults(header + "G,g,s,H100,,gemm_bf17,,4096,4096,,,,,,many,,20,,\n").size() == 1);
  const KernelStackAnswer fit =
      calibrate_kernels(read(products({0.6, 0.8, 4e-6, 0}) + "G,g,s,H100,,gemm_bf17,,4096,4096,,,,,,256,,20,,\n"), load_stack("nemo"));
  REQUIRE(fit.left.size() == 1);
  CHECK(contains(fit.left.front().reason, ":37)"));
}

}  // namespace own_kernels

// Published kernels and collectives: shapes by hand, machines, faults.

namespace {

const std::string header =
    "id,group,source,gpu,interconnect,op,model,hidden,ffn,heads,kv_heads,tp,ranks,ranks_per_node,tokens,bytes,time_us,derived,notes\n";

std::vector<OpsRow> read(const std::string& rows) { return read_ops_rows(tables::File(header + rows).path()); }
OpsRow read_one(const std::string& row) { return read(row + "\n").front(); }

}  // namespace

TEST_CASE("products of a layer have the sides of its rank", "[ops]") {
  // Llama 2 7B on two ranks, 32 tokens: published as 41.3, 33.55, 47.31 and 41.82 TFLOP/s
  const std::string shape = ",Llama-2-7b-hf,4096,11008,32,32,2,,,32,,";
  for (const auto& [op, us, tflops] : {std::tuple{"attn_pre_proj", "39.0", 41.3}, std::tuple{"attn_post_proj", "16.0", 33.55},
                                       std::tuple{"mlp_up_proj", "61.0", 47.31}, std::tuple{"mlp_down_proj", "34.5", 41.82}}) {
    const OpsRow row = read_one(std::string("O,vidur_gemm_a100,s,A100-80G,,") + op + shape + us + ",,");
    INFO(op);
    REQUIRE(row.row.skipped.empty());
    CHECK(row.kind == OpKind::product);
    CHECK(2 * row.rows * row.columns * row.inner / row.row.measured == Approx(1e12 * tflops).epsilon(2e-4));
  }
}

TEST_CASE("a product by itself and the heads of a layer count their own FLOPs", "[ops]") {
  const OpsRow one = read_one("O,llmcompass_matmul_a100,s,A100-80G,,matmul M=8192 K=1024 N=2048 fp16,,,,,,,,,8192,,92.7,,cuBLAS");
  CHECK(one.rows == 8192);
  CHECK(one.columns == 2048);
  CHECK(one.inner == 1024);
  const std::string layer = "GPT-3 175B one layer,12288,49152,96,96,4,4,4,";
  const OpsRow scores = read_one("O,llmcompass_gpt3_layer_tp4,s,A100-80G,\"NVLink3, 4 GPUs\",prefill Q_mul_K," + layer +
                                 "16384,,1881,,\"batch 8, sequence 2048, fp16\"");
  CHECK(2 * scores.rows * scores.columns * scores.inner == Approx(2.0 * 8 * 24 * 2048 * 2048 * 128));
  CHECK(scores.count == 8 * 24);
  const OpsRow decode = read_one("O,llmcompass_gpt3_layer_tp4,s,A100-80G,\"NVLink3, 4 GPUs\",decode A_mul_V," + layer +
                                 "8,,138,,\"batch 8, one token, context 2048 + 1024 generated\"");
  CHECK(decode.rows == 8 * 24);
  CHECK(decode.inner == 3072);
  CHECK(decode.columns == 128);
}

TEST_CASE("an element-wise kernel of few rows takes as long as one, of many as its bytes", "[ops]") {
  const System system = load_system("dgx-a100");
  const Processor gpu = Processor::of(system);
  OpsRow row;
  row.kind = OpKind::stream;
  const auto seconds = [&](double rows, double width) {
    row.rows = rows;
    row.columns = width;
    row.bytes = 6 * rows * width;
    return kernel_seconds(row, gpu);
  };
  CHECK(seconds(8, 28672) == Approx(seconds(1, 28672)).epsilon(0.01));
  CHECK(seconds(1, 28672) == Approx(8 * seconds(1, 3584)).epsilon(0.01));
  CHECK(seconds(1e6, 8192) == Approx(2 * seconds(5e5, 8192)).epsilon(0.01));
  CHECK(seconds(1e6, 8192) > 6e6 * 8192 / 2039e9);
}

TEST_CASE("collectives run on the machine the row names", "[ops]") {
  const auto placed = [](const char* gpu, const char* wires, const char* op, const char* ranks, const char* per_node) {
    return read_one(std::string("O,g,s,") + gpu + "," + wires + "," + op + ",,,,,,," + ranks + "," + per_node + ",,1048576,50,,");
  };
  CHECK(placed("A100-80G", "NVLink3 NVSwitch 8/node", "all_reduce", "8", "8").system == "dgx-a100");
  CHECK(placed("H100-80G", "NVLink4 NVSwitch 8/node", "send_recv", "2", "2").system == "dgx-h100");
  const OpsRow full = placed("A100-80G", "\"NVLink3, 4 GPUs fully connected\"", "all_reduce", "4", "4");
  CHECK(full.system == "hgx-a100-4");
  CHECK(full.row.fully_specified);
  const OpsRow pair = placed("A100-80G", "\"NVLink pairs, PCIe across pairs\"", "all_reduce", "2", "2");
  const System machine = load_system(pair.system, pair.overrides);
  CHECK(machine.domain == 2);
  CHECK(machine.tier(TierRole::scale_up)->bandwidth.value.value() == Approx(300e9));
  const OpsRow between = placed("A100-80G", "NVLink3 NVSwitch 8/node; cloud VM network between nodes", "all_reduce", "16", "8");
  CHECK(between.row.skipped.empty());
  CHECK(!between.row.fully_specified);
  CHECK(contains(placed("A100-80G", "\"NVLink pairs, PCIe across pairs\"", "send_recv", "2", "1").row.skipped, "not stated"));
  CHECK(contains(placed("Z9", "NVSwitch", "all_reduce", "8", "8").row.skipped, "Z9"));
}

TEST_CASE("what is no kernel known here says so, what is no number is refused", "[ops]") {
  CHECK(contains(read_one("O,g,s,A100-80G,,conv3d,m,4096,11008,32,32,1,,,32,,5,,").row.skipped, "conv3d"));
  CHECK(contains(read_one("O,g,s,A100-80G,,mlp_up_proj,m,,,,,1,,,32,,5,,").row.skipped, "shape"));
  CHECK(contains(read_one("O,g,s,A100-80G,NVSwitch,all_reduce,,,,,,,8,3,,1024,5,,").row.skipped, "8 ranks, 3"));
  CHECK(contains(read_one("O,g,s,A100-80G,NVSwitch,all_reduce,,,,,,,8,8,,,5,,").row.skipped, "bytes"));
  CHECK(contains(read_one("O,g,s,A100-80G,,matmul M=1 K=1 N=1 fp16,,,,,,,,,1,,,,").row.skipped, "no figure"));
  const std::vector<Issue> faults = tables::faults(header + "O,g,s,A100-80G,,mlp_up_proj,m,many,11008,32,32,1,,,32,,5,,\n");
  REQUIRE(faults.size() == 1);
  CHECK(faults.front().line == 2);
  CHECK(contains(faults.front().message, "many"));
}

TEST_CASE("kernels of any GPU that data/gpus knows are priced, whatever its wires") {
  const std::string call = "matmul M=8192 K=1024 N=2048 fp16,,,,,,,,,8192,,92.7,,cuBLAS";
  for (const auto& [gpu, system] :
       {std::pair{"H200", "dgx-h200"}, {"NVIDIA H200", "dgx-h200"}, {"B200", "dgx-b200"}, {"MI300X", "mi300x-8"}, {"L40S", "l40s-pcie"}}) {
    INFO(gpu);
    for (const char* wires : {"", "NVLink4 NVSwitch 8/node", "PCIe"}) {
      const OpsRow row = read_one(std::string("O,own,s,") + gpu + "," + wires + "," + call);
      CHECK(row.row.skipped.empty());
      CHECK(row.system == system);
    }
  }
  // no server is the usual one of these: any machine with the GPU, whose links play no part
  const OpsRow grace = read_one("O,own,s,GH200 480GB,," + call);
  CHECK(grace.row.skipped.empty());
  CHECK(grace.overrides == std::vector<std::string>{"gpu=gh200"});
  std::vector<OpsRow> rows{grace};
  predict_ops_rows(rows);
  CHECK(rows.front().row.predicted > 0);
  CHECK(contains(read_one("O,own,s,Q9000,," + call).row.skipped, "no machine known with a GPU \"Q9000\""));
  const std::string reduce = ",all_reduce,,,,,,,8,8,,1048576,60,,";
  CHECK(read_one("O,own,s,H200,NVLink4 NVSwitch 8/node" + reduce).system == "dgx-h200");
  CHECK_FALSE(read_one("O,own,s,H200,pairs of bridges" + reduce).row.skipped.empty());
}
