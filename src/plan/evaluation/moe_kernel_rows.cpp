/// Reads measured MoE kernels and prices them.

#include "evaluation/cells.hpp"
#include "specs/near_or_all.hpp"
#include "text/quantile.hpp"
#include "validation/machines.hpp"

#include <fabricost/plan/evaluation/moe_kernel_rows.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

namespace fabricost::plan {

namespace {

constexpr std::array<std::string_view, 11> kernel_columns{
    "system", "ranks", "phase", "implementation", "tokens_per_rank", "hidden", "experts", "top_k", "distribution", "time_us", "dtype"};

/// Parses one row; rows beyond the model go to `skipped`, a malformed cell is a fault.
MoeKernelRow row_in(CsvTable& table) {
  Cells cells(table);
  MoeKernelRow row;
  const auto skip = [&row](std::string reason) {
    if (row.skipped.empty()) row.skipped = std::move(reason);
  };
  const auto formula = [&](std::string_view column) {
    const bool found = cells.text(column).starts_with('=');
    if (found) skip(fmt::format("{} is a formula", column));
    return found;
  };
  const auto count = [&](std::string_view column) { return formula(column) ? 0 : cells.count(column, 0, 1e8); };
  row.line = table.line();
  row.id = cells.text("source");
  row.system = cells.text("system");
  row.notes = cells.text("notes");
  row.implementation = cells.text("implementation");
  row.distribution = cells.text("distribution");
  row.dtype = cells.text("dtype");
  MoeQuestion& q = row.question;
  if (const auto phase = parse_enum<MoePhase>(cells.text("phase"), moe_phase_names))
    q.phase = *phase;
  else
    cells.fault("phase", "which is not known", near_or_all(cells.text("phase"), moe_phase_names));
  q.ranks = count("ranks");
  q.hidden = count("hidden");
  q.gate.experts = count("experts");
  q.gate.top_k = count("top_k");
  q.sms = count("sms");
  const bool tokens_given = !cells.text("tokens_per_rank").empty() && !formula("tokens_per_rank");
  q.tokens = tokens_given ? cells.number("tokens_per_rank") : -1;
  row.measured = formula("time_us") ? 0 : cells.number("time_us") / 1e6;
  if (const auto kernel = parse_moe_kernel(row.implementation))
    q.kernel = *kernel;
  else
    skip(fmt::format("implementation \"{}\" is not modelled", row.implementation));
  if (row.distribution == "uniform")
    q.routing.kind = RoutingKind::uniform;
  else if (row.distribution == "balanced")
    q.routing.kind = RoutingKind::balanced;
  else
    skip(fmt::format("distribution \"{}\": only uniform and balanced need no further numbers", row.distribution));
  const std::string type = folded(row.dtype);
  if (type == "bfloat16" || type == "bf16" || type == "half" || type == "float16" || type == "fp16")
    q.precision = Precision::bf16;
  else if (type == "fp8")
    q.precision = Precision::fp8;
  else if (type == "nvfp4" || type == "fp4")
    q.precision = Precision::fp4;
  else if (!type.empty())
    cells.fault("dtype", "which is not known", "one of: bfloat16 half fp8 nvfp4");
  if (row.system.empty()) skip("no system given");
  if (q.ranks == 0 || q.hidden == 0 || q.gate.experts == 0 || q.gate.top_k == 0 || q.tokens < 0)
    skip("ranks, tokens, hidden, experts or top_k not given");
  if (!(row.measured > 0)) skip("no time above zero given");
  row.group = fmt::format("{} {} {}", row.system, row.implementation, name(q.phase));
  row.model = fmt::format("{} tokens of {}, top {} of {} on {} ranks, {}", q.tokens, q.hidden, q.gate.top_k, q.gate.experts, q.ranks, row.dtype);
  row.metric = "seconds";
  row.fully_specified = true;
  return row;
}

}  // namespace

std::vector<MoeKernelRow> read_moe_kernel_rows(const std::filesystem::path& file) {
  CsvTable table(file);
  require_columns(table, kernel_columns, "a MoE CSV");
  std::vector<MoeKernelRow> rows;
  while (table.next()) rows.push_back(row_in(table));
  table.finish();
  return rows;
}

std::vector<MoeKernelRow> merge_repeats(const std::vector<MoeKernelRow>& rows) {
  const auto key = [](const MoeKernelRow& r) {
    const MoeQuestion& q = r.question;
    return std::tuple(r.system, r.implementation, r.distribution, r.dtype, r.notes, r.skipped, q.phase, q.ranks, q.tokens, q.hidden,
                      q.gate.experts, q.gate.top_k, q.sms);
  };
  std::vector<MoeKernelRow> out;
  std::vector<std::vector<double>> times;
  std::map<decltype(key(rows.front())), std::size_t> seen;
  for (const MoeKernelRow& row : rows) {
    const auto [at, fresh] = seen.try_emplace(key(row), out.size());
    if (fresh) {
      out.push_back(row);
      out.back().repeats = 0;
      times.emplace_back();
    }
    out[at->second].repeats += row.repeats;
    times[at->second].push_back(row.measured);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::sort(times[i].begin(), times[i].end());
    out[i].measured = quantile(times[i], 0.5);
  }
  return out;
}

void predict_moe_kernel_rows(std::vector<MoeKernelRow>& rows, const std::function<void(System&)>& adjust) {
  std::map<std::string, std::optional<System>> systems;
  for (MoeKernelRow& row : rows) {
    if (!row.skipped.empty()) continue;
    try {
      std::optional<System>& system = systems[row.system];
      if (!system) {
        system = load_system(row.system);
        if (adjust) adjust(*system);
      }
      const MoePrediction p = predict(*system, row.question);
      row.predicted = p.seconds;
      row.low = p.low;
      row.high = p.high;
      row.basis = p.basis;
    } catch (const RequestError& error) {
      row.skipped = first_line(error.what());
    }
  }
}

}  // namespace fabricost::plan
