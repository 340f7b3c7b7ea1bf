// Questions asked through the command that a person thinks of first.
#include "cli/command_words.hpp"
#include "cli/launch_flags.hpp"
#include "cli/runner.hpp"

#include <fabricost/error.hpp>
#include <fabricost/specs/load.hpp>

#include "support/message_of.hpp"

#include "catch.hpp"

#include <CLI/CLI.hpp>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

using namespace fabricost::core;

namespace {

/// The command line rewritten; words are separated by blanks.
std::string rewritten(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return fabricost::cli::joined(fabricost::cli::as_commands(words), " ");
}

}  // namespace

TEST_CASE("messages name the command that was asked, an earlier name as that of today") {
  CHECK(fabricost::cli::asked_command({"plan", "train", "--vary", "domain=8"}) == "plan");
  CHECK(fabricost::cli::asked_command({"show", "dgx-h100"}) == "machine");
  CHECK(fabricost::cli::asked_command({"--version"}).empty());
  CHECK(fabricost::cli::asked_command({}).empty());
}

TEST_CASE("a question after plan, compare, need or explore is its flag") {
  CHECK(rewritten("plan train -m m") == "plan --train -m m");
  CHECK(rewritten("compare serve a b") == "compare --serve a b");
  CHECK(rewritten("plan --train -m serve") == "plan --train -m serve");
  CHECK(rewritten("diagnose train") == "diagnose train");
}

TEST_CASE("plan finds and varies as need and explore do") {
  CHECK(rewritten("plan serve -m m --find gpus --ttft 1s") == "need gpus --serve -m m --ttft 1s");
  CHECK(rewritten("plan train --find=nic.bandwidth") == "need nic.bandwidth --train");
  CHECK(rewritten("plan train --vary domain=8,16") == "explore --train --vary domain=8,16");
  CHECK(rewritten("plan train --find") == "plan --train --find");
}

TEST_CASE("predict explains, and sweeps where it is given several values") {
  CHECK(rewritten("predict all_reduce --explain -s m") == "explain all_reduce -s m");
  CHECK(rewritten("predict all_reduce --size 1KiB:1GiB:x2") == "sweep all_reduce --sizes 1KiB:1GiB:x2");
  CHECK(rewritten("predict all_reduce --size=1KiB,1MiB -s m") == "sweep all_reduce --sizes=1KiB,1MiB -s m");
  CHECK(rewritten("predict all_reduce --size 1KiB -n 1:8:x2") == "sweep all_reduce --size 1KiB -n 1:8:x2");
  CHECK(rewritten("predict all_reduce --size 1KiB --gpus 2:8:x2") == "sweep all_reduce --size 1KiB --gpus 2:8:x2");
  CHECK(rewritten("predict all_reduce --size 1KiB -s a:b") == "predict all_reduce --size 1KiB -s a:b");
  CHECK(rewritten("sweep all_reduce --size 1MiB:4GiB:x2") == "sweep all_reduce --sizes 1MiB:4GiB:x2");
  CHECK(rewritten("sweep all_reduce --size 1KiB -n 1:8:x2") == "sweep all_reduce --size 1KiB -n 1:8:x2");
  CHECK(rewritten("sweep moe_dispatch --tokens 1:128:x4 -s m") == "predict moe_dispatch --tokens 1:128:x4 -s m");
}

TEST_CASE("machines are compared on a whole run by project") {
  CHECK(rewritten("compare a b --tokens 15T --in 90d") == "project --system a,b --tokens 15T --in 90d");
  CHECK(rewritten("compare train a b --tokens 15T") == "project --system a,b --tokens 15T");
  CHECK(rewritten("compare a b --train --tokens 15T") == "project --system a,b --tokens 15T");
  CHECK(rewritten("cost failures --gpus 8") == "goodput --gpus 8");
}

TEST_CASE("earlier names of commands stay") {
  CHECK(rewritten("show dgx-h100") == "machine dgx-h100");
  CHECK(rewritten("systems --json") == "machine --json");
  CHECK(rewritten("help models") == "help model");
  CHECK(rewritten("--json systems") == "--json machine");
  CHECK(rewritten("diagnose show") == "diagnose show");
  CHECK(rewritten("").empty());
}

