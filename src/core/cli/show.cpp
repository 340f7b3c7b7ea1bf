/// \file show.cpp
/// fabricost show: one machine tier by tier, or its picture.

#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/answers/show.hpp>
#include <fabricost/pictures/picture.hpp>

namespace fabricost::cli {
namespace {

struct ShowTyped : ShowRequest {
  bool svg = false;
  std::optional<Collective> operation{};
  int nodes = 0, ranks = 0;
  std::optional<Bytes> bytes{};

  static constexpr auto fields() {
    using R = ShowTyped;
    using enum Amount;
    return tables(
        ShowRequest::fields(),
        Table{asks(&R::svg, "svg", "--svg", "", "Print a picture (SVG)"),
              asks(&R::operation, "operation", "--op", "OP", "Operation whose load colours the tiers (with <svg>); default\nall_reduce"),
              asks(&R::nodes, "nodes", "--nodes,-n", count, any_count, "N", "Nodes of that operation"),
              asks(&R::ranks, "ranks", "--ranks", count, any_count, "R", "Ranks of that operation"), fabricost::core::field::ask_bytes<R>});
  }
  [[nodiscard]] bool of_an_operation() const { return operation || bytes; }
};

/// The picture, with the loads of the requested operation, if any.
[[nodiscard]] std::string drawn(const ShowTyped& request) {
  if (!request.system) throw Refusal("which machine? fabricost systems lists the names");
  if (!request.of_an_operation() && (request.nodes > 0 || request.ranks > 0))
    throw Refusal("<nodes> and <ranks> are for a picture with loads: add <bytes>, as in <bytes=268435456>");
  const auto system = request.system.get(request.overrides, {}, request.calibration);
  if (!request.of_an_operation()) return picture(*system);
  PredictRequest asked;
  asked.system = {{}, system};
  asked.operation = request.operation.value_or(Collective::all_reduce);
  asked.nodes = request.nodes;
  asked.ranks = request.ranks;
  asked.bytes = request.bytes;
  const PredictAnswer loads = answer(asked);
  return picture(*system, &loads, title_of(loads, loads.system));
}

}  // namespace

void add_show(CLI::App& app, Runner& runner) {
  constexpr const char* footer =
      "Example: fabricost show gb200-nvl72\n         fabricost show dgx-h100 --svg --op all_reduce --size 256MiB > dgx-h100.svg";
  add_command<ShowTyped>(app, runner, "show", "One machine, tier by tier", footer, [](const GivenOptions& o, const Terminal& terminal) {
    const auto request = request_of<ShowTyped>(o.typed);
    if (request.svg && o.json) throw RequestError("--svg or --json, not both");
    if (request.svg) return spelled_out<ShowTyped>([&] { return drawn(request); });
    if (request.of_an_operation() || request.nodes > 0 || request.ranks > 0)
      throw RequestError("--op, --size, --nodes and --ranks colour a picture: add --svg");
    return output_of<ShowTyped>(
        o.typed, o.json, terminal, [](Page& page, const ShowAnswer& a) { page.add_headed(a.text); }, nothing_beside);
  });
}

}  // namespace fabricost::cli
