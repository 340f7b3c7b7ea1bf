/// Model files: the shape of a transformer, read strictly, and its common names.

#include "specs/data_directory.hpp"
#include "specs/near_or_all.hpp"
#include "specs/parts/model_config.hpp"
#include "specs/store.hpp"
#include "text/ascii.hpp"

#include <fabricost/collective.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/plan/specs/load_model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <system_error>

namespace fabricost::plan {

namespace {

constexpr int max_layers = 10000, widest_layer = 10000000, max_experts = 100000;
constexpr double max_parameters = 1e16;
constexpr std::array<std::string_view, 3> narrow_weights{"fp8", "fp4", "int4"};
constexpr std::array<std::string_view, 2> mixer_kinds{"mamba2", "gated_delta"};

int width(MapReader& at, std::string_view key, bool required = false) { return at.count(key, 0, 1, widest_layer, required); }

/// Parameters as a plain number: 405.9e9.
double parameters(MapReader& at, std::string_view key) { return at.number(key, 0, 1, max_parameters); }

bool is_model_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; });
}

void read_attention(MapReader& at, Model& m) {
  m.heads = at.count("heads", 1, 1, 100000, true);
  m.q_rank = width(at, "q_rank");
  m.kv_rank = width(at, "kv_rank");
  m.rope_dim = width(at, "rope_dim");
  m.nope_dim = width(at, "nope_dim");
  m.value_dim = width(at, "value_dim");
  m.kv_heads = at.count("kv_heads", m.heads, 1, 100000);
  m.head_dim = at.count("head_dim", m.kv_rank > 0 || m.hidden % m.heads != 0 ? 0 : m.hidden / m.heads, 1, widest_layer);
  m.output_rank = width(at, "output_rank");
  m.output_groups = at.count("output_groups", 1, 1, 100000);
  m.gated_attention = at.flag("gate", false);
  m.shared_kv = at.flag("shared_kv", false);
  m.head_norm = at.choice("norm", head_norm_names, HeadNorm::none);
}

void read_ffn(MapReader& at, Model& m) {
  m.ffn = width(at, "width");
  m.gated = at.flag("gated", true);
}

void read_experts(MapReader& at, Model& m) {
  m.experts = at.count("count", 0, 1, max_experts, true);
  m.top_k = at.count("top_k", 0, 1, max_experts, true);
  m.expert_ffn = width(at, "width", true);
  m.expert_hidden = width(at, "hidden");
  m.shared_experts = at.count("shared", 0, 0, 1000);
  m.shared_ffn = at.count("shared_width", m.shared_experts > 0 ? m.expert_ffn : 0, 1, widest_layer);
  m.first_dense = at.count("first_dense", 0, 0, max_layers);
  m.expert_every = at.count("every", 1, 1, max_layers);
  m.expert_groups = at.count("groups", 0, 1, max_experts);
  m.group_limit = at.count("group_limit", 0, 1, max_experts);
}

void read_window(MapReader& at, Model& m) {
  m.window = at.count("size", 0, 1, 1000000000, true);
  m.window_layers = at.count("layers", 0, 1, max_layers, true);
  m.window_heads = at.count("heads", 0, 1, 100000);
  m.window_kv_heads = at.count("kv_heads", 0, 1, 100000);
  m.window_head_dim = width(at, "head_dim");
}

void read_index(MapReader& at, Model& m) {
  m.index_heads = at.count("heads", 0, 1, 100000, true);
  m.index_dim = at.count("head_dim", 0, 1, widest_layer, true);
  m.index_tokens = at.count("tokens", 0, 1, 1000000000, true);
}

/// What a diffusion transformer has instead of a vocabulary: patches of an image or a video, whose values its first matrix reads and its
/// last one writes.
void read_patch(MapReader& at, Model& m) {
  m.vocab = at.count("values", 1, 1, 100000000, true);
  m.patch_pixels = at.count("pixels", 1, 1, 100000, true);
  m.patch_frames = at.count("frames", 1, 1, 100000);
}

