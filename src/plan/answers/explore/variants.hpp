#pragma once
/// Machines, models and questions of each variant of a request: points share them, and they are read once. Private.

#include "answers/explore/axes.hpp"
#include "answers/explore/objectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace fabricost::plan::explore {

/// The machines and the questions of variants.
template <class Request>
struct Read {
  std::vector<RequestedMachine> machines{};
  std::vector<Request> requests{};
};
/// Machines are read once. \tparam Forward the question without its axes \param on the machine as a request has it: System(const
/// Machine&, overrides, const Request&)
template <class Forward, class Request, class On>
[[nodiscard]] Read<Request> read(const std::vector<Variant>& variants, const Request& request, const On& on) {
  std::map<std::string, std::shared_ptr<const System>> known;
  Read<Request> out;
  for (const Variant& variant : variants) {
    Request& one = out.requests.emplace_back(request);
    std::string key = variant.machine.name;
    for (const std::string& text : variant.overrides) key += "\n" + text;
    for (const auto& [name, value] : variant.options) {
      if (is_given<Forward>(request, name)) throw Refusal(fmt::format("<{}> is varied; leave it out", name));
      varied::put_option<Forward>(one, name, value, "vary");
      if (name == "library" || name == "symmetric") key += fmt::format("\n{} {}", name, value);  // the machine's kernels
    }
    std::vector<std::string> overrides = request.overrides;
    overrides.insert(overrides.end(), variant.overrides.begin(), variant.overrides.end());
    auto& system = known[key];
    if (system == nullptr) system = on(variant.machine, overrides, one);
    out.machines.push_back({system, variant.asked});
  }
  return out;
}

/// Each model is read once.
template <class Request>
void load_models(std::vector<Request>& requests) {
  std::map<std::string, std::shared_ptr<const Model>> known;
  for (Request& one : requests) {
    if (!one.model || one.model.value != nullptr) continue;
    auto& model = known[one.model.name];
    if (model == nullptr) model = std::make_shared<const Model>(one.model.load());
    one.model.value = model;
  }
}

/// A question of each variant, or why it cannot be asked. \throws RequestError where none can
template <class Question, class Request, class Make>
[[nodiscard]] std::vector<std::variant<Question, std::string>> questions_of(const std::vector<Request>& requests, const Make& make) {
  std::vector<std::variant<Question, std::string>> out;
  std::exception_ptr first;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    try {
      out.emplace_back(make(requests[i], i));
    } catch (const RequestError& error) {
      if (!first) first = std::current_exception();
      out.emplace_back(std::string{error.what()});
    }
  }
  if (std::none_of(out.begin(), out.end(), [](const auto& one) { return std::holds_alternative<Question>(one); }))
    std::rethrow_exception(first);
  return out;
}
template <class Question>
[[nodiscard]] const Question& question_in(const std::variant<Question, std::string>& one) {
  if (const std::string* const trouble = std::get_if<std::string>(&one)) throw RequestError(*trouble);
  return std::get<Question>(one);
}

}  // namespace fabricost::plan::explore
