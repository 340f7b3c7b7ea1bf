/// fabricost model: the named models; for one of them its shape, parameters, FLOPs and cache.

#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"
#include "text/joined.hpp"

#include <fabricost/plan/answers/models.hpp>

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

/// What sets it apart from a language model; empty for one.
[[nodiscard]] std::string kind_text(const Model& m) {
  if (m.causal()) return {};
  if (m.recommends()) {
    const Recommender& r = m.recommender;
    return fmt::format(
        "recommendation: {} rows of {} values in {} tables, {:.4g} looked up for a sample; dense layers {}, {}, then {}",
        count_text(r.rows), r.width, r.tables, r.lookups, joined(r.bottom, "-"),
        r.cross_layers > 0 ? fmt::format("{} cross layers of rank {}", r.cross_layers, r.cross_rank) : "dot products of all pairs",
        joined(r.top, "-"));
  }
  std::string out = fmt::format("{}: every token attends to all others", model_kind_names[static_cast<std::size_t>(m.kind)]);
  if (m.patch_pixels > 0)
    out += fmt::format("; a token is {0} x {0} pixels{1}", m.patch_pixels,
                       m.patch_frames > 1 ? fmt::format(" of {} frames", m.patch_frames) : "");
  if (m.cross_tokens > 0) out += fmt::format("; each layer attends to {} tokens of a text, too", m.cross_tokens);
  if (m.modulation > 0) out += fmt::format("; {} matrices a layer read the sequence's time and class", m.modulation);
  if (m.head_share < 1) out += fmt::format("; the output table sees {:.3g} % of the tokens", 100 * m.head_share);
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

void add_parameters(Page& page, const Model& m, const ParameterCount& n) {
  TextTable table{"parameters", ">each", ">times", ">together"};
  const auto row = [&](const char* what, double each, double times) {
    if (each > 0 && times > 0) table.row(what, count_text(each), fmt::format("{:.0f}", times), count_text(each * times));
  };
  row("attention", n.attention, m.full_layers());
  row("attention with a window", n.window, m.window_layers);
  row("mixer", n.mixer, m.mixer.layers);
  row("dense feed-forward", n.dense_ffn, m.dense_layers());
  row("routed expert", n.expert, double(m.experts) * m.expert_layers());
  row("shared experts", n.shared, m.expert_layers());
  row("router", n.router, m.expert_layers());
  row("norms", n.norms, m.layers);
  row("encoder of images", n.vision, 1);
  row(m.recommends() ? "tables" : "embedding", n.embedding, 1);
  row(m.recommends() ? "dense layers" : "output table", n.head, 1);
  table.row("all", "", "", count_text(n.total));
  if (m.mixture() || m.recommends()) table.row(m.recommends() ? "active per sample" : "active per token", "", "", count_text(n.active));
  page.table(table);
}

void add_flops(Page& page, const ModelAnswer& a) {
  TextTable table{"GFLOP per token, training", ">full scores", ">causal"};
  const auto cell = [](std::optional<double> flops) { return flops ? figure(*flops / 1e9) : "-"; };
  for (const auto& [convention, flops] : a.training_flops_per_token) table.row(convention, cell(flops[0].second), cell(flops[1].second));
  page.table(table);
}

void text_of(Page& page, const ModelAnswer& a) {
  const Model& m = a.model;
  page.width = 80;
  page.title(m.name + (m.title.empty() ? "" : ": " + m.title));
  if (!m.recommends())
    page.say("{} layers, hidden {}, {} {}{}.", m.layers, m.hidden, m.patch_pixels > 0 ? "values of a patch" : "vocabulary", m.vocab,
             m.tied ? ", tables tied" : "");
  if (const std::string kind = kind_text(m); !kind.empty()) page.item("  kind          ", kind);
  if (!m.recommends()) {
    page.item("  attention     ", attention_text(m));
    page.item("  feed-forward  ", ffn_text(m));
  }
  if (m.vision)
    page.item("  vision        ", fmt::format("{}, an encoder of images (--image and --images of plan train)", m.vision->name));
  if (!m.partial.empty()) page.item("  partial       ", m.partial);
  page.section("Parameters");
  add_parameters(page, m, a.parameters);
  if (a.dense_layer_parameters) page.line("matrices of one dense layer: {}", count_text(*a.dense_layer_parameters));
  if (a.expert_layer_parameters) page.line("matrices of one layer with experts: {}", count_text(*a.expert_layer_parameters));
  if (m.stated_parameters > 0)
    page.say("published: {}{}{}; {}", count_text(m.stated_parameters),
             m.stated_other > 0 ? fmt::format(" with {} beside it", count_text(m.stated_other)) : "",
             m.stated_active > 0 ? ", active " + count_text(m.stated_active) : "", m.stated_source);
  if (m.recommends())
    page.section("FLOPs");
  else {
    page.section("FLOPs at a sequence of {:.0f}", a.sequence);
    add_flops(page, a);
  }
  if (!m.causal()) {
    page.say("Forward {:.4g} GFLOP per {}.", a.forward_flops_per_token / 1e9,
             m.recommends() ? "sample" : "token: all scores count, there is no mask");
  } else {
    page.say("Forward {:.4g} GFLOP per token (causal); one more token after {:.0f}: {:.4g}.", a.forward_flops_per_token / 1e9, a.sequence,
             a.decode_flops / 1e9);
    page.section("Cache at 2 bytes a value");
    page.line("{:.0f} B per token, {:.0f} B per layer that sees all; a sequence of {:.0f}: {:.4g} MiB", a.kv_bytes_per_token.value(),
              a.kv_bytes_per_token_layer.value(), a.sequence, a.kv_bytes_per_sequence / units::MiB(1));
  }
  if (!m.notes.empty()) {
    page.section("Notes");
    page.say(m.notes);
  }
  page.section("Source");
  page.say("{} ({})", m.source, m.confidence);
  if (!m.aliases.empty()) {
    page.section("Also called");
    page.say(joined(m.aliases));
  }
}

void text_of(Page& page, const std::vector<ListedModel>& models) {
  const auto known = [](double parameters) { return parameters > 0 ? count_text(parameters) : "-"; };
  page.table({"name", ">layers", ">hidden", ">experts", ">parameters", ">active", ">published", ""}, models, [&](const ListedModel& m) {
    return cells(m.name, m.layers, m.hidden, experts_text(m), count_text(m.parameters), m.experts > 0 ? count_text(m.active) : "-",
                 known(m.stated_parameters), m.partial.empty() ? "" : "partial");
  });
}

}  // namespace

void add_model(CLI::App& app, Runner& runner) {
  add_question<ModelsRequest>(app, runner, "model", "List built-in models, or describe one", "Example: fabricost model llama3-405b",
                          [](Page& page, const auto& answer) { std::visit([&](const auto& one) { text_of(page, one); }, answer); });
}

}  // namespace fabricost::cli