/// Widths of dense layers, a list of whole numbers.
std::vector<int> read_widths(MapReader& at, std::string_view key) {
  std::vector<int> out;
  for (const SpecNode* one : at.texts(key)) {
    int value = 0;
    const char* const end = one->text.data() + one->text.size();
    if (const auto [stopped, fault] = std::from_chars(one->text.data(), end, value);
        stopped != end || fault != std::errc{} || value < 1 || value > widest_layer)
      at.fault(*one, key, fmt::format("\"{}\" is no width", one->text), "write whole numbers, as in [13, 512, 256, 128]");
    out.push_back(value);
  }
  return out;
}

/// Tables and dense layers of a recommendation model. Its other sizes are those of a model with one token.
void read_recommender(MapReader& in, Model& m) {
  Recommender& r = m.recommender;
  in.needed_section("tables", [&](MapReader& at) {
    r.tables = at.count("count", 1, 1, 1000000, true);
    r.rows = at.number("rows", 1, 1, max_parameters);
    r.width = at.count("width", 1, 1, widest_layer, true);
    r.lookups = at.number("lookups", r.tables, 1, 1e9);
    r.value_bytes = at.count("value_bytes", 4, 1, 8);
    r.state_bytes = at.number("state_bytes", 0, 0, 16);
  });
  in.needed_section("dense", [&](MapReader& at) {
    r.bottom = read_widths(at, "bottom");
    r.top = read_widths(at, "top");
    r.cross_layers = at.count("cross_layers", 0, 0, max_layers);
    r.cross_rank = at.count("cross_rank", 0, 0, widest_layer);
  });
  m.layers = std::max(1, static_cast<int>(r.bottom.size() + r.top.size()) - 1 + r.cross_layers);
  m.hidden = std::max(1, r.width);
  m.heads = m.kv_heads = m.head_dim = m.vocab = m.ffn = 1;
}

void read_mixer(MapReader& at, Mixer& mixer) {
  const std::string kind = at.one_of("kind", mixer_kinds, true);
  mixer.gates = kind == "gated_delta" ? 2 : 1;
  mixer.layers = at.count("layers", 0, 0, max_layers);
  mixer.inner = at.count("inner", 0, 1, widest_layer, true);
  mixer.keys = at.count("keys", 0, 1, widest_layer, true);
  mixer.heads = at.count("heads", 0, 1, 100000, true);
  mixer.state = at.count("state", 0, 1, widest_layer, true);
  mixer.kernel = at.count("kernel", 4, 1, 1000);
}

/// One letter per layer: M mixer, * attention, - feed-forward, E experts.
void read_blocks(MapReader& in, Model& m) {
  const std::string blocks = in.text("blocks");
  if (blocks.empty()) return;
  const SpecNode& at = *in.node().find("blocks");
  if (const auto odd = blocks.find_first_not_of("M*-E"); odd != std::string::npos)
    in.fault(at, "blocks", fmt::format("\"{}\" is no kind of layer", blocks[odd]),
             "one letter per layer: M mixer, * attention, - feed-forward, E experts");
  if (static_cast<int>(blocks.size()) != m.layers)
    in.fault(at, "blocks", fmt::format("names {} layers, but `layers` is {}", blocks.size(), m.layers), "make them agree");
  const auto many = [&](char letter) { return static_cast<int>(std::count(blocks.begin(), blocks.end(), letter)); };
  m.single_block = true;
  m.mixer.layers = many('M');
  m.dense_blocks = many('-');
  m.expert_blocks = many('E');
}

