/// \file test_border.cpp
/// The border of all questions: where a time or a rate is meant, a number without its unit is refused, and one with it is taken.

#include "catch.hpp"

#include "answers/typed/from_text.hpp"

#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/design/explore.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/goodput.hpp>
#include <fabricost/plan/answers/pipeline.hpp>
#include <fabricost/plan/answers/rl.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/answers/stragglers.hpp>
#include <fabricost/answers/sweep.hpp>
#include <fabricost/answers/transfer.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace fabricost;

/// Whether the field takes a text. \return none where it is no time and no rate
template <class Request, class Field>
std::optional<bool> takes(const Field& field, const std::string& text) {
  using T = typename Field::Value;
  if constexpr (std::same_as<Numbers<T>, double> || std::same_as<Numbers<T>, std::optional<double>>) {
    Request request;
    try {
      from_text(text, field.name, field.amount, field.range, request.*(field.member));
      return true;
    } catch (const RequestError&) {
      return false;
    }
  } else {
    return std::nullopt;
  }
}

template <class... Requests>
std::set<std::string> check_all() {
  std::set<std::string> seen;
  const auto check = [&]<class Request>() {
    for_each_field<Request>([&](const auto& field) {
      if constexpr (requires { field.amount; }) {
        const bool time = field.amount == Amount::seconds;
        const bool rate = field.amount == Amount::bytes_per_second || field.amount == Amount::one_way_rate;
        if (!time && !rate) return;
        INFO(field.name);
        for (const char* const bare : {"5", "0.5", "5e9", ""})
          if (const auto taken = takes<Request>(field, bare)) CHECK_FALSE(*taken);
        const auto taken = takes<Request>(field, time ? "0.5s" : "5GB/s");
        if (taken && field.range.holds(time ? 0.5 : 5e9)) CHECK(*taken);
        CHECK_FALSE(takes<Request>(field, time ? "5GB/s" : "5s").value_or(false));
        seen.emplace(field.name);
      }
    });
  };
  (check.template operator()<Requests>(), ...);
  return seen;
}

TEST_CASE("a number without unit is refused for every time and rate of every question", "[answers]") {
  const std::set<std::string> seen =
      check_all<PlanRequest, ServeRequest, CompareRequest, CostRequest, NeedRequest, NeedServeRequest, NeedMachineRequest, ProjectRequest,
                GoodputRequest, PipelineRequest, StorageRequest, AccessRequest, IncastRequest>();
  for (const char* const name : {"tpot_seconds", "ttft_seconds", "step_seconds", "read_bytes_per_second", "storage_bytes_per_second"})
    CHECK(seen.contains(name));
  CHECK(seen.size() > 20);
}

/// The fields that are a time, a size or a rate, each with whether C++ holds a quantity.
template <class... Requests>
std::vector<std::pair<std::string, bool>> held() {
  std::vector<std::pair<std::string, bool>> out;
  const auto list = [&]<class Request>() {
    for_each_field<Request>([&](const auto& field) {
      using T = typename std::remove_cvref_t<decltype(field)>::Value;
      const Amount a = field.amount;
      if (a == Amount::seconds || a == Amount::bytes_per_second || a == Amount::one_way_rate || a == Amount::size ||
          a == Amount::size_or_unbounded || a == Amount::gibibytes || field.name.ends_with("_dollars"))
        out.emplace_back(field.name, HasQuantities<T>);
    });
  };
  (list.template operator()<Requests>(), ...);
  return out;
}

TEST_CASE("every time, size and rate of a request is a quantity in C++", "[answers]") {
  const auto all = held<PredictRequest, SweepRequest, CrossoversRequest, PlanRequest, ServeRequest, RlRequest, CompareRequest, CostRequest,
                        NeedRequest, NeedServeRequest, NeedMachineRequest, ProjectRequest, GoodputRequest, StragglersRequest,
                        PipelineRequest, StorageRequest, AccessRequest, IncastRequest>();
  CHECK(all.size() > 60);
  for (const auto& [name, quantity] : all) {
    INFO(name);
    CHECK(quantity);
  }
}

TEST_CASE("a quantity of a request is typed, checked, shown and named as its number", "[answers]") {
  ServeRequest request;
  const auto put = [&](std::string_view name, const std::string& text) {
    for_each_field<ServeRequest>([&](const auto& field) {
      if constexpr (HasQuantities<typename std::remove_cvref_t<decltype(field)>::Value>)
        if (field.name == name) from_text(text, field.name, field.amount, field.range, request.*(field.member));
    });
  };
  put("tpot_seconds", "30ms"), put("offload_kv_bytes", "2");
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

  CHECK(name_in_cpp<Time>("step_seconds") == "step");
  CHECK(name_in_cpp<std::optional<Bandwidth>>("storage_bytes_per_second") == "storage_bandwidth");
  CHECK(name_in_cpp<Bytes>("bytes_per_gpu") == "bytes_per_gpu");
  CHECK(name_in_cpp<double>("search_seconds") == "search_seconds");
}

TEST_CASE("no token takes longer than ten seconds", "[answers]") {
  ServeRequest request;
  request.system.name = "dgx-h100", request.model.name = "llama3-8b", request.gpus = 8, request.tpot = units::s(30);
  CHECK_THROWS_WITH(answer(request), Catch::Contains("tpot_seconds") && Catch::Contains("not from 0 to 10"));
}

}  // namespace
