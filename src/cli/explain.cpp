/// \file explain.cpp
/// fabricost explain: the arithmetic behind one prediction, its sources, and what would change it.

#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/io/explain.hpp>

#include <nlohmann/json.hpp>

#include <memory>

namespace fabricost::cli {

void add_explain(CLI::App& app, Runner& runner) {
  struct Options : Question {
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& sub = *app.add_subcommand("explain", "Why: the arithmetic, the sources, what would change it");
  add_question(sub, *options);
  add_size(sub, *options);
  sub.add_flag("--json", options->json, "Print the prediction, naive time and changes as JSON");
  sub.footer("Example: fabricost explain all_reduce --system dgx-h100 --ranks 8 --size 64KiB");
  runner.add(sub, [options](const Terminal& terminal) {
    const Asked asked = ask(*options, true);
    if (!options->json) return terminal.strong_headings(explain(asked.system, asked.operation, asked.choice));
    nlohmann::ordered_json out = to_json(asked.system, predict(asked.system, asked.operation, asked.choice));
    out["naive_us"] = naive_time(asked.system, asked.operation).value() * 1e6;
    out["changes"] = nlohmann::ordered_json::array();
    for (const Sensitivity& s : sensitivities(asked.system, asked.operation, asked.choice))
      out["changes"].push_back({{"change", s.change}, {"time_us", s.seconds * 1e6}});
    return printed(out);
  });
}

}  // namespace fabricost::cli
