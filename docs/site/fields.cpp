// Tables of the reference pages, from the fields: "@name" and a Markdown table, for each request, answer and row. fields.py reads them.
#include <fabricost/answers/constants.hpp>
#include <fabricost/answers/moe.hpp>
#include <fabricost/answers/predict.hpp>
#include <fabricost/plan/answers/share.hpp>
#include <fabricost/answers/machine.hpp>
#include <fabricost/answers/sweep.hpp>
#include <fabricost/plan/answers/transfer.hpp>
#include <fabricost/plan/answers/tune.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/observe/answers/topo.hpp>
#include <fabricost/observe/answers/trace.hpp>
#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/design/explore.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/design/project.hpp>
#include <fabricost/plan/answers/goodput.hpp>
#include <fabricost/plan/answers/models.hpp>
#include <fabricost/plan/answers/pipeline.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/rl.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/answers/stragglers.hpp>
#include <fabricost/plan/evaluation/calibrate.hpp>
#include <fabricost/plan/evaluation/calibrate_kernels.hpp>
#include <fabricost/plan/evaluation/validate.hpp>
#include <fabricost/probes/answers/this_machine.hpp>
#include <fabricost/error.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

using namespace fabricost::probes;

namespace {

/// The words of a cell of a table: fields as code, on one line.
std::string cell(std::string_view words) {
  std::string out = with_fields(
      words, [](std::string_view name, std::string_view value) { return fmt::format("`{}{}{}`", name, value.empty() ? "" : " ", value); });
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '\n') out[i] = ' ';
    if (out[i] == '|') out.insert(i++, "\\");
  }
  return out;
}
std::string code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

std::string_view unit_of(Amount amount) {
  switch (amount) {
    case Amount::seconds: return " s";
    case Amount::bytes_per_second:
    case Amount::one_way_rate: return " bytes/s";
    case Amount::kilometres: return " km";
    case Amount::size:
    case Amount::size_or_unbounded:
    case Amount::gibibytes: return " bytes";
    default: return "";
  }
}
/// "at least 1", "above 0 s", "0 to 1"; an end that no sane value reaches is left out.
std::string range_text(const Range& range, Amount amount) {
  constexpr double sane = 1e7;
  const bool min = std::isfinite(range.min), max = range.max < sane;
  if (!min && !max) return std::string{unit_of(amount).substr(std::min<std::size_t>(1, unit_of(amount).size()))};
  const std::string from = range.above ? fmt::format("above {:g}", range.min) : fmt::format("{}{:g}", max ? "" : "at least ", range.min);
  return from + (max ? fmt::format("{} {:g}", range.above ? ", at most" : " to", range.max) : "") + std::string{unit_of(amount)};
}

std::string default_text(const ValueType& type, const void* value) {
  switch (type.kind) {
    case ValueKind::flag: return type.number(value) != 0 ? "yes" : "";
    case ValueKind::whole:
    case ValueKind::number: return type.number(value) == 0 ? "" : fmt::format("{:g}", type.number(value));
    case ValueKind::word: return std::string{type.words[static_cast<std::size_t>(type.number(value))]};
    case ValueKind::text: return is_type<std::string>(type) ? std::string{type.text(value)} : "";
    default: return "";
  }
}

void print_request(std::string_view name, std::span<const Field> fields, const void* defaults) {
  fmt::print("@{}\n| option | in Python | default | range | what |\n|---|---|---|---|---|\n", name);
  for (const Field& field : fields) {
    if (field.option.empty() && field.name.empty()) continue;
    fmt::print("| {} | {} | {} | {} | {} |\n",
               code(fmt::format("{}{}{}", field.option, field.kind <= " " ? "" : " ", field.kind <= " " ? "" : field.kind)),
               code(field.name), cell(default_text(*field.type, field.in(defaults))), range_text(field.range, field.amount),
               cell(field.words));
  }
}

/// The type inside lists, optionals and named values, and whether there are many.
std::pair<const ValueType*, bool> inside(const ValueType& type) {
  switch (type.kind) {
    case ValueKind::optional: return inside(*type.inner);
    case ValueKind::pair: return inside(*type.second);
    case ValueKind::list:
    case ValueKind::by_name: return {inside(*type.inner).first, true};
    default: return {&type, false};
  }
}

void print_rows(const ValueType& type, const std::string& before, int depth) {
  for (const ValueType* const one : type.alternatives) print_rows(*inside(*one).first, before, depth);
  if (type.kind != ValueKind::record) return;
  for (const Field& field : type.fields()) {
    if (field.json.empty() && (field.name.empty() || depth > 0)) continue;
    const auto [in, many] = inside(*field.type);
    const std::string key = field.json.empty() ? "" : before + std::string{field.json} + (many && !field.json.ends_with("[]") ? "[]" : "");
    fmt::print("| {} | {} | {} |\n", code(key), code(field.name), cell(field.words));
    if (depth < 2 && !key.empty()) print_rows(*in, key + ".", depth + 1);
  }
}

template <class Request>
void print_question(std::string_view name) {
  const Request defaults{};
  print_request(fmt::format("asked of {}", name), fields_of<Request>(), &defaults);
  fmt::print("@answer of {}\n| JSON | in Python | what |\n|---|---|---|\n", name);
  print_rows(*inside(value_type<decltype(answer(defaults))>).first, "", 0);
}

/// A file of rows: a column has its key of JSON, or its name.
void print_columns(std::string_view name, std::span<const Field> fields) {
  fmt::print("@{}\n| column | content |\n|---|---|\n", name);
  for (const Field& field : fields) fmt::print("| {} | {} |\n", code(field.json.empty() ? field.name : field.json), cell(field.words));
}

}  // namespace

int main() {
  print_question<ShowRequest>("show");
  print_question<SystemsRequest>("systems");
  print_question<ModelsRequest>("models");
  print_question<PredictRequest>("predict");
  print_question<MoeRequest>("moe");
  print_question<SweepRequest>("sweep");
  print_question<CrossoversRequest>("crossovers");
  print_question<ShareRequest>("share");
  print_question<StorageRequest>("transfer storage");
  print_question<AccessRequest>("transfer access");
  print_question<IncastRequest>("transfer incast");
  print_question<MeasureRequest>("measure");
  print_question<MeasurePlanRequest>("measure --list");
  print_question<CalibrateFilesRequest>("calibrate");
  print_question<ConstantsRequest>("calibrate --list");
  print_question<CalibrateMachineRequest>("calibrate a machine");
  print_question<CalibrateStackRequest>("calibrate a stack");
  print_question<ValidateFilesRequest>("validate");
  print_question<DiagnoseRequest>("diagnose");
  print_question<TraceRequest>("trace");
  print_question<TuneRequest>("tune");
  print_question<TopoRequest>("topo");
  print_question<PlanRequest>("plan train");
  print_question<ServeRequest>("plan serve");
  print_question<RlRequest>("plan rl");
  print_question<NeedRequest>("need --train");
  print_question<NeedServeRequest>("need --serve");
  print_question<NeedMachineRequest>("need machine");
  print_question<ProjectRequest>("project");
  print_question<ExploreRequest>("explore --train");
  print_question<ExploreServeRequest>("explore --serve");
  print_question<CompareRequest>("compare");
  print_question<PipelineRequest>("pipeline");
  print_question<CostRequest>("cost");
  print_question<GoodputRequest>("goodput");
  print_question<StragglersRequest>("stragglers");
  print_columns("measured.csv", fields_of<MeasuredPoint>());
}