// The exit status of a command by how it ends.

namespace {

int status_of(const std::function<std::string()>& work) {
  fabricost::cli::Runner runner;
  CLI::App& sub = *runner.app().add_subcommand("ask", "a question");
  runner.add(sub, [&](const fabricost::cli::Terminal&) { return work(); });
  return runner.run({"ask"});
}

}  // namespace

TEST_CASE("an answer is 0, a finding 1, a refusal 2, and a fault of the program 70") {
  CHECK(status_of([] { return std::string{}; }) == 0);
  CHECK(status_of([]() -> std::string { throw fabricost::cli::CheckFailed{""}; }) == 1);
  CHECK(status_of([]() -> std::string { throw RequestError("no such thing"); }) == 2);
  CHECK(status_of([]() -> std::string { throw std::bad_alloc(); }) == 2);
  CHECK(status_of([]() -> std::string { throw std::logic_error("never"); }) == 70);
}

// The command lines with which other programs run a layout.

namespace {

std::string launch_command(std::string_view program, std::string_view question, const fabricost::plan::ValueOf& value_of) {
  return fabricost::plan::launch_of(program, question, value_of).command;
}
using fabricost::plan::stack_to_launch;
using Json = nlohmann::ordered_json;

auto values(const Json& json) {
  return [json](const std::string& name) { return json.contains(name) ? json.at(name) : Json(); };
}

}  // namespace

TEST_CASE("flags at their default are left out, sums and products are worked out") {
  const Json layout = {{"checkpoint", "m"}, {"tp", 4}, {"pp", 1}, {"dp", 2}, {"ep", 8}, {"sequences", 16}, {"longest", 4608}, {"kv", "fp8"}, {"narrow_kv", true}, {"replicas_of_attention", 2}, {"own_drafts", 3}};
  // vLLM and TensorRT-LLM count sequences of a replica of attention, SGLang of them all
  CHECK(launch_command("vllm", "serve", values(layout)) ==
        "vllm serve m --tensor-parallel-size 4 --data-parallel-size 2 --max-num-seqs 8 --max-model-len 4608 --enable-expert-parallel "
        "--speculative-config '{\"method\":\"mtp\",\"num_speculative_tokens\":3}' --kv-cache-dtype fp8");
  CHECK(launch_command("sglang", "serve", values(layout)) ==
        "python -m sglang.launch_server --model-path m --tp-size 8 --dp-size 2 --ep-size 8 --max-running-requests 16 --context-length 4608 "
        "--enable-dp-attention --speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 "
        "--speculative-num-draft-tokens 4 --kv-cache-dtype fp8_e4m3");
  const fabricost::plan::LaunchCommand trtllm = fabricost::plan::launch_of("trtllm", "serve", values(layout));
  CHECK(trtllm.command == "trtllm-serve m --tp_size 8 --ep_size 8 --max_batch_size 8 --max_seq_len 4608 --extra_llm_api_options serve.yaml");
  CHECK(trtllm.by_hand == std::vector<std::string>{"serve.yaml holds {enable_attention_dp: true, kv_cache_config: {dtype: fp8}, "
                                                   "speculative_config: {decoding_type: MTP, num_nextn_predict_layers: 3}}"});
}

TEST_CASE("a plan of one engine starts no other, and what a command cannot say is left to do or refused") {
  const Json other = {{"library", "sglang"}};
  CHECK_THROWS_WITH(launch_command("vllm", "serve", values(other)), Catch::Contains("the plan is of sglang"));
  const Json apart = {{"role", "kv_consumer"}};
  CHECK(launch_command("vllm", "serve", values(apart)).find("NixlConnector") != std::string::npos);
  CHECK_THROWS_WITH(launch_command("trtllm", "serve", values(apart)), Catch::Contains("TensorRT-LLM has no flags for role"));
  const Json narrow = {{"converted", "fp4"}, {"nodes", 2}};
  CHECK(fabricost::plan::launch_of("sglang", "serve", values(narrow)).by_hand.size() == 2);
}

