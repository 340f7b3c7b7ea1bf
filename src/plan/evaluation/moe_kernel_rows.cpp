/// Reads measured MoE kernels, prices them, and summarises the errors.

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
  row.source = cells.text("source");
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
  row.seconds = formula("time_us") ? 0 : cells.number("time_us") / 1e6;
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
  if (!(row.seconds > 0)) skip("no time above zero given");
  return row;
}

const char* token_group(double tokens) {
  return tokens <= 128 ? "<=128 tokens" : tokens <= 1024 ? "<=1024 tokens" : tokens <= 16384 ? "<=16384 tokens" : "above";
}

Outcome outcome_of(const MoeKernelRow& row) { return {row.seconds, row.predicted, row.low, row.high}; }

template <class Name>
std::vector<ErrorGroup> grouped(const std::vector<MoeKernelRow>& rows, Name name_of) {
  std::map<std::string, std::vector<Outcome>> members;
  for (const MoeKernelRow& row : rows)
    if (row.skipped.empty()) members[name_of(row)].push_back(outcome_of(row));
  std::vector<ErrorGroup> out;
  for (const auto& [group, its] : members) out.push_back({group, summarise(its)});
  return out;
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
    times[at->second].push_back(row.seconds);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::sort(times[i].begin(), times[i].end());
    out[i].seconds = quantile(times[i], 0.5);
  }
  return out;
}

void predict_moe_kernel_rows(std::vector<MoeKernelRow>& rows, std::string_view calibration, const std::function<void(System&)>& adjust) {
  std::map<std::string, std::optional<System>> systems;
  std::map<std::string, std::string> unknown;
  const auto load = [&](const std::string& name) {
    try {
      systems[name] = load_system(name, {}, calibration);
      if (adjust) adjust(*systems[name]);
    } catch (const RequestError& error) {
      bool known = false;
      if (!calibration.empty()) try {
          (void)load_system(name, {}, "none");
          known = true;
        } catch (const RequestError&) {  // an unknown machine: the row is skipped
        }
      if (known) throw;  // a missing calibration is not the row's fault
      unknown[name] = first_line(error.what());
    }
  };
  for (MoeKernelRow& row : rows) {
    if (!row.skipped.empty()) continue;
    if (!systems[row.system] && unknown.count(row.system) == 0) load(row.system);
    if (!systems[row.system]) {
      row.skipped = unknown[row.system];
      continue;
    }
    try {
      const MoePrediction p = predict(*systems[row.system], row.question);
      row.predicted = p.seconds;
      row.low = p.low;
      row.high = p.high;
      row.basis = p.basis;
    } catch (const RequestError& error) {
      row.skipped = first_line(error.what());
    }
  }
}

MoeKernelReport summarise(std::vector<MoeKernelRow> rows) {
  MoeKernelReport out;
  out.rows = std::move(rows);
  std::vector<Outcome> priced;
  for (const MoeKernelRow& row : out.rows) {
    if (row.skipped.empty())
      priced.push_back(outcome_of(row));
    else
      count_skipped(out.skipped, row.skipped, row.repeats);
  }
  out.total = summarise(priced);
  out.by_operation =
      grouped(out.rows, [](const MoeKernelRow& r) { return r.question.phase == MoePhase::combine ? "moe_combine" : "moe_dispatch"; });
  out.by_system = grouped(out.rows, [](const MoeKernelRow& r) { return r.system; });
  out.by_size = grouped(out.rows, [](const MoeKernelRow& r) { return token_group(r.question.tokens); });
  out.by_library = grouped(out.rows, [](const MoeKernelRow& r) { return r.implementation; });
  out.by_group =
      grouped(out.rows, [](const MoeKernelRow& r) { return fmt::format("{} {} {}", r.system, r.implementation, name(r.question.phase)); });
  return out;
}

std::string per_row_csv(const MoeKernelReport& report) {
  std::string out =
      "source,system,ranks,phase,implementation,dtype,tokens_per_rank,hidden,experts,top_k,distribution,sms,time_us,notes,predicted_us,low_"
      "us,"
      "high_us,error_percent,basis,repeats,skipped\n";
  const auto given = [](auto value, auto min) { return value < min ? std::string() : fmt::format("{}", value); };
  for (const MoeKernelRow& r : report.rows) {
    const MoeQuestion& q = r.question;
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},", csv_quoted(r.source), csv_quoted(r.system), given(q.ranks, 1),
                       name(q.phase), csv_quoted(r.implementation), csv_quoted(r.dtype), given(q.tokens, 0.0), given(q.hidden, 1),
                       given(q.gate.experts, 1), given(q.gate.top_k, 1), csv_quoted(r.distribution), given(q.sms, 1),
                       r.seconds > 0 ? fmt::format("{}", 1e6 * r.seconds) : "", csv_quoted(r.notes));
    out += r.skipped.empty() ? fmt::format("{},{},{},{},{},", 1e6 * r.predicted, 1e6 * r.low, 1e6 * r.high, 100 * r.error(), name(r.basis))
                             : ",,,,,";
    out += fmt::format("{},{}\n", r.repeats, csv_quoted(r.skipped));
  }
  return out;
}

}  // namespace fabricost::plan
