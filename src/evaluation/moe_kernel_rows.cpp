/// \file moe_kernel_rows.cpp
/// Reading measured MoE kernels, pricing them, and summing up the errors.

#include "specs/near_or_all.hpp"
#include "text/csv.hpp"
#include "text/quantile.hpp"
#include "validation/machines.hpp"

#include <fabricost/evaluation/moe_kernel_rows.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace fabricost {

namespace {

constexpr std::array<std::string_view, 11> kernel_columns{
    "system", "ranks", "phase", "implementation", "tokens_per_rank", "hidden", "experts", "top_k", "distribution", "time_us", "dtype"};

/// Reads the cells of one row; what is not modelled goes to `skipped`, what cannot be meant is a fault.
class MoeKernelRowReader {
 public:
  MoeKernelRowReader(io::CsvTable& table, MoeKernelRow& row) : table_(table), row_(row) {}

  void read() {
    row_.line = table_.line();
    row_.source = text("source");
    row_.system = text("system");
    row_.notes = text("notes");
    row_.implementation = text("implementation");
    row_.distribution = text("distribution");
    row_.dtype = text("dtype");
    MoeQuestion& q = row_.question;
    if (const auto phase = name_in("phase", moe_phase_names)) q.phase = *phase;
    q.ranks = count("ranks", 1);
    q.hidden = count("hidden", 1);
    q.gate.experts = count("experts", 1);
    q.gate.top_k = count("top_k", 1);
    q.sms = count("sms", 1);
    q.tokens = number("tokens_per_rank").value_or(-1);
    row_.seconds = number("time_us").value_or(0) / 1e6;
    if (const auto kernel = parse_moe_kernel(row_.implementation))
      q.kernel = *kernel;
    else
      skip(fmt::format("implementation \"{}\" is not modelled", row_.implementation));
    if (row_.distribution == "uniform")
      q.routing.kind = RoutingKind::uniform;
    else if (row_.distribution == "balanced")
      q.routing.kind = RoutingKind::balanced;
    else
      skip(fmt::format("distribution \"{}\": only uniform and balanced need no further numbers", row_.distribution));
    read_type();
    if (row_.system.empty()) skip("no system given");
    if (q.ranks == 0 || q.hidden == 0 || q.gate.experts == 0 || q.gate.top_k == 0 || q.tokens < 0)
      skip("ranks, tokens, hidden, experts or top_k not given");
    if (!(row_.seconds > 0)) skip("no time above zero given");
  }

 private:
  [[nodiscard]] const std::string& text(std::string_view column) const { return table_.cell(table_.column(column)); }
  void skip(std::string reason) {
    if (row_.skipped.empty()) row_.skipped = std::move(reason);
  }

  std::optional<double> number(std::string_view column) {
    const int at = table_.column(column);
    const std::string& cell = table_.cell(at);
    if (cell.empty()) return std::nullopt;
    if (cell.front() == '=') {
      skip(fmt::format("{} is a formula", column));
      return std::nullopt;
    }
    const auto value = io::parse_number(cell);
    if (!value || *value < 0) {
      table_.fault(at, fmt::format("{} is \"{}\", not a number from 0", column, cell),
                   "write a number with a point, or leave the cell empty");
      return std::nullopt;
    }
    return value;
  }
  /// 0 for an empty cell.
  int count(std::string_view column, double least) {
    const auto value = number(column);
    if (!value) return 0;
    if (*value < least || *value > 1e8 || *value != std::floor(*value)) {
      table_.fault(table_.column(column), fmt::format("{} is {}, not a whole number from {} to 10^8", column, text(column), least),
                   "write a count, or leave the cell empty");
      return 0;
    }
    return static_cast<int>(*value);
  }
  template <std::size_t N>
  std::optional<MoePhase> name_in(std::string_view column, const std::array<std::string_view, N>& names) {
    const std::string& cell = text(column);
    const auto value = detail::parse_enum<MoePhase>(cell, names);
    if (!value) table_.fault(table_.column(column), fmt::format("unknown {} \"{}\"", column, cell), io::near_or_all(cell, names));
    return value;
  }
  void read_type() {
    const std::string t = detail::folded(row_.dtype);
    if (t.empty()) return;
    if (t == "bfloat16" || t == "bf16" || t == "half" || t == "float16" || t == "fp16")
      row_.question.precision = Precision::bf16;
    else if (t == "fp8")
      row_.question.precision = Precision::fp8;
    else if (t == "nvfp4" || t == "fp4")
      row_.question.precision = Precision::fp4;
    else
      table_.fault(table_.column("dtype"), fmt::format("unknown dtype \"{}\"", row_.dtype), "one of: bfloat16 half fp8 nvfp4");
  }

  io::CsvTable& table_;
  MoeKernelRow& row_;
};

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
  io::CsvTable table(file);
  std::vector<std::string> missing;
  for (const std::string_view column : kernel_columns)
    if (table.column(column) < 0) missing.emplace_back(column);
  if (!missing.empty())
    throw io::fault_of_file(
        file.string(), fmt::format("has no column {}", fmt::join(missing, ", ")),
        "a MoE CSV has source,system,ranks,phase,implementation,dtype,tokens_per_rank,hidden,experts,top_k,distribution,"
        "sms,time_us,notes");
  std::vector<MoeKernelRow> rows;
  while (table.next()) {
    MoeKernelRow row;
    MoeKernelRowReader(table, row).read();
    rows.push_back(std::move(row));
  }
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
    out[i].seconds = io::quantile(times[i], 0.5);
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
        } catch (const RequestError&) {  // a machine nobody knows: the row is skipped
        }
      if (known) throw;  // a calibration that does not exist is not the row's fault
      unknown[name] = io::first_line(error.what());
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
      row.skipped = io::first_line(error.what());
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
  const auto given = [](auto value, auto least) { return value < least ? std::string() : fmt::format("{}", value); };
  for (const MoeKernelRow& r : report.rows) {
    const MoeQuestion& q = r.question;
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},", io::csv_quoted(r.source), io::csv_quoted(r.system), given(q.ranks, 1),
                       name(q.phase), io::csv_quoted(r.implementation), io::csv_quoted(r.dtype), given(q.tokens, 0.0), given(q.hidden, 1),
                       given(q.gate.experts, 1), given(q.gate.top_k, 1), io::csv_quoted(r.distribution), given(q.sms, 1),
                       r.seconds > 0 ? fmt::format("{}", 1e6 * r.seconds) : "", io::csv_quoted(r.notes));
    out += r.skipped.empty() ? fmt::format("{},{},{},{},{},", 1e6 * r.predicted, 1e6 * r.low, 1e6 * r.high, 100 * r.error(), name(r.basis))
                             : ",,,,,";
    out += fmt::format("{},{}\n", r.repeats, io::csv_quoted(r.skipped));
  }
  return out;
}

}  // namespace fabricost