/// Values that are valid one by one but not together: a fault at the one to correct.
void check_together(const SpecNode& tree, const Model& m, Faults& faults) {
  const auto fault = [&](std::string_view part, std::string_view key, std::string message, std::string remedy) {
    const SpecNode* at = tree.find(part);
    const SpecNode* value = at != nullptr && !key.empty() ? at->find(key) : nullptr;
    const std::string path = std::string{part} + (key.empty() ? "" : "." + std::string{key});
    faults.add(issue_at((value != nullptr ? *value : at != nullptr ? *at : tree).mark, path, std::move(message), std::move(remedy)));
  };
  if (m.latent()) {
    if (m.nope_dim + m.rope_dim < 1 || m.value_dim < 1)
      fault("attention", "kv_rank", "latent attention without the widths of a head", "add nope_dim, rope_dim and value_dim");
  } else {
    if (m.heads % m.kv_heads != 0)
      fault("attention", "kv_heads", fmt::format("{} heads of keys and values do not divide {} heads", m.kv_heads, m.heads),
            "groups are of like size: write a divisor of heads");
    if (m.head_dim < 1)
      fault("attention", "head_dim", fmt::format("is missing, and {} heads do not divide hidden {}", m.heads, m.hidden), "add `head_dim:`");
  }
  if (m.top_k > m.experts) fault("experts", "top_k", fmt::format("{} of {} experts", m.top_k, m.experts), "at most as many as there are");
  if (m.first_dense > m.layers)
    fault("experts", "first_dense", fmt::format("{} of {} layers", m.first_dense, m.layers), "at most as many as there are");
  if (m.expert_groups > 0 && m.experts % m.expert_groups != 0)
    fault("experts", "groups", fmt::format("{} groups do not divide {} experts", m.expert_groups, m.experts), "write a divisor of count");
  if (m.expert_groups > 0 && (m.group_limit < 1 || m.group_limit > m.expert_groups))
    fault("experts", "group_limit", fmt::format("{} of {} groups", m.group_limit, m.expert_groups), "groups need a limit, from 1 to all");
  if (m.causal() && m.cross_tokens + m.modulation + m.patch_pixels > 0)
    fault("kind", "", "a decoder with parts of other kinds (patch, cross or modulation)", "write `kind: diffusion`");
  if (!m.causal() && (m.latent() || m.hybrid() || m.index_tokens > 0 || m.predict_layers > 0))
    fault("kind", "", "latents, states, an indexer or predicted tokens, which only a decoder has",
          "write `kind: decoder`, or leave them out");
  if (m.attention_layers() < 0)
    fault("mixer", "layers", fmt::format("{} of {} layers", m.mixer.layers, m.layers), "at most as many as there are");
  else if (m.window_layers > m.attention_layers())
    fault("window", "layers", fmt::format("{} of {} layers with attention", m.window_layers, m.attention_layers()),
          "at most as many as there are");
  if (m.window_kv_heads > 0 && (m.window_heads > 0 ? m.window_heads : m.heads) % m.window_kv_heads != 0)
    fault("window", "kv_heads", fmt::format("{} heads of keys and values do not divide the query heads", m.window_kv_heads),
          "write a divisor of heads");
  if (m.dense_layers() > 0 && m.ffn < 1)
    fault("ffn", "width", fmt::format("is missing, but {} layers have no experts", m.dense_layers()), "add `ffn: {width: ...}`");
  if (m.expert_layers() > 0 && m.experts < 1)
    fault("blocks", "", fmt::format("{} layers with experts, but none are described", m.expert_layers()), "add `experts:`");
  if (m.mixer.layers > 0 && m.mixer.inner < 1)
    fault("blocks", "", fmt::format("{} mixing layers, but none are described", m.mixer.layers), "add `mixer:`");
  if (m.single_block && m.window_layers + m.first_dense > 0)
    fault("blocks", "", "a window or leading dense layers beside one letter per layer", "say it in the letters");
}

