#pragma once
/// \file question.hpp
/// A question that the page may ask: its fields, its answer as JSON, and how the command is asked the same.

#include "web/code.hpp"
#include "web/describe.hpp"
#include "web/request.hpp"

#include <fabricost/fields/json.hpp>
#include <fabricost/fields/spelled.hpp>
#include <fabricost/refusal.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fabricost::web {

struct Question {
  std::string_view name, command;  ///< "plan", "fabricost plan --train"
  std::string_view python, record;  ///< Python's function and C++'s request; empty: they have it another way
  Json (*fields)();
  Json (*answer)(const Json& fields);
  Json (*code)(const Question& self, const Json& fields);  ///< lines to copy (code.hpp)
};

/// An answer as `--json` prints it.
inline constexpr auto as_fields = [](const auto& found) -> Json { return json_parts::json_value(found, {}); };

/// A Refusal in the words of the page. \param fields of the request \throws FieldError naming the first field that the text names
[[noreturn]] void refuse(const Refusal& refusal, const std::vector<std::string>& fields, std::string text);

/// work(), a Refusal in the words of the page.
template <HasFields Request, class Work>
[[nodiscard]] Json in_words(const Work& work) {
  try {
    return work();
  } catch (const Refusal& refusal) {
    refuse(refusal, names_of_fields<Request>(), with_fields(refusal.text(), spelled_field<Request>));
  }
}

template <HasFields Request, auto shown>
[[nodiscard]] Json answered(const Json& fields) {
  return in_words<Request>([&] {
    auto found = answer(request_from<Request>(fields));
    spell_fields(found, spelled_field<Request>);
    Json out{{"answer", shown(found)}};
    if constexpr (requires { std::string{found.text}; }) out["text"] = found.text;
    return out;
  });
}

template <HasFields Request>
[[nodiscard]] Json code(const Question& self, const Json& fields) {
  return in_words<Request>([&] { return code_of(set_fields<Request>(fields), self.command, self.python, self.record); });
}

template <HasFields Request, auto shown = as_fields>
[[nodiscard]] Question question(std::string_view name, std::string_view command, std::string_view python, std::string_view record) {
  return {name, command, python, record, &fields_as_json<Request>, &answered<Request, shown>, &code<Request>};
}

/// Each a file of its own, so that they compile beside each other.
[[nodiscard]] std::vector<Question> collective_questions();
[[nodiscard]] std::vector<Question> network_questions();
[[nodiscard]] std::vector<Question> workload_questions();
[[nodiscard]] std::vector<Question> job_questions();

/// The questions of a module: first.cpp has those of a first visit, all.cpp all; a program contains one of the two.
[[nodiscard]] std::vector<Question> questions_here();

}  // namespace fabricost::web
