/// \file memory_rows.cpp
/// Rows of a training.csv that state a peak of memory, as a model, a layout and what they need.

#include "io/csv.hpp"

#include <fabricost/collective.hpp>
#include <fabricost/io/memory_rows.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace fabricost {

namespace {

constexpr double most = 1e9;  ///< of any number in a row: keeps products of two in a long
constexpr std::array<std::string_view, 25> needed{"id",
                                                  "group",
                                                  "model",
                                                  "layers",
                                                  "hidden",
                                                  "ffn",
                                                  "heads",
                                                  "kv_heads",
                                                  "vocab",
                                                  "seq",
                                                  "experts",
                                                  "top_k",
                                                  "gpus",
                                                  "tp",
                                                  "pp",
                                                  "vpp",
                                                  "cp",
                                                  "ep",
                                                  "microbatch",
                                                  "global_batch",
                                                  "precision",
                                                  "recompute",
                                                  "sequence_parallel",
                                                  "zero_stage",
                                                  "memory_gib"};

class RowReader {
 public:
  explicit RowReader(io::CsvTable& table) : table_(table) {
    std::vector<std::string> missing;
    for (const std::string_view name : needed)
      if (table.column(name) < 0) missing.emplace_back(name);
    if (missing.empty()) return;
    table.fault(-1,
                fmt::format("the column{} {} {} missing", missing.size() > 1 ? "s" : "", fmt::join(missing, ", "),
                            missing.size() > 1 ? "are" : "is"),
                "see the columns of training.csv");
    table.finish();
  }

  [[nodiscard]] int column(std::string_view name) const { return table_.column(name); }
  [[nodiscard]] const std::string& text(std::string_view name) const { return table_.cell(table_.column(name)); }

  /// A whole number from 0, `otherwise` for an empty cell; a fault for anything else.
  int count(std::string_view name, int otherwise = 0) {
    const std::string& cell = text(name);
    if (cell.empty()) return otherwise;
    const auto value = io::parse_number(cell);
    if (value && *value >= 0 && *value <= most && *value == std::floor(*value)) return static_cast<int>(*value);
    table_.fault(table_.column(name), fmt::format("{} is \"{}\", not a whole number from 0 to {:.0f}", name, cell, most),
                 "write a count, or leave the cell empty");
    faulty_ = true;
    return otherwise;
  }

  /// A number above 0; 0 for an empty cell.
  double amount(std::string_view name) {
    const std::string& cell = text(name);
    if (cell.empty()) return 0;
    const auto value = io::parse_number(cell);
    if (value && *value > 0) return *value;
    table_.fault(table_.column(name), fmt::format("{} is \"{}\", not a number above 0", name, cell), "write GiB, or leave the cell empty");
    faulty_ = true;
    return 0;
  }

  /// Whether a cell since the last call was a fault.
  bool take_fault() { return std::exchange(faulty_, false); }

