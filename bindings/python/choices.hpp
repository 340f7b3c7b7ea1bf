#pragma once
/// \file choices.hpp
/// What runs, as callers of Python say it: algorithm=, protocol=, choice=, launch=.

#include "arguments.hpp"

#include <fabricost/choice/choice.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/serving/constants.hpp>

#include <array>
#include <optional>
#include <string_view>

namespace fabricost::python {

[[nodiscard]] inline Choice::Rule rule_of(pybind11::handle given) {
  return enum_of(
      given, "choice", "a choice", [](std::string_view text) { return fabricost::detail::parse_enum<Choice::Rule>(text, rule_names); },
      rule_names);
}

inline constexpr std::array<std::string_view, 2> launch_names{"graph", "eager"};
/// None leaves it to the function. \throws TypeError, RequestError
[[nodiscard]] inline std::optional<Launch> launch_of(pybind11::handle given) {
  if (given.is_none()) return std::nullopt;
  return enum_of(
      given, "launch", "a way to launch", [](std::string_view text) { return fabricost::detail::parse_enum<Launch>(text, launch_names); },
      launch_names);
}

/// None leaves the algorithm or the protocol to the rule. \throws TypeError, RequestError
[[nodiscard]] inline Choice choice_of(pybind11::handle algorithm, pybind11::handle protocol, pybind11::handle rule) {
  Choice out;
  out.rule = rule_of(rule);
  if (!algorithm.is_none()) out.algorithm = enum_of(algorithm, "algorithm", "an algorithm", parse_algorithm, algorithm_names);
  if (!protocol.is_none()) out.protocol = enum_of(protocol, "protocol", "a protocol", parse_protocol, protocol_names);
  return out;
}

/// With the kernels of an inference engine where one is named. None: the communication library's alone, replayed in a CUDA graph.
/// \throws TypeError, RequestError for an engine that is none, for launch='eager' of anything but an all_reduce
[[nodiscard]] Choice engine_choice_of(Choice choice, const Operation& operation, const pybind11::object& library,
                                      const pybind11::object& version, const pybind11::object& launch);

}  // namespace fabricost::python
