// Published steps as jobs: the meaning of a row, refused rows with their place, skipped rows with the reason.
#include "tables.hpp"

#include "support/message_of.hpp"

#include <catch.hpp>

#include <chrono>
#include <cmath>

using namespace fabricost::plan;
using support::contains;
using tables::Cells;

TEST_CASE("a cell that is no number is refused with file, line and column", "[training]") {
  for (const char* column : {"gpus", "tp", "pp", "vpp", "cp", "ep", "microbatch", "global_batch", "seq", "zero_stage", "layers", "hidden"})
    for (const char* text : {"eight", "-8", "8.5", "1e12", "nan", "inf", "0x10", "8 8"}) {
      const std::string table = tables::training({{}, {{column, text}}});
      const std::vector<Issue> found = tables::faults(table);
      INFO(column << " = " << text);
      REQUIRE(found.size() == 1);
      CHECK(found.front().line == 3);
      CHECK(found.front().column == tables::column_of(table, column));
      CHECK(contains(found.front().message, column));
      CHECK(contains(found.front().message, text));
      CHECK(!found.front().remedy.empty());
    }
  for (const char* column : {"value", "memory_gib"}) CHECK(tables::faults(tables::training({{{column, "fast"}}})).size() == 1);
}

TEST_CASE("words that are not known are refused with those that are", "[training]") {
  for (const auto& [column, text, offers] :
       {std::tuple{"recompute", "sometimes", "selective"}, std::tuple{"sequence_parallel", "perhaps", "yes"},
        std::tuple{"zero_stage", "7", "0, 1, 2 or 3"}}) {
    const std::vector<Issue> found = tables::faults(tables::training({{{column, text}}}));
    REQUIRE(found.size() == 1);
    CHECK(contains(found.front().message, text));
    CHECK(contains(found.front().remedy, offers));
  }
}

TEST_CASE("rows that are no rows are refused, all of them at once", "[training]") {
  const std::string sound = tables::training({{}});
  CHECK(tables::faults(sound).empty());
  CHECK(tables::faults(sound + "X2,group,model\n").size() == 1);
  CHECK(tables::faults(sound + "X2,\"open\n").size() == 1);
  CHECK(tables::faults(tables::training({{{"gpus", "a"}}, {{"tp", "b"}}, {{"seq", "c"}}})).size() == 3);
}

TEST_CASE("an empty table is a table, an empty file is none", "[training]") {
  CHECK(tables::read({}).empty());
  CHECK(workload_table(tables::File("").path()) == WorkloadTable::none);
  CHECK(workload_table(tables::File("# only a comment\n").path()) == WorkloadTable::none);
  CHECK(workload_table(tables::File(tables::training({})).path()) == WorkloadTable::training);
  CHECK(workload_table(tables::File("source,system,bytes,time_us\n").path()) == WorkloadTable::none);
}

TEST_CASE("jobs that cannot be are skipped with the reason", "[training]") {
  const auto why = [](const Cells& row) { return tables::read_one(row).row.skipped; };
  CHECK(why({}).empty());
  CHECK(contains(why({{"gpu", "Trainium1"}}), "Trainium1"));
  CHECK(contains(why({{"tp", "3"}}), "does not divide"));
  CHECK(contains(why({{"tp", "16"}}), "does not divide"));
  CHECK(contains(why({{"tp", "1000000000"}, {"pp", "1000000000"}}), "does not divide"));
  CHECK(contains(why({{"global_batch", "4"}}), "8 replicas"));
  CHECK(contains(why({{"gpus", "1000000000"}, {"microbatch", "1000000000"}, {"global_batch", "1000000000"}}), "replicas"));
  CHECK(contains(why({{"global_batch", ""}}), "not stated"));
  CHECK(contains(why({{"model", "nobody-knows-this"}}), "shape"));
  CHECK(contains(why({{"model", "mixtral-8x7b"}, {"gpus", "64"}, {"global_batch", "64"}, {"ep", "16"}}), "more expert ranks than experts"));
  CHECK(contains(why({{"precision", "INT8"}}), "INT8"));
  CHECK(contains(why({{"measured_metric", "time_to_train_min"}}), "no time of a step"));
  CHECK(contains(why({{"value", ""}}), "no figure"));
  CHECK(contains(why({{"notes", "task=lora (packed 4096); LoRA freezes base weights"}}), "adapters"));
}