 private:
  io::CsvTable& table_;
  bool faulty_ = false;
};

/// The named model with the row's numbers; a GPT of the row's numbers where the name says nothing.
Model model_in(RowReader& row, const ModelOfName& model_of) {
  const std::string& name = row.text("model");
  Model plain;
  plain.name = name, plain.gated = false, plain.biases = true;
  Model m = model_of(name).value_or(plain);
  const auto replace = [&row](int& value, std::string_view column) {
    if (const int given = row.count(column); given > 0) value = given;
  };
  const int hidden = m.hidden, heads = m.heads;
  replace(m.layers, "layers");
  replace(m.hidden, "hidden");
  replace(m.heads, "heads");
  replace(m.kv_heads, "kv_heads");
  replace(m.vocab, "vocab");
  replace(m.experts, "experts");
  replace(m.top_k, "top_k");
  replace(m.experts > 0 ? m.expert_ffn : m.ffn, "ffn");
  if (m.kv_heads == 0) m.kv_heads = m.heads;
  if ((m.head_dim == 0 || m.hidden != hidden || m.heads != heads) && m.heads > 0) m.head_dim = m.hidden / m.heads;
  m.first_dense = std::min(m.first_dense, m.layers);
  return m;
}

/// A layout and what of its words is not understood.
struct RowLayout {
  Layout layout;
  std::string unclear;
};

RowLayout layout_in(RowReader& row, int gpus) {
  RowLayout out;
  Layout& l = out.layout;
  const auto ranks = [&row](std::string_view column) { return std::max(1, row.count(column, 1)); };
  l.tp = ranks("tp"), l.pp = ranks("pp"), l.vp = ranks("vpp"), l.cp = ranks("cp"), l.ep = ranks("ep");
  const double group = static_cast<double>(l.tp) * l.pp * l.cp;
  l.dp = group <= gpus ? gpus / static_cast<int>(group) : 1;
  l.microbatch = ranks("microbatch");
  l.global_batch = row.count("global_batch");
  l.sequence = row.count("seq");
  l.zero = row.count("zero_stage");
  const auto unclear = [&](std::string_view column) {
    if (out.unclear.empty()) out.unclear = fmt::format("{} \"{}\" is not known here", column, row.text(column));
  };
  const std::string parallel = detail::folded(row.text("sequence_parallel"));
  l.sequence_parallel = parallel == "yes";
  if (!l.sequence_parallel && parallel != "no" && !parallel.empty()) unclear("sequence_parallel");
  const std::string again = detail::folded(row.text("recompute"));
  const auto named = std::find(recompute_names.begin(), recompute_names.end(), again);
  if (named != recompute_names.end())
    l.recompute = static_cast<Recompute>(named - recompute_names.begin());
  else if (!again.empty())
    unclear("recompute");
  // FP8 tensorwise, FP8-CS, MXFP8, amp_fp8; NVFP4; BF16, amp_bf16, FP32
  const std::string precision = detail::folded(row.text("precision"));
  const auto says = [&precision](std::string_view word) { return precision.find(word) != std::string::npos; };
  if (says("fp4"))
    l.precision = Precision::fp4;
  else if (says("fp8"))
    l.precision = Precision::fp8;
  else if (!precision.empty() && !says("16") && !says("32"))
    unclear("precision");
  l.schedule = l.pp == 1 ? PipelineSchedule::none : l.vp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
  if (const int column = row.column("schedule"); column >= 0 && l.pp > 1) {
    const std::string schedule = detail::folded(row.text("schedule"));
    if (schedule.find("gpipe") != std::string::npos)
      l.schedule = PipelineSchedule::gpipe;
    else if (schedule.find("dualpipe") != std::string::npos)
      l.schedule = PipelineSchedule::dualpipe;
    else if (!schedule.empty() && schedule != "none" && schedule.find("1f1b") == std::string::npos)
      unclear("schedule");
  }
  return out;
}

/// Why a row cannot be priced; empty when it can.
std::string why_not(const Model& m, const Layout& l, int gpus) {
  try {
    check(m);
  } catch (const RequestError& e) {
    return fmt::format("shape not known: {}", e.what());
  }
  if (static_cast<double>(l.tp) * l.pp * l.cp * l.dp != gpus)
    return fmt::format("tp {} pp {} cp {} do not divide {} GPUs", l.tp, l.pp, l.cp, gpus);
  if (l.sequence < 1 || l.microbatches() < 1) return "sequence or batch not given, or smaller than one microbatch of every replica";
  if (l.zero > 3) return fmt::format("zero_stage {}: 0 to 3", l.zero);
  if (m.layers < l.pp) return fmt::format("{} layers on {} stages", m.layers, l.pp);
  if (m.mixture() && (static_cast<long>(l.tp) * l.cp * l.dp) % l.ep != 0) return fmt::format("ep {} does not divide a stage's ranks", l.ep);
  return {};
}

}  // namespace

std::vector<MemoryRow> predict_memory_rows(const std::filesystem::path& file, const ModelOfName& model_of,
                                           const MemoryStackOfGroup& stack_of) {
  std::vector<MemoryRow> rows;
  io::CsvTable table(file);
  RowReader reader(table);
  while (table.next()) {
    const double measured = reader.amount("memory_gib");
    if (reader.take_fault() || measured == 0) continue;
    MemoryRow row;
    row.id = reader.text("id"), row.group = reader.text("group"), row.model = reader.text("model");
    row.metric = "memory_gib";
    row.measured = measured;
    row.fully_specified = reader.text("fully_specified") == "yes";
    row.line = table.line();
    const Model model = model_in(reader, model_of);
    const int gpus = reader.count("gpus");
    const auto [layout, unclear] = layout_in(reader, gpus);
    if (reader.take_fault()) continue;
    row.skipped = unclear.empty() ? why_not(model, layout, gpus) : unclear;
    const auto stack = stack_of(row.group);
    if (row.skipped.empty() && !stack) row.skipped = fmt::format("what the software of {} keeps is not known", row.group);
    if (row.skipped.empty()) {
      row.use = worst_stage(model, layout, *stack);
      row.predicted = row.use.total() / 1073741824.0;
    }
    rows.push_back(std::move(row));
  }
  table.finish();
  return rows;
}

}  // namespace fabricost
