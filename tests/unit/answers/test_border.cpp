/// \file test_border.cpp
/// The border of all questions: where a time or a rate is meant, a number without its unit is refused, and one with it is taken.

#include "catch.hpp"

#include "answers/typed/from_text.hpp"

#include <fabricost/answers/compare.hpp>
#include <fabricost/answers/cost.hpp>
#include <fabricost/answers/design/explore.hpp>
#include <fabricost/answers/design/need.hpp>
#include <fabricost/answers/goodput.hpp>
#include <fabricost/answers/pipeline.hpp>
#include <fabricost/answers/transfer.hpp>

#include <set>
#include <string>

namespace {

using namespace fabricost;

/// Whether the field takes a text. \return none where it is no time and no rate
template <class Request, class Field>
std::optional<bool> takes(const Field& field, const std::string& text) {
  using T = typename Field::Value;
  if constexpr (std::same_as<T, double> || std::same_as<T, std::optional<double>>) {
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

TEST_CASE("no token takes longer than ten seconds", "[answers]") {
  ServeRequest request;
  request.system.name = "dgx-h100", request.model.name = "llama3-8b", request.gpus = 8, request.tpot_seconds = 30;
  CHECK_THROWS_WITH(answer(request), Catch::Contains("tpot_seconds") && Catch::Contains("not from 0 to 10"));
}

}  // namespace
