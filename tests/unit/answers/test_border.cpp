/// The border of all questions: where a time or a rate is meant, a number without its unit is refused, and one with it is taken.

#include "catch.hpp"

#include <fabricost/answers/calibrate.hpp>
#include <fabricost/answers/moe.hpp>
#include <fabricost/plan/answers/share.hpp>
#include <fabricost/answers/sweep.hpp>
#include <fabricost/plan/answers/transfer.hpp>
#include <fabricost/plan/answers/tune.hpp>
#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/observe/answers/trace.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/design/explore.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/goodput.hpp>
#include <fabricost/plan/answers/models.hpp>
#include <fabricost/plan/answers/pipeline.hpp>
#include <fabricost/plan/answers/rl.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/answers/stragglers.hpp>

#include <span>

namespace {

using namespace fabricost::observe;

/// A question: its fields, and a request of which nothing is set.
struct Asked {
  std::span<const Field> fields;
  std::shared_ptr<void> request;
};
template <class... Requests>
std::vector<Asked> asked() {
  return {{fields_of<Requests>(), std::make_shared<Requests>()}...};
}
std::vector<Asked> all_asked() {
  return asked<PredictRequest, SweepRequest, CrossoversRequest, PlanRequest, ServeRequest, RlRequest, CompareRequest, CostRequest,
               NeedRequest, NeedServeRequest, NeedMachineRequest, ProjectRequest, GoodputRequest, StragglersRequest, PipelineRequest,
               StorageRequest, AccessRequest, IncastRequest, ExploreRequest, ExploreServeRequest>();
}

bool takes(const Asked& asked, const Field& field, const std::string& text) {
  try {
    parse_value(*field.type, text, field.name, field.amount, field.range, field.in(asked.request.get()));
    return true;
  } catch (const RequestError&) {
    return false;
  }
}

TEST_CASE("a number without unit is refused for every time and rate of every question", "[answers]") {
  std::set<std::string> seen;
  for (const Asked& one : all_asked())
    for (const Field& field : one.fields) {
      const bool time = field.amount == Amount::seconds;
      const bool rate = field.amount == Amount::bytes_per_second || field.amount == Amount::one_way_rate;
      if ((!time && !rate) || field.type->bare().kind != ValueKind::number) continue;
      INFO(field.name);
      for (const char* const unitless : {"5", "0.5", "5e9", ""}) CHECK_FALSE(takes(one, field, unitless));
      if (field.range.holds(time ? 0.5 : 5e9)) CHECK(takes(one, field, time ? "0.5s" : "5GB/s"));
      CHECK_FALSE(takes(one, field, time ? "5GB/s" : "5s"));
      seen.emplace(field.name);
    }
  for (const char* const name : {"tpot_seconds", "ttft_seconds", "step_seconds", "read_bytes_per_second", "storage_bytes_per_second"})
    CHECK(seen.contains(name));
  CHECK(seen.size() > 20);
}

TEST_CASE("every time, size and rate of a request is a quantity in C++", "[answers]") {
  int seen = 0;
  for (const Asked& one : all_asked())
    for (const Field& field : one.fields) {
      const Amount a = field.amount;
      if (a != Amount::seconds && a != Amount::bytes_per_second && a != Amount::one_way_rate && a != Amount::size &&
          a != Amount::size_or_unbounded && a != Amount::gibibytes && !field.name.ends_with("_dollars"))
        continue;
      INFO(field.name);
      const ValueType& type = field.type->bare();
      CHECK((type.kind == ValueKind::list ? type.inner->quantity : type.quantity));
      ++seen;
    }
  CHECK(seen > 60);
}

/// Numbers with a unit in their name that are no quantities in C++, in a type and in all that it holds.
void list_plain_numbers(const ValueType& type, std::set<const ValueType*>& seen, std::set<std::string>& out) {
  for (const ValueType* const part : {type.inner, type.second})
    if (part != nullptr) list_plain_numbers(*part, seen, out);
  for (const ValueType* const one : type.alternatives) list_plain_numbers(*one, seen, out);
  if (type.kind != ValueKind::record || !seen.insert(&type).second) return;
  for (const Field& field : type.fields()) {
    const ValueType* number = field.type;
    while (number->inner != nullptr) number = number->inner;
    const bool unit =
        std::ranges::any_of(std::array{"_us", "_s", "seconds", "bytes", "bytes_per_second", "watts", "joules", "dollars", "usd"},
                            [&](std::string_view end) { return field.name.ends_with(end) || field.json.ends_with(end); });
    if (unit && number->kind == ValueKind::number && !number->quantity)
      out.insert(std::string{field.name.empty() ? field.json : field.name});
    list_plain_numbers(*field.type, seen, out);
  }
}

TEST_CASE("every time, size, rate and sum of an answer is a quantity in C++", "[answers]") {
  std::set<const ValueType*> seen;
  std::set<std::string> plain;
  const auto list = [&]<class... Requests>() { (list_plain_numbers(value_type<decltype(answer(Requests{}))>, seen, plain), ...); };
  list.operator()<PredictRequest, SweepRequest, CrossoversRequest, PlanRequest, ServeRequest, RlRequest, CompareRequest, CostRequest,
                  NeedRequest, NeedServeRequest, NeedMachineRequest, ProjectRequest, GoodputRequest, StragglersRequest, PipelineRequest,
                  StorageRequest, AccessRequest, IncastRequest, ExploreRequest, ExploreServeRequest, ShareRequest, MoeRequest, TuneRequest,
                  ModelsRequest, TraceRequest, DiagnoseRequest, CalibrateRequest>();
  CHECK(seen.size() > 60);
  // a prediction is what inner loops make: its seconds are doubles, time() and interval() beside them quantities; the others are counts a
  // second and a rate of money as it is quoted
  CHECK(plain == std::set<std::string>{"answers_per_second", "asked_per_second", "data_parallel_tokens_per_second", "dollars_per_gpu_hour", "extra_dollars_per_gpu_hour", "high_seconds", "interval_rate_within_limits_per_second", "low_seconds",
                                       "rate_per_second", "rate_within_limits_per_second", "saturation_per_second", "seconds",
                                       "tokens_per_second", "useful_tokens_per_second"});
}

/// Whether an interface can read a value from a text.
bool is_parsed(const ValueType& type) {
  switch (type.kind) {
    case ValueKind::flag:
    case ValueKind::whole:
    case ValueKind::number: return true;
    case ValueKind::text: return type.set_text != nullptr;
    case ValueKind::word: return type.set_word != nullptr || type.parse != nullptr;
    case ValueKind::optional:
    case ValueKind::list: return type.add != nullptr && (type.parse != nullptr || is_parsed(*type.inner));
    default: return type.parse != nullptr;
  }
}

TEST_CASE("every option is read by its type and refuses what its type does not have", "[answers]") {
  int words = 0;
  for (const Asked& one : all_asked())
    for (const Field& field : one.fields) {
      if (field.option.empty()) continue;
      INFO(field.name);
      const ValueType& type = field.type->kind == ValueKind::list ? *field.type->inner : *field.type;
      CHECK(is_parsed(type));
      if (field.type->bare().kind != ValueKind::word || field.type->bare().parse != nullptr) continue;
      CHECK_FALSE(takes(one, field, "no such word"));
      for (const std::string_view word : field.type->bare().words) CHECK(takes(one, field, std::string{word}));
      ++words;
    }
  CHECK(words > 20);
}

TEST_CASE("what is set of a request differs from its defaults, and every number lies in its range", "[answers]") {
  ServeRequest request;
  CHECK(same_fields(request, ServeRequest{}));
  request.tpot = units::ms(30);
  CHECK_FALSE(same_fields(request, ServeRequest{}));
  check_ranges(request);
  request.tpot = units::s(1e6);
  CHECK_THROWS_AS(check_ranges(request), Refusal);
}

TEST_CASE("a quantity of a request is typed, checked, shown and named as its number", "[answers]") {
  ServeRequest request;
  const auto put = [&](std::string_view name, const std::string& text) {
    for (const Field& field : fields_of<ServeRequest>())
      if (field.name == name) parse_value(*field.type, text, field.name, field.amount, field.range, field.in(&request));
  };
  put("tpot_seconds", "30ms");
  put("offload_kv_bytes", "2");
  CHECK(request.tpot == units::ms(30));
  CHECK(request.offload_kv == units::GiB(2));
  CHECK_THROWS_WITH(put("tpot_seconds", "30s"), Catch::Contains("tpot_seconds"));
  request.tpot = units::s(30);
  CHECK_THROWS_AS(check_ranges(request), Refusal);

  const std::optional<std::pair<Time, Time>> span{{units::us(5), units::ms(1)}};
  const std::optional<std::pair<double, double>> numbers = numbers_in(span);
  CHECK((numbers->first == 5e-6 && numbers->second == 1e-3));
  CHECK(with_units<std::optional<std::pair<Time, Time>>>(numbers) == span);
  CHECK(numbers_in(std::vector{units::KiB(1), units::B(3)}) == std::vector{1024.0, 3.0});
  CHECK_FALSE(numbers_in(std::optional<Bytes>{}).has_value());
  static_assert(std::same_as<decltype(numbers_in(request.stack)), const std::string&>);

  CHECK(name_in_cpp("step_seconds") == "step");
  CHECK(name_in_cpp("storage_bytes_per_second") == "storage_bandwidth");
  CHECK(name_in_cpp("bytes_per_gpu") == "bytes_per_gpu");
}

}  // namespace