/// The shape of a transformer.
void read_transformer(MapReader& in, Model& m) {
  m.layers = in.count("layers", 1, 1, max_layers, true);
  m.hidden = in.count("hidden", 1, 1, widest_layer, true);
  if (m.kind == ModelKind::diffusion || (m.kind == ModelKind::encoder && in.has("patch")))
    in.needed_section("patch", [&](MapReader& at) { read_patch(at, m); });
  else
    m.vocab = in.count("vocab", 1, 1, 100000000, true);
  if (const std::string vision = in.text("vision"); !vision.empty()) {
    m.vision = std::make_shared<const Model>(load_model(vision));
    if (m.vision->kind != ModelKind::encoder || m.vision->patch_pixels == 0)
      in.fault(*in.node().find("vision"), "vision", fmt::format("{} is no encoder of patches", vision),
               "name a model of kind encoder with `patch`");
  }
  m.head_share = in.number("head_share", 1, 1e-6, 1);
  m.modulation = in.count("modulation", 0, 0, 1000);
  in.section("cross", [&](MapReader& at) { m.cross_tokens = at.count("tokens", 0, 1, 1000000000, true); });
  m.positions = in.count("positions", 0, 0, 100000000);
  m.tied = in.flag("tied", false);
  m.biases = in.flag("biases", false);
  in.needed_section("attention", [&](MapReader& at) { read_attention(at, m); });
  in.section("ffn", [&](MapReader& at) { read_ffn(at, m); });
  in.section("experts", [&](MapReader& at) { read_experts(at, m); });
  in.section("window", [&](MapReader& at) { read_window(at, m); });
  in.section("index", [&](MapReader& at) { read_index(at, m); });
  in.section("mixer", [&](MapReader& at) { read_mixer(at, m.mixer); });
  m.predict_layers = in.count("predict_layers", 0, 0, 100);
  m.fp8_block = in.count("fp8_block", 0, 0, 4096);
  read_blocks(in, m);
}

Model read_model(const SpecNode& tree, Faults& faults) {
  MapReader in(tree, "", faults);
  Model m;
  in.take("extends");
  m.name = in.text("name", true);
  if (!m.name.empty() && !is_model_name(m.name))
    in.fault(*tree.find("name"), "name", fmt::format("\"{}\" is no name", m.name), "names are lower case with digits, dashes and points");
  m.title = in.text("title");
  m.notes = in.text("notes");
  m.partial = in.text("partial");
  m.aliases = in.plain_texts("aliases");
  const Provenance origin = in.provenance(tree);
  m.source = origin.source;
  m.confidence = name(origin.confidence);
  m.kind = in.choice("kind", model_kind_names, m.kind);
  if (m.recommends())
    read_recommender(in, m);
  else
    read_transformer(in, m);
  in.section("published", [&](MapReader& at) {
    m.stated_parameters = parameters(at, "parameters");
    m.stated_active = parameters(at, "active");
    m.stated_other = parameters(at, "other");
    m.stated_precision = at.one_of("precision", narrow_weights);
    m.stated_source = at.provenance(at.node()).source;
  });
  in.finish();
  if (!faults.issues.empty()) return m;
  if (!m.recommends()) {
    check_together(tree, m, faults);
  } else if (m.recommender.bottom.size() < 2 || m.recommender.top.empty() || m.recommender.bottom.back() != m.recommender.width ||
             m.recommender.lookups < m.recommender.tables || (m.recommender.cross_layers > 0) != (m.recommender.cross_rank > 0)) {
    faults.add(
        issue_at(tree.mark, "dense", "tables and dense layers that do not belong together",
                 "bottom ends with the width of a row, top has a layer, a sample looks a row of each table up, cross layers have a rank"));
  }
  return m;
}