TEST_CASE("a row's own shape wins over the model's, and two matrices are told from three by the parameters", "[training]") {
  const TrainingRow proxy = tables::read_one({{"model", "llama3-70b"}, {"layers", "12"}});
  CHECK(proxy.model.layers == 12);
  CHECK(proxy.model.hidden == 8192);
  Cells unknown{{"model", "somebody's"}, {"layers", "24"}, {"hidden", "2048"}, {"heads", "16"}, {"vocab", "50000"}, {"ffn", "8192"}};
  CHECK(tables::read_one(unknown).model.gated);
  unknown["model"] = "GPT of ours";
  CHECK(!tables::read_one(unknown).model.gated);
}

TEST_CASE("figures become seconds by what they count", "[training]") {
  const auto seconds = [](const char* metric, const char* value) {
    return tables::read_one({{"measured_metric", metric}, {"value", value}}).row.measured;
  };
  const double tokens = 16 * 4096.0;
  CHECK(seconds("step_time_s", "2.5") == 2.5);
  CHECK(seconds("step_time_ms", "2500") == Approx(2.5));
  CHECK(seconds("tokens_per_s", "10000") == Approx(tokens / 10000));
  CHECK(seconds("tokens_per_s_per_gpu", "10000") == Approx(tokens / 80000));
  // Llama 3 8B: 7.50 G multiplied (8.03 G less the input table), 32 layers of 4096 wide queries
  const double flops = tokens * (6 * 7.504e9 + 12.0 * 32 * 4096 * 4096);
  CHECK(seconds("tflops_per_gpu", "400") == Approx(flops / (8 * 400e12)).epsilon(1e-3));
  CHECK(seconds("mfu_pct", "40") == Approx(flops / (8 * 0.4 * 989.5e12)).epsilon(1e-3));
}

TEST_CASE("notes say what columns cannot", "[training]") {
  CHECK(tables::read_one({{"recompute", "full"}, {"notes", "full recompute of 5 of 32 layers only (block) per recipe"}})
            .layout.recompute_layers == 5);
  CHECK(tables::read_one({{"notes", "MCore; expert TP 2; capacity factor 1"}}).layout.expert_tp == 2);
  CHECK(tables::read_one({{"zero_stage", "3"}, {"notes", "SHARD_GRAD_OP"}}).layout.zero == 2);
  CHECK(tables::read_one({{"zero_stage", "2"}}).layout.zero == 2);
  CHECK(tables::read_one({{"zero_stage", "2"}, {"pp", "2"}}).layout.zero == 1);
  CHECK(tables::read_one({{"notes", "CP uses all-gather of K and V"}}).layout.context == ContextParallel::all_gather);
  CHECK(tables::read_one({{"notes", "full recompute of 99999999999999999999 of 3"}}).layout.recompute_layers == 0);
  const auto modules = [](const char* recompute, const char* notes) {
    return tables::read_one({{"recompute", recompute}, {"notes", notes}}).layout.recompute_modules;
  };
  const auto two = modules("selective", "modules layernorm+moe_act; forced-balanced routing");
  CHECK((two.has(RecomputeModule::layernorm) && two.has(RecomputeModule::moe_act) && !two.has(RecomputeModule::moe)));
  CHECK(modules("selective", "recompute stated as: selective modules=mlp; NICs").has(RecomputeModule::mlp));
  CHECK(modules("selective", "fp8; mlp stays in 16 bit") == SetOf<RecomputeModule>{});
  CHECK(modules("none", "modules=mlp") == SetOf<RecomputeModule>{});
}

