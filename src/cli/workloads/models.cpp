/// \file models.cpp
/// fabricost models: the named models; for one of them its shape, parameters, FLOPs and cache.

#include "cli/face.hpp"
#include "cli/subcommands.hpp"
#include "text/text_table.hpp"

#include <fabricost/answers/models.hpp>
#include <fabricost/explain/assumed.hpp>

#include <fmt/format.h>

namespace fabricost::cli {
namespace {

/// "256 of which 8", or a dash.
[[nodiscard]] std::string experts_text(const ListedModel& m) { return m.experts > 0 ? fmt::format("{} top {}", m.experts, m.top_k) : "-"; }

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
  std::string out = m.dense_layers() > 0 ? fmt::format("{} of width {}", counted(m.dense_layers(), "dense layer"), m.ffn) : "";
  if (m.mixture()) {
    out += fmt::format("{}{} layers of {} experts of width {}, {} per token", out.empty() ? "" : ", ", m.expert_layers(), m.experts,
                       m.expert_ffn, m.top_k);
    if (m.shared_experts > 0) out += fmt::format(" and {} shared of {}", m.shared_experts, m.shared_ffn);
    if (m.expert_groups > 1) out += fmt::format(", from {} of {} groups", m.group_limit, m.expert_groups);
  }
  return out + (m.gated ? "; three matrices" : "; two matrices");
}

[[nodiscard]] std::string parameters_table(const Model& m, const ParameterCount& n) {
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

[[nodiscard]] std::string flops_table(const ModelAnswer& a) {
  TextTable table{{{"GFLOP per token, training"}, {"full scores", right}, {"causal", right}}};
  const auto cell = [](std::optional<double> flops) { return flops ? fmt::format("{:.4g}", *flops / 1e9) : std::string{"-"}; };
  for (const auto& [convention, flops] : a.training_flops_per_token) table.row({convention, cell(flops[0].second), cell(flops[1].second)});
  return table.text(2);
}

[[nodiscard]] std::string text(const ModelAnswer& a) {
  const Model& m = a.model;
  std::string out = fmt::format("{}{}\n", m.name, m.title.empty() ? "" : ": " + m.title);
  out += wrapped("  ", fmt::format("{} layers, hidden {}, vocabulary {}{}.", m.layers, m.hidden, m.vocab, m.tied ? ", tables tied" : ""));
  out += wrapped("  attention     ", attention_text(m));
  out += wrapped("  feed-forward  ", ffn_text(m));
  if (!m.partial.empty()) out += wrapped("  partial       ", m.partial);
  out += "\nParameters\n" + parameters_table(m, a.parameters);
  if (a.dense_layer_parameters) out += fmt::format("  matrices of one dense layer: {}\n", count_text(*a.dense_layer_parameters));
  if (a.expert_layer_parameters) out += fmt::format("  matrices of one layer with experts: {}\n", count_text(*a.expert_layer_parameters));
  if (m.stated_parameters > 0)
    out += wrapped("  ", fmt::format("published: {}{}{}; {}", count_text(m.stated_parameters),
                                     m.stated_other > 0 ? fmt::format(" with {} beside it", count_text(m.stated_other)) : "",
                                     m.stated_active > 0 ? ", active " + count_text(m.stated_active) : "", m.stated_source));
  out += fmt::format("\nFLOPs at a sequence of {:.0f}\n", a.sequence) + flops_table(a);
  out += wrapped("  ", fmt::format("Forward {:.4g} GFLOP per token (causal); one more token after {:.0f}: {:.4g}.",
                                   a.forward_flops_per_token / 1e9, a.sequence, a.decode_flops / 1e9));
  out += "\nCache at 2 bytes a value\n";
  out += fmt::format("  {:.0f} B per token, {:.0f} B per layer that sees all; a sequence of {:.0f}: {:.4g} MiB\n", a.kv_bytes_per_token,
                     a.kv_bytes_per_token_layer, a.sequence, a.kv_bytes_per_sequence / (1 << 20));
  if (!m.notes.empty()) out += "\nNotes\n" + wrapped("  ", m.notes);
  out += "\nSource\n" + wrapped("  ", fmt::format("{} ({})", m.source, m.confidence));
  if (!m.aliases.empty()) out += "\nAlso called\n" + wrapped("  ", joined(m.aliases));
  return out;
}

[[nodiscard]] std::string text(const std::vector<ListedModel>& models) {
  TextTable table{{{"name"},
                   {"layers", right},
                   {"hidden", right},
                   {"experts", right},
                   {"parameters", right},
                   {"active", right},
                   {"published", right},
                   {""}}};
  for (const ListedModel& m : models)
    table.row({m.name, std::to_string(m.layers), std::to_string(m.hidden), experts_text(m), count_text(m.parameters),
               m.experts > 0 ? count_text(m.active) : "-", m.stated_parameters > 0 ? count_text(m.stated_parameters) : "-",
               m.partial.empty() ? "" : "partial"});
  return table.text(2);
}

}  // namespace

void add_models(CLI::App& app, Runner& runner) {
  add_face<ModelsRequest>(app, runner, "models", "The models that have a name, or one of them", "Example: fabricost models llama3-405b",
                          [](const auto& answer, const Terminal& terminal) {
                            if (const auto* const one = std::get_if<ModelAnswer>(&answer)) return terminal.strong_headings(text(*one));
                            return text(std::get<std::vector<ListedModel>>(answer));
                          });
}

}  // namespace fabricost::cli
