/// \file models.cpp
/// fabricost models: every model that has a name; one of them with its shape and what follows from it: parameters, FLOPs, cache.

#include "text/text_table.hpp"
#include "names.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/error.hpp>
#include <fabricost/model/flops.hpp>
#include <fabricost/specs/load_model.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <memory>

namespace fabricost::cli {
namespace {

using Json = nlohmann::ordered_json;

/// 405.9 B, 1.808 T, 855.6 M.
[[nodiscard]] std::string count_text(double n) {
  struct Unit {
    double size;
    const char* name;
  };
  for (const Unit unit : {Unit{1e12, " T"}, Unit{1e9, " B"}, Unit{1e6, " M"}, Unit{1e3, " k"}})
    if (n >= unit.size) return fmt::format("{:.4g}{}", n / unit.size, unit.name);
  return fmt::format("{:.4g}", n);
}

/// "256 of which 8", or a dash.
[[nodiscard]] std::string experts_text(const Model& m) { return m.mixture() ? fmt::format("{} top {}", m.experts, m.top_k) : "-"; }

/// Matrices of one layer; norms are left out.
[[nodiscard]] double layer_parameters(const ParameterCount& n, const Model& m, bool experts) {
  return n.attention + (experts ? n.shared + n.router + m.experts * n.expert : n.dense_ffn);
}

[[nodiscard]] Json listed_json(const Model& m) {
  const ParameterCount n = parameters_of(m);
  return {{"name", m.name},   {"title", m.title},      {"layers", m.layers}, {"hidden", m.hidden},  {"experts", m.experts},
          {"top_k", m.top_k}, {"parameters", n.total}, {"active", n.active}, {"partial", m.partial}};
}

/// FLOPs per token in a convention; nothing where it has no term for the model.
[[nodiscard]] double convention_flops(const Model& m, double sequence, FlopConvention convention, Scores scores) {
  try {
    return training_flops_per_token(m, sequence, convention, scores);
  } catch (const RequestError&) {
    return 0;
  }
}

[[nodiscard]] Json shape_json(const Model& m) {
  Json out{{"layers", m.layers},
           {"hidden", m.hidden},
           {"heads", m.heads},
           {"kv_heads", m.latent() ? 1 : m.kv_heads},
           {"head_dim", m.latent() ? m.nope_dim + m.rope_dim : m.head_dim},
           {"value_dim", m.value_head_dim()},
           {"vocab", m.vocab},
           {"ffn", m.ffn},
           {"gated", m.gated},
           {"tied", m.tied},
           {"positions", m.positions},
           {"attention_layers", m.attention_layers()},
           {"dense_layers", m.dense_layers()},
           {"expert_layers", m.expert_layers()},
           {"predict_layers", m.predict_layers}};
  if (m.mixture())
    out["experts"] = {
        {"count", m.experts},           {"top_k", m.top_k},          {"width", m.expert_ffn},       {"shared", m.shared_experts},
        {"shared_width", m.shared_ffn}, {"groups", m.expert_groups}, {"group_limit", m.group_limit}};
  if (m.latent()) out["latent"] = {{"q_rank", m.q_rank}, {"kv_rank", m.kv_rank}, {"rope_dim", m.rope_dim}, {"nope_dim", m.nope_dim}};
  if (m.window > 0) out["window"] = {{"size", m.window}, {"layers", m.window_layers}};
  if (m.index_tokens > 0) out["index"] = {{"heads", m.index_heads}, {"head_dim", m.index_dim}, {"tokens", m.index_tokens}};
  if (m.hybrid()) out["mixer"] = {{"layers", m.mixer.layers}, {"inner", m.mixer.inner}, {"keys", m.mixer.keys}, {"state", m.mixer.state}};
  return out;
}

[[nodiscard]] Json to_json(const Model& m, double sequence) {
  const ParameterCount n = parameters_of(m);
  Json out{{"name", m.name}, {"title", m.title}, {"aliases", m.aliases}, {"shape", shape_json(m)}};
  out["parameters"] = {{"total", n.total},   {"active", n.active},       {"multiplied", n.multiplied}, {"attention", n.attention},
                       {"mixer", n.mixer},   {"dense_ffn", n.dense_ffn}, {"expert", n.expert},         {"shared", n.shared},
                       {"router", n.router}, {"norms", n.norms},         {"embedding", n.embedding},   {"head", n.head}};
  out["parameters"]["dense_layer"] = m.dense_layers() > 0 && !m.single_block ? Json(layer_parameters(n, m, false)) : Json();
  out["parameters"]["expert_layer"] = m.expert_layers() > 0 && !m.single_block ? Json(layer_parameters(n, m, true)) : Json();
  out["stated"] = {{"parameters", m.stated_parameters > 0 ? Json(m.stated_parameters) : Json()},
                   {"active", m.stated_active > 0 ? Json(m.stated_active) : Json()},
                   {"source", m.stated_source}};
  out["flops_per_token"] = {
      {"sequence", sequence}, {"forward", forward_flops(m, sequence) / sequence}, {"decode", decode_flops(m, sequence)}};
  Json& training = out["flops_per_token"]["training"] = Json::object();
  for (std::size_t i = 0; i < flop_convention_names.size(); ++i)
    for (const Scores scores : {Scores::full, Scores::causal}) {
      const double flops = convention_flops(m, sequence, static_cast<FlopConvention>(i), scores);
      training[std::string{flop_convention_names[i]}][std::string{scores_names[static_cast<std::size_t>(scores)]}] =
          flops > 0 ? Json(flops) : Json();
    }
  out["kv_bytes_per_token"] = kv_bytes_per_token(m, 2);
  out["kv_bytes_per_token_layer"] = m.kv_width() * 2;
  out["kv_bytes_per_sequence"] = kv_bytes(m, sequence, 2);
  out["partial"] = m.partial;
  out["notes"] = m.notes;
  out["source"] = m.source;
  out["confidence"] = m.confidence;
  return out;
}

[[nodiscard]] std::string attention_text(const Model& m) {
  std::string out = fmt::format("{} heads", m.heads);
  if (m.latent())
    out += fmt::format(" of {} + {}, values {}; latent {}{}", m.nope_dim, m.rope_dim, m.value_dim, m.kv_rank,
                       m.q_rank > 0 ? fmt::format(", queries through {}", m.q_rank) : "");
  else
    out += fmt::format(" of {}, {} for keys and values{}", m.head_dim, m.kv_heads, m.shared_kv ? ", which are the same" : "");
  if (m.window > 0) out += fmt::format("; {} of {} layers see {} tokens", m.window_layers, m.attention_layers(), m.window);
  if (m.index_tokens > 0) out += fmt::format("; an indexer picks {} tokens", m.index_tokens);
  if (m.hybrid())
    out += fmt::format("; {} of {} layers carry a state of {} x {} instead", m.mixer.layers, m.layers, m.mixer.inner, m.mixer.state);
  return out;
}

[[nodiscard]] std::string ffn_text(const Model& m) {
  std::string out =
      m.dense_layers() > 0 ? fmt::format("{} dense layer{} of width {}", m.dense_layers(), m.dense_layers() == 1 ? "" : "s", m.ffn) : "";
  if (m.mixture()) {
    out += fmt::format("{}{} layers of {} experts of width {}, {} per token", out.empty() ? "" : ", ", m.expert_layers(), m.experts,
                       m.expert_ffn, m.top_k);
    if (m.shared_experts > 0) out += fmt::format(" and {} shared of {}", m.shared_experts, m.shared_ffn);
    if (m.expert_groups > 1) out += fmt::format(", from {} of {} groups", m.group_limit, m.expert_groups);
  }
  return out + (m.gated ? "; three matrices" : "; two matrices");
}

[[nodiscard]] std::string parameters_table(const Model& m) {
  const ParameterCount n = parameters_of(m);
  TextTable table{{{"parameters"}, {"each", right}, {"times", right}, {"together", right}}};
  const auto row = [&](const char* what, double each, double times) {
    if (each > 0 && times > 0) table.row({what, count_text(each), fmt::format("{:.0f}", times), count_text(each * times)});
  };
  row("attention", n.attention, m.full_layers());
  row("attention with a window", n.window, m.window_layers);
  row("mixer", n.mixer, m.mixer.layers);
  row("dense feed-forward", n.dense_ffn, m.dense_layers());
  row("routed expert", n.expert, double(m.experts) * m.expert_layers());
  row("shared experts", n.shared, m.expert_layers());
  row("router", n.router, m.expert_layers());
  row("norms", n.norms, m.layers);
  row("embedding", n.embedding, 1);
  row("output table", n.head, 1);
  table.row({"all", "", "", count_text(n.total)});
  if (m.mixture()) table.row({"active per token", "", "", count_text(n.active)});
  return table.text(2);
}

[[nodiscard]] std::string flops_table(const Model& m, double sequence) {
  TextTable table{{{"GFLOP per token, training"}, {"full scores", right}, {"causal", right}}};
  const auto cell = [](double flops) { return flops > 0 ? fmt::format("{:.4g}", flops / 1e9) : std::string{"-"}; };
  for (std::size_t i = 0; i < flop_convention_names.size(); ++i) {
    const auto convention = static_cast<FlopConvention>(i);
    table.row({std::string{flop_convention_names[i]}, cell(convention_flops(m, sequence, convention, Scores::full)),
               cell(convention_flops(m, sequence, convention, Scores::causal))});
  }
  return table.text(2);
}

[[nodiscard]] std::string text(const Model& m, double sequence) {
  const ParameterCount n = parameters_of(m);
  std::string out = fmt::format("{}{}\n", m.name, m.title.empty() ? "" : ": " + m.title);
  out += wrapped("  ", fmt::format("{} layers, hidden {}, vocabulary {}{}.", m.layers, m.hidden, m.vocab, m.tied ? ", tables tied" : ""));
  out += wrapped("  attention     ", attention_text(m));
  out += wrapped("  feed-forward  ", ffn_text(m));
  if (!m.partial.empty()) out += wrapped("  partial       ", m.partial);
  out += "\nParameters\n" + parameters_table(m);
  if (!m.single_block && m.dense_layers() > 0)
    out += fmt::format("  matrices of one dense layer: {}\n", count_text(layer_parameters(n, m, false)));
  if (!m.single_block && m.expert_layers() > 0)
    out += fmt::format("  matrices of one layer with experts: {}\n", count_text(layer_parameters(n, m, true)));
  if (m.stated_parameters > 0)
    out += wrapped("  ", fmt::format("published: {}{}{}; {}", count_text(m.stated_parameters),
                                     m.stated_other > 0 ? fmt::format(" with {} beside it", count_text(m.stated_other)) : "",
                                     m.stated_active > 0 ? ", active " + count_text(m.stated_active) : "", m.stated_source));
  out += fmt::format("\nFLOPs at a sequence of {:.0f}\n", sequence) + flops_table(m, sequence);
  out += wrapped("  ", fmt::format("Forward {:.4g} GFLOP per token (causal); one more token after {:.0f}: {:.4g}.",
                                   forward_flops(m, sequence) / sequence / 1e9, sequence, decode_flops(m, sequence) / 1e9));
  out += "\nCache at 2 bytes a value\n";
  out += fmt::format("  {:.0f} B per token, {:.0f} B per layer that sees all; a sequence of {:.0f}: {:.4g} MiB\n", kv_bytes_per_token(m, 2),
                     m.kv_width() * 2, sequence, kv_bytes(m, sequence, 2) / (1 << 20));
  if (!m.notes.empty()) out += "\nNotes\n" + wrapped("  ", m.notes);
  out += "\nSource\n" + wrapped("  ", fmt::format("{} ({})", m.source, m.confidence));
  if (!m.aliases.empty()) out += "\nAlso called\n" + wrapped("  ", joined(m.aliases));
  return out;
}

[[nodiscard]] double sequence_of(const std::string& given) {
  int out = 0;
  const auto end = given.data() + given.size();
  const auto read = std::from_chars(given.data(), end, out);
  if (read.ec != std::errc{} || read.ptr != end || out < 1 || out > 1000000000)
    throw RequestError(fmt::format("--sequence \"{}\" is no number of tokens; write a whole number from 1 to 10^9", given));
  return out;
}

struct ModelsOptions {
  std::string name, sequence;
  bool json = false;
};

[[nodiscard]] std::string list(bool as_json) {
  Json json = Json::array();
  TextTable table{{{"name"},
                   {"layers", right},
                   {"hidden", right},
                   {"experts", right},
                   {"parameters", right},
                   {"active", right},
                   {"published", right},
                   {""}}};
  for (const std::string& name : model_names()) {
    const Model m = load_model(name);
    const ParameterCount n = parameters_of(m);
    json.push_back(listed_json(m));
    table.row({m.name, std::to_string(m.layers), std::to_string(m.hidden), experts_text(m), count_text(n.total),
               m.mixture() ? count_text(n.active) : "-", m.stated_parameters > 0 ? count_text(m.stated_parameters) : "-",
               m.partial.empty() ? "" : "partial"});
  }
  return as_json ? printed(json) : table.text(2);
}

}  // namespace

void add_models(CLI::App& app, Runner& runner) {
  const auto options = std::make_shared<ModelsOptions>();
  CLI::App& sub = *app.add_subcommand("models", "The models that have a name, or one of them");
  sub.add_option("MODEL", options->name, "A name or a YAML file; default all")->option_text(" ");
  sub.add_option("--sequence", options->sequence, "Tokens per sequence of the FLOPs and the cache; default 4096")->option_text("L");
  sub.add_flag("--json", options->json, "Print JSON");
  sub.footer("Example: fabricost models llama3-405b");
  runner.add(sub, [options](const Terminal& terminal) {
    const double sequence = sequence_of(options->sequence.empty() ? "4096" : options->sequence);
    if (options->name.empty()) {
      if (!options->sequence.empty()) throw RequestError("--sequence is for one model: fabricost models MODEL --sequence 8192");
      return list(options->json);
    }
    const Model model = load_model(options->name);
    return options->json ? printed(to_json(model, sequence)) : terminal.strong_headings(text(model, sequence));
  });
}

}  // namespace fabricost::cli