TEST_CASE("a layout whose recomputation is not stated is priced as named, MaxText's policies as the nearest", "[training]") {
  CHECK(tables::read_one({{"recompute", ""}}).layout.recompute == Recompute::none);
  CHECK(tables::read_one({{"recompute", "selective per-op"}}).layout.recompute == Recompute::selective);
  CHECK(tables::read_one({{"recompute", "selective (default toml)"}}).layout.recompute == Recompute::selective);
  for (const char* policy : {"custom", "custom (offload)", "qkv_proj offloaded", "minimal_with_context (projections kept)"}) {
    const TrainingRow job = tables::read_one({{"recompute", policy}});
    INFO(policy);
    CHECK(job.row.skipped.empty());
    CHECK(job.layout.recompute == (policy[0] == 'm' ? Recompute::selective : Recompute::full));
    CHECK_FALSE(job.recompute_stated);  // what it keeps in memory is not known
  }
  std::vector<TrainingRow> jobs = tables::read({{{"recompute", ""}}, {{"recompute", "none"}}});
  predict_training_rows(jobs);
  CHECK(jobs[0].row.predicted == jobs[1].row.predicted);
}

TEST_CASE("layouts that ran and are said not to fit are counted", "[training]") {
  const Cells large{{"id", "L"}, {"group", "nemo_made"}, {"model", "llama3-70b"}, {"zero_stage", "0"}};
  Cells unstated = large;
  unstated["id"] = "U";
  unstated["recompute"] = "";
  const tables::File file(tables::training({{{"zero_stage", "3"}}, large, unstated}));
  const WorkloadReport report = validate_workloads({file.path()});
  CHECK(report.layouts == 2);
  CHECK(report.unfit == std::vector<std::string>{"L"});
  CHECK(report.rows[0].fits == true);
  CHECK(report.rows[1].fits == false);
  CHECK_FALSE(report.rows[2].fits.has_value());
}

TEST_CASE("precisions are read in every spelling in use", "[training]") {
  for (const auto& [text, wanted] :
       {std::pair{"BF16", Precision::bf16}, std::pair{"amp_bf16", Precision::bf16}, std::pair{"", Precision::bf16},
        std::pair{"FP16", Precision::fp16}, std::pair{"FP8", Precision::fp8}, std::pair{"FP8-CS", Precision::fp8},
        std::pair{"FP8-MX", Precision::fp8}, std::pair{"MXFP8", Precision::fp8}, std::pair{"FP8 rowwise", Precision::fp8},
        std::pair{"NVFP4", Precision::fp4}}) {
    INFO(text);
    CHECK(tables::read_one({{"precision", text}}).layout.precision == wanted);
  }
}

TEST_CASE("a table of many thousand rows is read and priced in seconds", "[training]") {
  std::vector<Cells> rows(20000);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = {{"id", std::to_string(i)}, {"global_batch", std::to_string(8 * (1 + i % 100))}};
  const tables::File file(tables::training(rows));
  const auto start = std::chrono::steady_clock::now();
  const WorkloadReport report = validate_workloads({file.path()});
  CHECK(report.total.points == 20000);
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < 20);
}

TEST_CASE("errors are by group, of fully specified rows alone, everything else is counted with its reason", "[training]") {
  const tables::File file(
      tables::training({{{"group", "a"}}, {{"group", "b"}}, {{"group", "b"}, {"fully_specified", "no"}}, {{"gpu", "abacus"}}}));
  const WorkloadReport report = validate_workloads({file.path()});
  CHECK(report.total.points == 2);
  REQUIRE(report.by_group.size() == 2);
  CHECK(report.by_group.front().name == "a");
  int skipped = 0;
  for (const Skipped& s : report.skipped) skipped += s.rows;
  CHECK(skipped == 2);
  CHECK(report.rows.size() == 4);
  for (const WorkloadRow& row : report.rows)
    if (row.skipped.empty()) {
      CHECK(row.low < row.predicted);
      CHECK(row.predicted < row.high);
    }
}
