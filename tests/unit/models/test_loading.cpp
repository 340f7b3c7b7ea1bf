// Model files: names, aliases, extends, and the messages for a broken one.
#include "catch.hpp"

#include "support/message_of.hpp"
#include "unit/specs/broken.hpp"

#include <fabricost/plan/specs/load_model.hpp>

#include <cctype>

using namespace fabricost::plan;
using specs::Folder;
using specs::outcome_of;
using specs::replaced;

namespace {

const std::string good =
    "name: shape-1.5\n"                                                                        // 1
    "source: a test\n"                                                                         // 2
    "confidence: assumed\n"                                                                    // 3
    "layers: 12\n"                                                                             // 4
    "hidden: 1024\n"                                                                           // 5
    "vocab: 32000\n"                                                                           // 6
    "attention: {heads: 16, kv_heads: 4}\n"                                                    // 7
    "ffn: {width: 4096, gated: true}\n"                                                        // 8
    "experts: {count: 8, top_k: 2, width: 2048, first_dense: 2, groups: 4, group_limit: 2}\n"  // 9
    "window: {size: 128, layers: 4}\n"                                                         // 10
    "mixer: {kind: gated_delta, layers: 6, inner: 2048, keys: 1024, heads: 16, state: 64}\n"   // 11
    "published: {parameters: {value: 1.5e9, source: a card, confidence: datasheet}}\n";        // 12

struct Case {
  std::string find, by;  ///< a '^' in `by` stands before the value the message must point to
  std::vector<std::string> says;
};

std::string folded(const std::string& name) {
  std::string out;
  for (const char c : name.substr(name.rfind('/') + 1))
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

TEST_CASE("models are found by the names people use", "[models]") {
  for (const auto& [wanted, name] : std::vector<std::pair<std::string, std::string>>{{"llama3-405b", "llama3.1-405b"},
                                                                                     {"LLAMA3.1-405B", "llama3.1-405b"},
                                                                                     {"llama3_1-405b", ""},
                                                                                     {"LLAMA3_70B", "llama3-70b"},
                                                                                     {"gpt3-175b", "gpt3-175b"},
                                                                                     {"GPT-3 175B", "gpt3-175b"},
                                                                                     {"deepseek-v3", "deepseek-v3"},
                                                                                     {"DeepSeek-R1", "deepseek-v3"},
                                                                                     {"deepseek-ai/DeepSeek-R1", "deepseek-v3"},
                                                                                     {"moonshotai/Kimi-K2-Instruct", "kimi-k2"},
                                                                                     {"Kimi-K2-Instruct", "kimi-k2"},
                                                                                     {"GPT-22B", "megatron-22b"},
                                                                                     {"moe-1.8t", "moe-1.8t"},
                                                                                     {"MoE-5T", "moe-5t"}}) {
    INFO(wanted);
    CHECK(model_named(wanted) == name);
    if (!name.empty()) CHECK(load_model(wanted).name == name);
  }
}

TEST_CASE("every model loads, is named like its file, says where it comes from, and is a shape", "[models]") {
  for (const std::string& name : model_names()) {
    const Model m = load_model(name);
    INFO(name);
    CHECK(m.name == name);
    CHECK_FALSE(m.title.empty());
    CHECK_FALSE(m.source.empty());
    CHECK(m.stated_parameters * (m.stated_source.empty() ? 1 : 0) == 0);
    CHECK_NOTHROW(check(m));
  }
}

TEST_CASE("no name means two models, and every name leads home", "[models]") {
  std::map<std::string, std::string> means;
  for (const std::string& name : model_names()) {
    const Model m = load_model(name);
    std::vector<std::string> names = m.aliases;
    names.push_back(name);
    for (const std::string& one : names) {
      INFO(one << " of " << name);
      const auto [at, fresh] = means.emplace(folded(one), name);
      CHECK((fresh || at->second == name));
    }
    CHECK(model_named(names.front()) == name);  // of each one: a lookup by another name reads all files
  }
}

TEST_CASE("a user's file loads by its path and may start from a model or another file", "[models]") {
  const Folder folder;
  const Model mine = load_model(folder.write("mine.yaml", good));
  CHECK(mine.name == "shape-1.5");
  CHECK(mine.head_dim == 64);  // hidden / heads
  CHECK(mine.attention_layers() == 6);
  CHECK(mine.full_layers() == 2);
  CHECK(mine.expert_layers() == 10);
  CHECK(mine.stated_source == "a test");
  const Model longer = load_model(folder.write("longer.yaml", "extends: llama3-70b\nname: long\nlayers: 96\nffn: {width: 32768}\n"));
  CHECK(longer.layers == 96);
  CHECK(longer.ffn == 32768);
  CHECK(longer.hidden == 8192);
  CHECK(load_model(folder.write("kimi.yaml", "extends: Kimi-K2\nname: mine\n")).experts == 384);
  CHECK(load_model(folder.write("again.yaml", "extends: ./longer.yaml\nname: again\nlayers: 12\n")).ffn == 32768);
  const auto outcome = outcome_of([&] { (void)load_model(folder.write("loop.yaml", "extends: ./loop.yaml\nname: loop\n")); });
  CHECK(outcome.says("a circle"));
}

TEST_CASE("a broken model file is refused where it is broken", "[models]") {
  const Folder folder;
  const std::vector<Case> cases{
      {"layers: 12", "layers: ^0", {"layers", "\"0\" is outside 1 to"}},
      {"layers: 12", "layers: ^twelve", {"is not a"}},
      {"layers: 12", "layers: ^1.5", {"is not a whole number"}},
      {"layers: 12", "^lyers: 12", {"unknown key", "did you mean \"layers\"?"}},
      {"hidden: 1024\n", "", {"hidden: is missing"}},
      {"attention: {heads: 16, kv_heads: 4}\n", "", {"attention: is missing"}},
      {"heads: 16, kv_heads: 4", "heads: 16, kv_heads: ^5", {"attention.kv_heads", "5 heads of keys and values do not divide 16 heads"}},
      {"heads: 16, kv_heads: 4", "heads: ^-16, kv_heads: 4", {"attention.heads"}},
      {"{heads: 16, kv_heads: 4}", "^{heads: 15, kv_heads: 5}", {"head_dim: is missing, and 15 heads do not divide hidden 1024"}},
      {"{heads: 16, kv_heads: 4}", "{heads: 16, kv_rank: ^512}", {"latent attention without the widths", "nope_dim, rope_dim"}},
      {"kv_heads: 4", "^kv_head: 4", {"attention.kv_head: unknown key", "did you mean \"kv_heads\"?"}},
      {"ffn: {width: 4096, gated: true}\n", "", {"ffn.width: is missing, but 2 layers have no experts"}},
      {"gated: true", "gated: ^maybe", {"neither true nor false"}},
      {"top_k: 2", "top_k: ^9", {"experts.top_k: 9 of 8 experts"}},
      {"top_k: 2, ", "", {"experts.top_k: is missing"}},
      {"groups: 4", "groups: ^3", {"experts.groups: 3 groups do not divide 8 experts"}},
      {"group_limit: 2", "group_limit: ^5", {"experts.group_limit: 5 of 4 groups"}},
      {"first_dense: 2", "first_dense: ^13", {"experts.first_dense: 13 of 12 layers"}},
      {"size: 128, layers: 4", "size: 128, layers: ^7", {"window.layers: 7 of 6 layers with attention"}},
      {"layers: 6, inner", "layers: ^13, inner", {"mixer.layers: 13 of 12 layers"}},
      {"kind: gated_delta", "kind: ^gated-delta", {"mixer.kind", "mamba2, gated_delta"}},
      {"value: 1.5e9", "value: ^1.5 B", {"published.parameters"}},
      {"value: 1.5e9", "value: ^nan", {"published.parameters"}},
      {"name: shape-1.5", "name: ^Shape/1", {"is no name"}},
      {"vocab: 32000", "vocab: 32000\nblocks: ^\"MM*\"", {"blocks: names 3 layers, but `layers` is 12"}},
      {"vocab: 32000", "vocab: 32000\nblocks: ^\"MMMMMMMM*EEX\"", {"blocks: \"X\" is no kind of layer"}},
      {"confidence: assumed", "confidence: ^sure", {"confidence"}},
      {"vocab: 32000", "vocab: 32000\nvocab: 32000", {"vocab"}},
  };
  for (const Case& one : cases) {
    INFO(one.find << " -> " << one.by);
    const specs::Marked document = specs::marked(replaced(good, one.find, one.by));
    const std::string file = folder.write("broken.yaml", document.text);
    const specs::Outcome outcome = outcome_of([&] { (void)load_model(file); });
    INFO(outcome.text.substr(0, 2000));
    CHECK(outcome.kind == specs::Outcome::Kind::spec_error);
    CHECK(outcome.says(file + ":"));
    if (document.place)
      CHECK(outcome.says(file + ":" + std::to_string(document.place->first) + ":" + std::to_string(document.place->second) + ": "));
    for (const std::string& words : one.says) CHECK(outcome.says(words));
  }
}

TEST_CASE("whatever a model file holds, it loads as a shape or is refused by its name", "[models]") {
  const Folder folder;
  std::mt19937 random(11);  // NOLINT: the same files every time
  const std::string letters = "0123456789-.:{}[]\"'#, \n\teEkx\xff";
  int refused = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text = good;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0)
        text[at] = letters[random() % letters.size()];
      else
        text.erase(at, 1 + random() % 5);
    }
    const std::string file = folder.write("mutated.yaml", text);
    const specs::Outcome outcome = outcome_of([&] {
      const Model m = load_model(file);
      check(m);
      const ParameterCount n = parameters_of(m);
      if (!(n.total > 0 && n.active > 0 && n.active <= n.total)) throw std::logic_error("counts of a loaded shape");
    });
    INFO(text << "\n" << outcome.text);
    REQUIRE(outcome.kind != specs::Outcome::Kind::something_else);
    REQUIRE(outcome.kind != specs::Outcome::Kind::request_error);
    if (outcome.refused()) {
      ++refused;
      REQUIRE(outcome.says(file));
    }
  }
  CHECK(refused > 300);
}
