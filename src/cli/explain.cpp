/// \file explain.cpp
/// fabricost explain: the arithmetic behind one prediction, its sources, and what would change it.

#include "moe.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/explain/explain.hpp>

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>

namespace fabricost::cli {

void add_explain(CLI::App& app, Runner& runner) {
  struct Options : Question {
    bool json = false, fused_norm = false;
    MoeOptions moe;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& sub = *app.add_subcommand("explain", "Why: the arithmetic, the sources, what would change it");
  add_prediction_question(sub, *options, options->moe, options->fused_norm);
  sub.add_flag("--json", options->json, "Print the prediction, naive time and changes as JSON");
  sub.footer("Example: fabricost explain all_reduce --system dgx-h100 --ranks 8 --size 64KiB");
  runner.add(sub, [options](const Terminal& terminal) {
    check_prediction_question(*options, options->moe, options->fused_norm);
    if (is_moe(options->operation)) return explain_moe(*options, options->moe, options->json, terminal);
    options->compute = options->fused_norm;  // the memory's rate
    const Asked asked = ask(*options, true);
    const Prediction prediction = predict(asked.system, asked.operation, asked.choice);
    std::optional<FusedNorm> norm;
    if (options->fused_norm) norm = fused_norm(asked.system, prediction);
    if (!options->json)
      return terminal.strong_headings(explain(asked.system, prediction, notes_of(*options)) + (norm ? "\n" + explain(*norm) : ""));
    nlohmann::ordered_json out = to_json(asked.system, prediction);
    if (norm) out["norm"] = to_json(*norm);
    out["naive_us"] = naive_time(asked.system, asked.operation).value() * 1e6;
    out["changes"] = nlohmann::ordered_json::array();
    for (const Sensitivity& s : sensitivities(asked.system, asked.operation, asked.choice))
      out["changes"].push_back({{"change", s.change}, {"time_us", s.seconds * 1e6}});
    return printed(out);
  });
}

}  // namespace fabricost::cli
