#pragma once
/// Design parameters of a machine, where they stand and the values a slider goes through, each with the override that sets it. The values
/// are those that `need` looks through.

#include <fabricost/fields/field.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>

#include <string>
#include <vector>

namespace fabricost::web {

struct ParametersRequest {
  Machine system;

  static RequestTable<ParametersRequest> fields() {
    using R = ParametersRequest;
    return {fabricost::core::field::ask_machine<R>};
  }
};

struct ParameterStop {
  double value = 0;
  std::string override_text{};

  static AnswerTable<ParameterStop> fields() {
    using A = ParameterStop;
    return {gives(&A::value, "value", "value", "In the parameter's unit."),
            gives(&A::override_text, "override", "override", "What sets it, among a request's overrides.")};
  }
};

struct ParameterAnswer {
  std::string name{}, unit{};
  double value = 0;
  std::vector<ParameterStop> stops{};

  static AnswerTable<ParameterAnswer> fields() {
    using A = ParameterAnswer;
    return {gives(&A::name, "name", "name", "As in `nic.bandwidth`."), gives(&A::unit, "unit", "unit", "Of its values; empty: a count."),
            gives(&A::value, "value", "value", "Where the machine has it."),
            gives(&A::stops, "stops", "stops", "Ascending; one of them is near where it stands.")};
  }
};

/// Those the machine has. \throws SpecError, RequestError as load_system
[[nodiscard]] std::vector<ParameterAnswer> answer(const ParametersRequest& request);

struct PictureRequest {
  Machine system;
  std::vector<std::string> overrides;

  static RequestTable<PictureRequest> fields() {
    using R = PictureRequest;
    return {fabricost::core::field::ask_machine<R>, fabricost::core::field::ask_override<R>};
  }
};
struct PictureAnswer {
  std::string svg;

  static AnswerTable<PictureAnswer> fields() { return {gives(&PictureAnswer::svg, "svg", "svg", "The machine's tiers, as an SVG.")}; }
};
/// The picture that `fabricost machine` draws. \throws SpecError, RequestError as load_system
[[nodiscard]] PictureAnswer answer(const PictureRequest& request);

}  // namespace fabricost::web