/// The words and numbers of a name, without its publisher and words that say nothing of the shape: "meta-llama/Llama-3.1-405B-Instruct" is
/// llama 3 .1 405 b.
std::vector<std::string> parts_of(std::string_view name) {
  static constexpr std::array<std::string_view, 10> says_nothing{"instruct", "chat", "it",    "hf",       "base",
                                                                 "fp8",      "bf16", "nvfp4", "thinking", "terminus"};
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  const auto kind = [](char c) { return c >= '0' && c <= '9' ? 1 : (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? 2 : 0; };
  std::vector<std::string> words;
  for (std::size_t i = 0; i < name.size();) {
    std::string word;
    while (i < name.size() && kind(name[i]) != 0) word += lower(name[i++]);
    if (std::find(says_nothing.begin(), says_nothing.end(), word) == says_nothing.end())
      for (std::size_t j = 0; j < word.size();) {  // letters and digits apart; a digit after a point is a minor version
        const bool minor = j == 0 && i > word.size() && name[i - word.size() - 1] == '.' && kind(word[0]) == 1;
        std::string part = minor ? "." : "";
        const int of = kind(word[j]);
        while (j < word.size() && kind(word[j]) == of) part += word[j++];
        words.push_back(std::move(part));
      }
    if (i < name.size()) ++i;
  }
  return words;
}

/// Every known name, folded, and its file; the prefix before a `/` may be omitted if the rest is unique.
struct Names {
  std::map<std::string, std::string> full, last;
  std::vector<std::pair<std::vector<std::string>, std::string>> parts;  ///< and what they mean
  std::vector<std::string> all;  ///< as written, for suggestions
};

Names names_of_models() {
  Names out;
  const auto add = [&](const std::string& name, const std::string& means) {
    out.full.emplace(folded(name), means);
    out.last.emplace(folded(name.substr(name.rfind('/') + 1)), means);
    out.parts.emplace_back(parts_of(name), means);
    out.all.push_back(name);
  };
  const auto folder = data_directory() / "models";
  for (const std::string& file : names_in("models")) {
    add(file, file);
    const SpecNode tree = parse_spec(folder / (file + ".yaml"));
    const SpecNode* aliases = tree.find("aliases");
    if (aliases == nullptr) continue;
    for (const SpecNode& alias : aliases->items) add(alias.text, file);
  }
  return out;
}

/// The one file that a name in another spelling means: "llama 3 405b" lacks a minor version, "nemotron-3-super" its sizes.
std::string spelled(const Names& names, const std::string& wanted) {
  const std::vector<std::string> given = parts_of(wanted);
  if (given.empty() || given.size() > 40) return {};
  const auto is_minor = [](const std::string& part) { return part.starts_with('.'); };
  const auto is_size = [](const std::string& part) {
    static constexpr std::array<std::string_view, 5> units{"a", "b", "m", "t", "x"};
    return part.find_first_not_of("0123456789") == std::string::npos || std::find(units.begin(), units.end(), part) != units.end();
  };
  const auto only = [&](auto&& same) {
    std::string one;
    for (const auto& [parts, means] : names.parts)
      if (same(parts)) {
        if (!one.empty() && one != means) return std::string{};
        one = means;
      }
    return one;
  };
  if (std::string one = only([&](const auto& parts) { return parts == given; }); !one.empty()) return one;
  if (std::none_of(given.begin(), given.end(), is_minor))
    if (std::string one = only([&](std::vector<std::string> parts) {
          std::erase_if(parts, is_minor);
          return parts == given;
        });
        !one.empty())
      return one;
  return only([&](const auto& parts) {
    return parts.size() > given.size() && std::equal(given.begin(), given.end(), parts.begin()) &&
           std::all_of(parts.begin() + static_cast<std::ptrdiff_t>(given.size()), parts.end(), is_size);
  });
}

/// Files whose names begin with the same words, the longest agreement first.
std::vector<std::string> like(const Names& names, const std::string& wanted) {
  const std::vector<std::string> given = parts_of(wanted);
  std::vector<std::pair<std::ptrdiff_t, std::string>> ranked;
  for (const auto& known : names.parts) {
    const auto& parts = known.first;
    const auto& means = known.second;
    const auto agree = std::mismatch(given.begin(), given.end(), parts.begin(), parts.end()).first - given.begin();
    if (agree > 0 && std::none_of(ranked.begin(), ranked.end(), [&](const auto& r) { return r.second == means && -r.first >= agree; }))
      ranked.emplace_back(-agree, means);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> out;
  for (const auto& [agree, means] : ranked)
    if (out.size() < 4 && agree == ranked.front().first) out.push_back(means);
  return out;
}

/// The name without its last part, where that is a date of release: year and month (2507), or month and day (0324). Else empty.
std::string without_date(const std::string& name) {
  constexpr std::size_t digits = 4;
  const std::size_t at = name.rfind('-');
  if (at == std::string::npos || at == 0 || name.size() != at + 1 + digits) return {};
  if (name.find_first_not_of("0123456789", at + 1) != std::string::npos) return {};
  const int first = std::stoi(name.substr(at + 1, 2)), second = std::stoi(name.substr(at + 3, 2));
  const auto is_month = [](int n) { return n >= 1 && n <= 12; };
  const bool is_year = first >= 23 && first <= 40;  // models have had such names since
  return (is_year && is_month(second)) || (is_month(first) && second >= 1 && second <= 31) ? name.substr(0, at) : std::string{};
}

std::string found(const Names& names, const std::string& wanted) {
  if (const auto at = names.full.find(folded(wanted)); at != names.full.end()) return at->second;
  const auto at = names.last.find(folded(wanted.substr(wanted.rfind('/') + 1)));
  if (at != names.last.end()) return at->second;
  if (std::string one = spelled(names, wanted); !one.empty()) return one;
  const std::string undated = without_date(wanted);
  return undated.empty() ? undated : found(names, undated);
}

std::string unknown_model(const Names& names, const std::string& wanted) {
  std::vector<std::string> near;  // first the models whose names go on where this one ends: a family
  constexpr std::size_t min_letters = 3, most_listed = 8;
  const std::string given = folded(wanted);
  if (given.size() >= min_letters)
    for (auto at = names.full.lower_bound(given); at != names.full.end() && at->first.starts_with(given); ++at)
      if (std::find(near.begin(), near.end(), at->second) == near.end() && near.size() < most_listed) near.push_back(at->second);
  if (near.empty())  // then those of that size
    for (const std::string& name : model_names())
      if (folded(name.substr(name.rfind('-') + 1)) == given && near.size() < most_listed) near.push_back(name);
  for (const std::string_view quantised : {"-awq", "-gptq-int4", "-gptq"})  // as Hugging Face's names end
    if (const std::string stem = folded(wanted.substr(0, wanted.size() - std::min(wanted.size(), quantised.size())));
        near.empty() && given == folded(stem + std::string{quantised}) && names.full.contains(stem))
      return fmt::format("no model named \"{}\"; AWQ and GPTQ are in 4 bits: {} with precision int4", clipped(wanted), names.full.find(stem)->second);
  if (near.empty()) near = near_names(wanted, names.all);
  if (near.empty()) near = like(names, wanted);
  return fmt::format("no model named \"{}\"; {}", clipped(wanted),
                     did_you_mean(near, "`fabricost model` lists them, or give the path of a YAML file or of a config.json"));
}

bool has_file(const std::string& name) {
  return is_model_name(name) && is_there(data_directory() / "models" / (name + ".yaml"));
}

}  // namespace

}  // namespace fabricost::plan

