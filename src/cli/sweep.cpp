/// \file sweep.cpp
/// fabricost sweep: one operation at many sizes or on many counts of nodes, as a table, CSV or JSON.

#include "text/text_table.hpp"
#include "amounts.hpp"
#include "counts.hpp"
#include "predictions_table.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"
#include "sweep_counts.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <memory>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string csv(const std::vector<Prediction>& predictions) {
  std::string out = fmt::format("{}\n", csv_header);
  for (const Prediction& p : predictions) out += csv_row(p) + "\n";
  return out;
}

}  // namespace

void add_sweep(CLI::App& app, Runner& runner) {
  struct Options : Question {
    std::string sizes;
    bool csv = false, json = false, crossovers = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& sub = *app.add_subcommand("sweep", "One operation at many sizes, or on many counts of nodes or ranks");
  add_question(sub, *options);
  sub.get_option("--nodes")->description("Nodes, as nccl-tests counts them; several: 1:64:x2, 2,4,8");
  sub.get_option("--ranks")->description("GPUs; default all of the nodes; several as for --nodes");
  sub.add_option("--sizes", options->sizes, "1KiB:8GiB:x2, 1MiB:16MiB:+1MiB, or 4KiB,64KiB,1MiB")->option_text("SIZES");
  add_size(sub, *options);
  sub.add_flag("--crossovers", options->crossovers,
               "For each count the sizes at which what runs, and what is\nfastest, change (--sizes FIRST:LAST:x2 bounds them)");
  sub.add_flag("--csv", options->csv, "Print CSV");
  sub.add_flag("--json", options->json, "Print JSON");
  sub.footer("Example: fabricost sweep all_to_all --system aws-p5 --nodes 2 --sizes 1KiB:8GiB:x2 --csv");
  runner.add(sub, [options](const Terminal& terminal) {
    if (options->csv && options->json) throw RequestError("--csv and --json exclude each other");
    const SweepForm form = options->json ? SweepForm::json : options->csv ? SweepForm::csv : SweepForm::table;
    const bool counts = is_several(options->nodes) || is_several(options->ranks);
    if (options->crossovers) {
      if (!options->size.empty()) throw RequestError("--crossovers looks at all sizes; leave --size out (--sizes bounds them)");
      return sweep_crossovers(*options, options->sizes, form, terminal);
    }
    if (counts) {
      if (!options->sizes.empty())
        throw RequestError("several counts and several sizes; sweep over one of them: --size 256MiB, or one count");
      return sweep_counts(*options, form, terminal);
    }
    if (!options->size.empty())
      throw RequestError("one size on one count is fabricost predict; take --sizes, or several counts: --nodes 1:64:x2");
    if (options->sizes.empty()) throw RequestError("which sizes? Add --sizes, as in --sizes 1KiB:8GiB:x2");
    const std::vector<Bytes> sizes = sizes_of(options->sizes, "--sizes");
    const Asked asked = ask(*options, false);
    const std::vector<Prediction> predictions = sweep(asked.system, asked.operation, sizes, asked.choice);
    if (options->json) return predictions_json(asked.system, predictions);
    if (options->csv) return csv(predictions);
    const Prediction& first = predictions.front();
    std::string out = terminal.strong(title(asked, first.ranks, first.nodes, false)) + "\n" + predictions_table(predictions, false);
    for (const std::string& one : assumed(asked.system, first)) out += wrapped("  ", "Assumed: " + one + ".");
    return out;
  });
}

}  // namespace fabricost::cli
