/// \file predict.cpp
/// fabricost predict: how long one operation takes, as a small table or JSON.

#include "../io/text_table.hpp"
#include "moe.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/io/explain.hpp>
#include <fabricost/predict/predict.hpp>

#include <nlohmann/json.hpp>

#include <memory>

namespace fabricost::cli {

void add_predict(CLI::App& app, Runner& runner) {
  struct Options : Question {
    bool json = false;
    MoeOptions moe;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& sub = *app.add_subcommand("predict", "How long one operation takes");
  add_question(sub, *options);
  sub.get_option("OP")->description(
      "all_reduce all_gather reduce_scatter broadcast reduce\n"
      "all_to_all send_recv moe_dispatch moe_combine\n"
      "(case, - and _ do not matter)");
  add_size(sub, *options);
  add_library(sub, *options);
  add_moe_options(sub, options->moe);
  sub.add_flag("--json", options->json, "Print JSON");
  sub.footer("Example: fabricost predict all_reduce --system dgx-h100 --nodes 4 --size 256MiB");
  runner.add(sub, [options](const Terminal& terminal) {
    if (is_moe(options->operation)) return answer_moe(*options, options->moe, options->json, terminal);
    const Asked asked = ask(*options, true);
    const Prediction prediction = predict(asked.system, asked.operation, asked.choice);
    if (options->json) return printed(to_json(asked.system, prediction));
    std::string out = terminal.strong(title(asked, prediction.ranks, prediction.nodes, true)) + "\n" + explain(prediction);
    for (const std::string& one : assumed(asked.system, prediction)) out += wrapped("  ", "Assumed: " + one + ".");
    return out;
  });
}

}  // namespace fabricost::cli