namespace fabricost::plan {

std::vector<std::string> model_names() { return names_in("models"); }

std::string model_named(const std::string& wanted) {
  if (wanted.size() > 200) return {};
  return has_file(wanted) ? wanted : found(names_of_models(), wanted);
}

Model load_model(const std::string& name_or_path) {
  std::error_code error;
  std::string name = name_or_path;
  const bool is_file = is_path(name) && is_there(name);
  if (!is_file) {
    name = model_named(name_or_path);
    const auto ends = [&](std::string_view with) { return name_or_path.ends_with(with); };
    const bool meant_file =
        ends(".yaml") || ends(".yml") || ends(".json") || name_or_path.starts_with('/') || name_or_path.starts_with('.');
    if (name.empty() && meant_file)
      throw RequestError(fmt::format("no file \"{}\"; a path counts from the current folder", clipped(name_or_path)));
    if (name.empty()) throw RequestError(unknown_model(names_of_models(), name_or_path));
  }
  SpecStore library{model_named};
  Faults faults;
  if (is_file)
    if (const SpecNode tree = parse_spec(name); is_model_config(tree)) {
      const std::filesystem::path file = std::filesystem::absolute(name, error);
      Model out = read_model_config(tree, (file.stem() == "config" ? file.parent_path().filename() : file.stem()).string(), faults);
      faults.raise();
      return out;
    }
  Model out = read_model(library.resolve("models", name), faults);
  faults.raise();
  return out;
}

}  // namespace fabricost::plan