TEST_CASE("switches follow flags, and a value of several has its words") {
  const Json layout = {{"tp", 2}, {"pp", 4}, {"vp", 2}, {"zero", 1}, {"sequence_parallel", true}, {"recompute", "full"}, {"recompute_method", "uniform"}, {"precision", "bf16"}};
  const std::string command = launch_command("megatron", "train", values(layout));
  CHECK(command.ends_with("--sequence-parallel --use-distributed-optimizer --bf16 --recompute-granularity full --recompute-method uniform "
                          "--recompute-num-layers 1"));
  CHECK(command.find("--context-parallel-size") == std::string::npos);
}

TEST_CASE("what Megatron-LM has no default for is stated, and partial recomputation is counted by chunk") {
  Json layout = {{"tp", 8}, {"pp", 4}, {"vp", 5}, {"virtual_stages", 5}, {"microbatch", 1}, {"expert_tp", 1}, {"global_batch", 64}, {"sequence", 4096}};
  layout.update({{"recompute", "full"}, {"recompute_method", "block"}, {"recompute_num_layers", 40}, {"recompute_of_each_chunk", 2}, {"optimizer_offload_fraction", 0.5}});
  const std::string command = launch_command("megatron", "train", values(layout));
  CHECK(command.find("--micro-batch-size 1 ") != std::string::npos);
  CHECK(command.find("--expert-tensor-parallel-size 1 ") != std::string::npos);  // Megatron's default is tp
  CHECK(command.find("--optimizer-offload-fraction 0.5 ") != std::string::npos);
  CHECK(command.ends_with("--recompute-granularity full --recompute-method block --recompute-num-layers 2"));  // 40 of 4 x 5 chunks
}

TEST_CASE("a layout that a program cannot run is refused") {
  Json layout = {{"pp", 4}, {"schedule", "dualpipe"}};
  CHECK_THROWS_WITH(launch_command("megatron", "train", values(layout)), Catch::Contains("Megatron-LM has no flags for schedule dualpipe"));
  for (const char* const field : {"lora_rank", "load_in_4bit", "frozen_model", "sites"}) {
    layout = {{field, field == std::string{"lora_rank"} || field == std::string{"sites"} ? Json(16) : Json(true)}};
    for (const char* const program : {"megatron", "torchtitan"})
      CHECK_THROWS_WITH(launch_command(program, "train", values(layout)), Catch::Contains(std::string{"has no flags for "} + field));
  }
  layout = {{"recompute", "full"}, {"recompute_method", "uneven"}, {"recompute_num_layers_above", 54}};
  CHECK_THROWS_WITH(launch_command("megatron", "train", values(layout)), Catch::Contains("give recompute_num_layers 54"));
  layout = {{"recompute", "full"}, {"recompute_method", "block"}};
  CHECK_THROWS_WITH(launch_command("torchtitan", "train", values(layout)), Catch::Contains("give recompute full or none"));
}

TEST_CASE("a program runs the stacks that are made of it") {
  CHECK(stack_to_launch("megatron", "", "nemo") == "nemo");
  CHECK(stack_to_launch("torchtitan", "", "nemo") == "torchtitan");
  CHECK(stack_to_launch("torchtitan", "torchtitan-eager", "") == "torchtitan-eager");
  CHECK_THROWS_WITH(stack_to_launch("megatron", "maxtext-tpu", ""), Catch::Contains("does not run stack maxtext-tpu"));
  CHECK(stack_to_launch("vllm", "", "nemo").empty());
}

TEST_CASE("every program of data/launchers is read, and of its own question alone") {
  const auto none = values(Json::parse(R"({"model": "m"})"));
  for (const std::string& name : fabricost::core::names_in("launchers")) {
    int answered = 0;
    for (const char* question : {"train", "serve"}) try {
        answered += launch_command(name, question, none).empty() ? 0 : 1;
      } catch (const fabricost::core::RequestError& error) {
        CHECK(std::string{error.what()}.find(name + " is of plan") != std::string::npos);
      }
    CHECK(answered == 1);
  }
  CHECK_THROWS_WITH(launch_command("ray", "train", none), Catch::Contains("write one of megatron, sglang"));
}
