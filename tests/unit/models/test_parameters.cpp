// Parameters that follow from a shape against published ones, and the counts of a hand calculation.
#include "catch.hpp"

#include <fabricost/plan/specs/load_model.hpp>

using namespace fabricost::plan;

namespace {

/// Half a unit of the last of a number's significant digits, of at least `digits` of them: 37e9 to two digits is 0.5e9.
double rounding(double stated, int digits) { return 0.5 * std::pow(10, std::floor(std::log10(stated)) - (digits - 1)); }

/// True when two digits say all of it.
bool is_rounded(double stated) {
  const double unit = std::pow(10, std::floor(std::log10(stated)) - 1);
  return std::fabs(stated / unit - std::round(stated / unit)) < 1e-9;
}

}  // namespace

TEST_CASE("every model's parameters are the published ones", "[models]") {
  int stated = 0;
  for (const std::string& name : model_names()) {
    const Model m = load_model(name);
    if (m.stated_parameters <= 0) continue;
    ++stated;
    const double wanted = m.stated_parameters - m.stated_other;
    const double derived = parameters_of(m).total;
    // within 1 %; where two digits were published, within 2 % or what rounds to them
    const double allowed = is_rounded(m.stated_parameters) ? std::max(0.02 * wanted, rounding(wanted, 2)) : 0.01 * wanted;
    INFO(name << ": " << derived << " derived, " << wanted << " published");
    CHECK(std::fabs(derived - wanted) <= allowed);
  }
  CHECK(stated >= 80);
}

TEST_CASE("active parameters are the published ones, with both tables, the output table or neither", "[models]") {
  int stated = 0;
  for (const std::string& name : model_names()) {
    const Model m = load_model(name);
    if (m.stated_active <= 0) continue;
    ++stated;
    const ParameterCount n = parameters_of(m);
    double nearest = 1e300;
    for (const double counted : {n.active, n.active - n.embedding, n.active - n.embedding - n.head})
      nearest = std::min(nearest, std::fabs(counted - m.stated_active));
    INFO(name << ": " << n.active << " active, " << n.embedding << " a table, " << m.stated_active << " published");
    CHECK(nearest <=
          std::max(0.01 * m.stated_active, rounding(m.stated_active, m.stated_active < 10e9 && is_rounded(m.stated_active) ? 1 : 2)));
  }
  CHECK(stated >= 25);
}

TEST_CASE("a layer of Llama 3 70B has 855.6 M parameters, the model 70.55 B", "[models]") {
  const Model m = load_model("llama3-70b");
  const ParameterCount n = parameters_of(m);
  // q and o 2 x 8192 x 8192, k and v 2 x 8192 x 1024, three matrices 8192 x 28672
  CHECK(n.attention == 2.0 * 8192 * 8192 + 2.0 * 8192 * 1024);
  CHECK(n.attention + n.dense_ffn == 855638016);
  CHECK(n.total / 1e9 == Approx(70.55).margin(0.005));
  CHECK(n.total == 80 * (855638016.0 + 2 * 8192) + 2 * 128256.0 * 8192 + 8192);
}

TEST_CASE("Llama 3.1 405B has 126 layers of hidden 16384, 128 heads and 8 for keys and values", "[models]") {
  const Model m = load_model("llama3-405b");
  CHECK(m.layers == 126);
  CHECK(m.hidden == 16384);
  CHECK(m.heads == 128);
  CHECK(m.kv_heads == 8);
  CHECK(m.gated);
}

TEST_CASE("DeepSeek-V3 is the sum of its matrices", "[models]") {
  const double attention = 7168.0 * 1536 + 1536.0 * 128 * 192 + 7168.0 * 576 + 512.0 * 128 * 256 + 128.0 * 128 * 7168;
  const double expert = 3.0 * 7168 * 2048;
  const double layers = 61 * (attention + 2 * 7168) + 3 * 3.0 * 7168 * 18432 + 58 * (257 * expert + 7168.0 * 256);
  CHECK(parameters_of(load_model("deepseek-v3")).total == layers + 2 * 129280.0 * 7168 + 7168);
}

TEST_CASE("experts stand in every second layer of Maverick, in every layer of Scout, after the first of Kimi K2", "[models]") {
  CHECK(load_model("llama4-maverick").expert_layers() == 24);
  CHECK(load_model("llama4-maverick").dense_layers() == 24);
  CHECK(load_model("llama4-scout").expert_layers() == 48);
  CHECK(load_model("kimi-k2").expert_layers() == 60);
  CHECK(load_model("mixtral-8x7b").dense_layers() == 0);
}

TEST_CASE("layers of hybrids are counted by kind", "[models]") {
  const Model nano = load_model("nemotron3-nano-30b-a3b");
  CHECK(nano.attention_layers() == 6);
  CHECK(nano.mixer.layers == 23);
  CHECK(nano.expert_layers() == 23);
  CHECK(nano.dense_layers() == 0);
  const Model h = load_model("nemotron-h-56b");
  CHECK(h.attention_layers() == 10);
  CHECK(h.mixer.layers + h.dense_layers() == 108);
  const Model qwen = load_model("qwen3.5-397b-a17b");
  CHECK(qwen.attention_layers() == 15);
  CHECK(qwen.expert_layers() == 60);
  CHECK(load_model("gemma-4-31b").full_layers() == 10);
}

TEST_CASE("the mixtures of 1.8 and 5 T are of that size and assumed", "[models]") {
  for (const auto& [name, size] : {std::pair{"moe-1.8t", 1.8e12}, std::pair{"moe-5t", 5e12}}) {
    const Model m = load_model(name);
    CHECK(parameters_of(m).total == Approx(size).epsilon(0.02));
    CHECK(m.confidence == "assumed");
    CHECK(m.heads % 8 == 0);
    CHECK(m.kv_heads % 8 == 0);
  }
  const Model small = load_model("moe-1.8t");
  CHECK(parameters_of(small).expert * small.expert_layers() == Approx(111e9).epsilon(0.01));
  CHECK(load_model("moe-5t").experts % 72 == 0);
}

TEST_CASE("more of anything is more parameters", "[models]") {
  for (const std::string& name : model_names()) {
    const Model m = load_model(name);
    const double before = parameters_of(m).total;
    Model wider = m;
    wider.vocab += 128;
    wider.recommender.rows += 128;
    INFO(name);
    CHECK(parameters_of(wider).total > before);
    if (m.mixture() && m.expert_layers() > 0) {
      wider = m;
      ++wider.experts;
      const ParameterCount after = parameters_of(wider);
      CHECK(after.total > before);
      CHECK(after.active - parameters_of(m).active == Approx(double(m.hidden) * m.expert_layers()));  // a router's column each
    }
    CHECK(parameters_of(m).active <= before);
    CHECK(parameters_of(m).multiplied <= parameters_of(m).active + parameters_of(m).embedding);
  }
}
