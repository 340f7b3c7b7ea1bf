#include "stacks.hpp"

#include <fabricost/error.hpp>

#include <catch.hpp>

#include <filesystem>
#include <fstream>

using namespace fabricost;
using namespace fabricost::test;

namespace {

const std::string header =
    "id,group,model,layers,hidden,ffn,heads,kv_heads,vocab,seq,experts,top_k,gpus,tp,pp,vpp,cp,ep,microbatch,global_batch,precision,"
    "recompute,"
    "sequence_parallel,zero_stage,memory_gib,fully_specified\n";

/// A file of these rows that goes with the object.
struct Table {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("fabricost-memory-rows-" + std::to_string(std::rand()) + ".csv");
  explicit Table(const std::string& text) { std::ofstream(path) << text; }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() { std::filesystem::remove(path); }

  [[nodiscard]] std::vector<MemoryRow> rows() const {
    return predict_memory_rows(
        path, [](const std::string&) { return std::optional<Model>(); }, stack_of_group);
  }
  [[nodiscard]] std::string error() const {
    try {
      (void)rows();
    } catch (const SpecError& e) {
      return e.what();
    }
    return "none";
  }
};

}  // namespace

TEST_CASE("a row becomes a model, a layout and its worst stage") {
  const Table table(header + "T1,simumax_x,GPT-8B,32,4096,16384,32,32,51200,2048,0,0,32,2,2,1,1,1,1,64,BF16,full,yes,1,20.5,yes\n");
  const auto rows = table.rows();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].skipped.empty());
  CHECK(rows[0].line == 2);
  CHECK(rows[0].fully_specified);
  Model m;
  m.layers = 32, m.hidden = 4096, m.heads = m.kv_heads = 32, m.head_dim = 128, m.ffn = 16384, m.vocab = 51200, m.gated = false,
  m.biases = true;
  Layout l;
  l.tp = 2, l.pp = 2, l.dp = 8, l.global_batch = 64, l.sequence = 2048, l.zero = 1, l.recompute = Recompute::full,
  l.sequence_parallel = true;
  l.schedule = PipelineSchedule::one_f_one_b;
  CHECK(rows[0].predicted == Approx(worst_stage(m, l, simumax()).total() / 1073741824.0).epsilon(1e-12));
}

TEST_CASE("rows that cannot be priced say why") {
  const std::string start = "T1,simumax_x,GPT-8B,32,4096,16384,32,32,51200,2048,0,0,";
  CHECK(Table(header + start + "32,3,2,1,1,1,1,64,BF16,full,yes,1,20.5,yes\n").rows().at(0).skipped.find("do not divide 32 GPUs") !=
        std::string::npos);
  CHECK(Table(header + start + "32,1,1,1,1,1,4,64,BF16,full,yes,1,20.5,yes\n").rows().at(0).skipped.find("batch") != std::string::npos);
  CHECK(Table(header + "T1,nobody,GPT-8B,32,4096,16384,32,32,51200,2048,0,0,32,1,1,1,1,1,1,64,BF16,full,yes,1,20.5,yes\n")
            .rows()
            .at(0)
            .skipped.find("nobody") != std::string::npos);
  CHECK(Table(header + "T1,simumax_x,Unknown-1T,,,,,,,2048,0,0,32,1,1,1,1,1,1,64,BF16,full,yes,1,20.5,yes\n")
            .rows()
            .at(0)
            .skipped.find("shape not known") == 0);
  CHECK(Table(header + start + "32,1,1,1,1,1,1,64,BF16,most,yes,1,20.5,yes\n").rows().at(0).skipped ==
        "recompute \"most\" is not known here");
  CHECK(Table(header + start + "32,1,1,1,1,1,1,64,INT3,full,yes,1,20.5,yes\n").rows().at(0).skipped ==
        "precision \"INT3\" is not known here");
  CHECK(Table(header + start + "32,1,1,1,1,1,1,64,FP8 tensorwise,full,yes,1,20.5,yes\n").rows().at(0).skipped.empty());
  CHECK(Table(header + start + "32,1,1,1,1,1,1,64,BF16,full,yes,1,,yes\n").rows().empty());
}

TEST_CASE("malformed cells are refused with line and column") {
  const std::string start = "T1,simumax_x,GPT-8B,32,4096,16384,32,32,51200,2048,0,0,";
  const auto refused = [&](const std::string& rest, const char* words) {
    const std::string error = Table(header + start + rest + "\n").error();
    INFO(error);
    CHECK(error.find(words) != std::string::npos);
    CHECK(error.find(".csv:2:") != std::string::npos);
  };
  refused("32,two,1,1,1,1,1,64,BF16,full,yes,1,20.5,yes", "tp is \"two\", not a whole number");
  refused("32,-2,1,1,1,1,1,64,BF16,full,yes,1,20.5,yes", "tp is \"-2\"");
  refused("32,1.5,1,1,1,1,1,64,BF16,full,yes,1,20.5,yes", "tp is \"1.5\"");
  refused("99999999999,1,1,1,1,1,1,64,BF16,full,yes,1,20.5,yes", "gpus is");
  refused("32,1,1,1,1,1,1,64,BF16,full,yes,1,-20,yes", "memory_gib is \"-20\"");
  CHECK(Table("id,group\nT1,x\n").error().find("memory_gib are missing") != std::string::npos);
}
