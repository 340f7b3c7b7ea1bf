// Our shapes against the tables of published results: the same models, the same numbers, read from elsewhere.
#include "catch.hpp"

#include "text/csv.hpp"
#include "support/measurements.hpp"

#include <fabricost/plan/model/flops.hpp>
#include <fabricost/plan/specs/load_model.hpp>

using namespace fabricost::plan;

namespace {

/// The columns of one row by name.
class Row {
 public:
  explicit Row(const CsvTable& table) : table_(table) {}
  [[nodiscard]] const std::string& text(const char* column) const { return table_.cell(table_.column(column)); }
  /// Checks a number that is given.
  void same(const char* column, double ours) const {
    const auto theirs = parse_number(text(column));
    if (!theirs) return;
    INFO(column);
    CHECK(ours == *theirs);
  }

 private:
  const CsvTable& table_;
};

/// A model, read once: tables name few in many rows.
const Model& named(const std::string& name) {
  static std::map<std::string, Model> read;
  const auto known = read.find(name);
  return known != read.end() ? known->second : read.emplace(name, load_model(name)).first->second;
}

}  // namespace

TEST_CASE("every model of the table of shapes is shipped, under all its names, with the same shape", "[models][measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  CsvTable table(folder / "workloads" / "models.csv");
  int models = 0;
  while (table.next()) {
    const Row row(table);
    ++models;
    INFO(row.text("model"));
    const Model& m = named(row.text("model") == "LLaMA-70B" ? "llama2-70b" : row.text("model"));  // the command asks which generation
    std::stringstream aliases(row.text("aliases"));
    for (std::string alias; std::getline(aliases, alias, ';');) {
      alias.erase(0, alias.find_first_not_of(' '));
      if (alias.empty()) continue;
      INFO(alias);
      // a note of the table, and a name of another row's model: the shape is the one
      if (alias.ends_with("(same shape)") || alias == "Llama-2 70B") continue;
      CHECK(model_named(alias) == m.name);
    }
    row.same("layers", m.layers);
    row.same("hidden", m.hidden);
    row.same("heads", m.heads);
    row.same("vocab", m.vocab);
    if (m.ffn > 0 && !m.partial.starts_with("layers differ")) row.same("ffn_dense", m.ffn);
    const bool gemma = m.name.starts_with("gemma");  // the table gives the heads of the layers with a window
    if (!m.latent()) {
      row.same("kv_heads", gemma ? m.window_kv_heads : m.kv_heads);
      row.same("head_dim", gemma ? m.window_head_dim : m.head_dim);
    }
    row.same("experts", m.experts);
    row.same("top_k", m.top_k);
    row.same("moe_ffn", m.expert_ffn);
    row.same("q_lora_rank", m.q_rank);
    if (m.latent()) {
      row.same("kv_lora_rank", m.kv_rank);
      row.same("qk_rope_dim", m.rope_dim);
      row.same("qk_nope_dim", m.nope_dim);
      row.same("v_dim", m.value_dim);
    } else if (!row.text("v_dim").empty()) {
      row.same("v_dim", m.value_dim);
    }
    if (m.mixture()) row.same("shared_experts", m.shared_experts);
    if (!row.text("first_dense_layers").empty()) row.same("first_dense_layers", m.first_dense);
    if (m.window > 0) row.same("sliding_window", m.window);
    if (m.expert_groups > 0) {
      row.same("n_group", m.expert_groups);
      row.same("topk_group", m.group_limit);
    }
    if (row.text("tie_embeddings") == "True") CHECK(m.tied);
    if (row.text("tie_embeddings") == "False") CHECK_FALSE(m.tied);
    if (const auto& note = row.text("note"); note.starts_with("params ")) {
      const double stated = parse_number(note.substr(7, note.find(' ', 7) - 7)).value_or(0);
      if (stated >= 10) CHECK(parameters_of(m).total / 1e9 == Approx(stated).epsilon(0.035));
    }
  }
  CHECK(models == 98);
}
