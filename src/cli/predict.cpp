/// \file predict.cpp
/// fabricost predict: how long one operation takes, as a small table or JSON.

#include "text/text_table.hpp"
#include "moe.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/explain/explain.hpp>
#include <fabricost/kernels/fused_norm.hpp>
#include <fabricost/predict/predict.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>

namespace fabricost::cli {

void add_predict(CLI::App& app, Runner& runner) {
  struct Options : Question {
    bool json = false, fused_norm = false;
    MoeOptions moe;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& sub = *app.add_subcommand("predict", "How long one operation takes");
  add_prediction_question(sub, *options, options->moe, options->fused_norm);
  sub.add_flag("--json", options->json, "Print JSON");
  sub.footer("Example: fabricost predict all_reduce --system dgx-h100 --nodes 4 --size 256MiB");
  runner.add(sub, [options](const Terminal& terminal) {
    check_prediction_question(*options, options->moe, options->fused_norm);
    if (is_moe(options->operation)) return answer_moe(*options, options->moe, options->json, terminal);
    options->compute = options->fused_norm;  // the memory's rate
    const Asked asked = ask(*options, true);
    const Prediction prediction = predict(asked.system, asked.operation, asked.choice);
    std::optional<FusedNorm> norm;
    if (options->fused_norm) norm = fused_norm(asked.system, prediction);
    if (options->json) {
      nlohmann::ordered_json json = to_json(asked.system, prediction);
      if (norm) json["norm"] = to_json(*norm);
      return printed(json);
    }
    std::string out = terminal.strong(title(asked, prediction.ranks, prediction.nodes, true)) + "\n" + explain(prediction);
    if (norm)
      out += norm->saved() > 0 ? fmt::format("  with residual and norm {:.1f} us; fused into the all-reduce {:.1f} us\n", 1e6 * norm->apart,
                                             1e6 * norm->fused)
                               : fmt::format("  with residual and norm {:.1f} us; nothing to fuse: NCCL runs here\n", 1e6 * norm->apart);
    for (const std::string& one : assumed(asked.system, prediction)) out += wrapped("  ", "Assumed: " + one + ".");
    return out;
  });
}

}  // namespace fabricost::cli
