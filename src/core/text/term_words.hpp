#pragma once
/// The terms of a step or a token (economics/terms.hpp) in words, for readers without the documentation.

#include <fabricost/namespaces.hpp>

#include <array>
#include <string_view>
#include <utility>

namespace fabricost::core {

/// Each term that has words, with them.
inline constexpr auto words_of_terms = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"compute", "computing"},
    {"layer_floor", "launches of kernels"},
    {"tensor", "exchange of tensor ranks"},
    {"context", "exchange of context ranks"},
    {"expert", "exchange of experts"},
    {"hand_over", "hand-over between stages"},
    {"bubble", "idle in the pipeline"},
    {"data", "gradients and weights"},
    {"accumulation", "adding up gradients"},
    {"optimizer", "update of parameters"},
    {"stragglers", "waiting for the slowest node"},
    {"frozen_model", "forward of the frozen model"},
    {"input", "waiting for data"},
    {"evaluation", "evaluation"},
    {"weights_and_products", "weights and products"},
    {"experts", "products of experts"},
    {"elementwise", "element-wise kernels"},
    {"head", "output matrix"},
    {"kernels", "launches of kernels"},
    {"exchange", "exchange of experts"},
    {"stages", "hand-over between stages"},
    {"hidden", "hidden behind others"},
    {"host_memory", "host memory"},
    {"prompts_of_others", "prompts of others"},
    {"waiting_for_a_step", "waiting for a step"},
    {"queue", "waiting for others"},
    {"transfer", "cache transfer"},
    {"reload", "reload of prefixes"},
    {"dcn", "exchange between sites"},
    {"outer_update", "update of the outer optimizer"},
});

/// "idle in the pipeline" for "bubble"; a name without a translation is returned unchanged.
[[nodiscard]] constexpr std::string_view term_words(std::string_view name) {
  for (const auto& [known, said] : words_of_terms)
    if (known == name) return said;
  return name;
}

}  // namespace fabricost::core
