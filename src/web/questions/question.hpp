#pragma once
/// A question that the page may ask: its fields, its answer as JSON, and how the command is asked the same.

#include "web/code.hpp"
#include "web/describe.hpp"
#include "web/request.hpp"

#include <fabricost/error.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/fields/json.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fabricost::web {

struct Question {
  std::string_view name, command;  ///< "plan", "fabricost plan train"
  std::string_view python, record;  ///< Python's function and C++'s request; empty: they have it another way
  std::span<const Field> (*fields)();
  std::shared_ptr<void> (*request)();  ///< one of which nothing is set
  Json (*answer)(const void* request, const Spelling& spelled);
};

/// The fields as a page makes its controls of them.
[[nodiscard]] Json described(const Question& question);
/// \throws FieldError, RequestError
[[nodiscard]] Json answered(const Question& question, const Json& given);
/// Lines to copy (code.hpp). \throws as answered
[[nodiscard]] Json code(const Question& question, const Json& given);

/// An answer as `--json` prints it.
inline constexpr auto as_fields = [](const auto& found) -> Json {
  return json_parts::json_value(value_type<std::remove_cvref_t<decltype(found)>>, &found);
};

template <HasFields Request, auto shown = as_fields>
[[nodiscard]] Question question(std::string_view name, std::string_view command, std::string_view python, std::string_view record) {
  return {name,
          command,
          python,
          record,
          &fields_of<Request>,
          []() -> std::shared_ptr<void> { return std::make_shared<Request>(); },
          [](const void* request, const Spelling& spelled) {
            auto found = answer(*static_cast<const Request*>(request));
            spell_fields(found, spelled);
            Json out{{"answer", shown(found)}};
            if constexpr (requires { verdict_of(found); }) out["verdict"] = verdict_of(found);
            if constexpr (requires { std::string{found.text}; }) out["text"] = found.text;
            return out;
          }};
}

/// Each a file of its own, so that they compile beside each other.
[[nodiscard]] std::vector<Question> collective_questions();
[[nodiscard]] std::vector<Question> network_questions();
[[nodiscard]] std::vector<Question> workload_questions();
[[nodiscard]] std::vector<Question> job_questions();

/// The questions of a module: first.cpp has those of a first visit, all.cpp all; a program contains one of the two.
[[nodiscard]] std::vector<Question> questions_here();

}  // namespace fabricost::web
