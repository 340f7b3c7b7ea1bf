/// \file test_launch_flags.cpp
/// The command lines with which other programs run a layout.

#include "catch.hpp"
#include "cli/launch_flags.hpp"
#include "support/message_of.hpp"

#include <fabricost/error.hpp>
#include <fabricost/specs/load.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace {

using fabricost::plan::launch_command;
using Json = nlohmann::ordered_json;

auto values(const Json& json) {
  return [json](const std::string& name) { return json.contains(name) ? json.at(name) : Json(); };
}

}  // namespace

TEST_CASE("flags at their default are left out, sums and products are worked out") {
  const Json layout = {{"model", "m"}, {"tp", 4}, {"pp", 1}, {"dp", 2}, {"ep", 8}, {"batch", 16.0}, {"isl", 4096}, {"osl", 512}, {"precision", "fp8"}};
  CHECK(launch_command("vllm", "serve", values(layout)) ==
        "vllm serve m --tensor-parallel-size 4 --data-parallel-size 2 --max-num-seqs 16 --max-model-len 4608 --enable-expert-parallel --quantization fp8");
  CHECK(launch_command("trtllm", "serve", values(layout)) == "trtllm-serve m --tp_size 8 --ep_size 8 --max_batch_size 16 --max_seq_len 4608");
}

TEST_CASE("switches follow flags, and a value of several has its words") {
  const Json layout = {{"tp", 2}, {"pp", 4}, {"vp", 2}, {"zero", 1}, {"sequence_parallel", true}, {"recompute", "full"}, {"precision", "bf16"}};
  const std::string command = launch_command("megatron", "train", values(layout));
  CHECK(command.ends_with("--sequence-parallel --use-distributed-optimizer --bf16 --recompute-granularity full --recompute-method uniform "
                          "--recompute-num-layers 1"));
  CHECK(command.find("--context-parallel-size") == std::string::npos);
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
