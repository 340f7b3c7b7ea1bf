#pragma once
/// The command-line interface of any question, made at run time from its fields: options, values parsed from what was typed, answers as JSON.

#include "answers/typed.hpp"
#include "cli/page.hpp"
#include "cli/runner.hpp"

#include <fabricost/fields/field.hpp>

#include <fmt/format.h>

#include <concepts>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

/// A file or folder that a command writes: the type that marks an option as an output (Runner::output).
struct OutputPath {
  std::string path;
  [[nodiscard]] bool empty() const { return path.empty(); }
};
/// Found by field.hpp.
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, OutputPath& out) { out.path = text; }

}  // namespace fabricost::core

namespace fabricost::cli {

/// "--gpus" of "--gpus,-g".
[[nodiscard]] std::string_view long_name(std::string_view option);

using Fields = std::span<const Field>;

/// Replaces each field by its option: "--step-time" for <step_seconds>, "--gpus 16384" for <gpus=16384>; a
/// flag has no value.
[[nodiscard]] std::string as_option(Fields fields, std::string_view name, std::string_view value);
template <HasFields Request>
[[nodiscard]] std::string as_option(std::string_view name, std::string_view value) {
  return as_option(fields_of<Request>(), name, value);
}

/// The typed text of each option, until the command runs.
struct Typed {
  std::map<std::string_view, std::string> texts;
  std::map<std::string_view, bool> flags;
  std::map<std::string_view, std::vector<std::string>> lists;
  [[nodiscard]] bool given(std::string_view option) const;
};

/// The first given option that is in `fields` and not in `others`; empty: none.
[[nodiscard]] std::string_view given_beyond(const Typed& typed, Fields fields, Fields others);
template <HasFields Request, HasFields Other>
[[nodiscard]] std::string_view given_beyond(const Typed& typed) {
  return given_beyond(typed, fields_of<Request>(), fields_of<Other>());
}

/// \throws RequestError for a given option of the question `of`, Other, that Request does not have
template <HasFields Request, HasFields Other>
void refuse_beyond(const Typed& typed, std::string_view of) {
  if (const std::string_view option = given_beyond<Other, Request>(typed); !option.empty())
    throw RequestError(fmt::format("{} is of {}; leave it out", option, of));
}

/// The option of `fields` that ends in the name of another question's option: --global-batch for --batch; empty: none.
[[nodiscard]] std::string_view namesake_of(std::string_view option, Fields fields);

/// Options of a subcommand with one question, or with several that a first word selects.
class OptionRows {
 public:
  void add(Fields fields, std::string_view question = {});
  /// Adds them in order; options that all questions share come last. An option that the subcommand already
  /// has is skipped. \param group heading in the help; empty: none
  void add_to(CLI::App& sub, Typed& typed, std::size_t questions = 1, const std::string& group = {});
  /// \throws RequestError for a given option that the question does not have
  void refuse_others(const Typed& typed, std::string_view command, std::string_view question) const;

 private:
  struct Row {
    std::string_view option, kind;
    bool flag = false, list = false, output = false;
    std::vector<std::pair<std::string_view, std::string>> words;  ///< by question
  };
  std::vector<Row> rows_;
};

/// Adds the options of one of several requests that share a subcommand. \param group as in OptionRows::add_to
void add_options(CLI::App& sub, Typed& typed, Fields fields, const std::string& group = {});

/// Puts what was typed into a request. \throws RequestError naming the option
void put_typed(const Typed& typed, Fields fields, void* request);
template <HasFields Request>
[[nodiscard]] Request request_of(const Typed& typed) {
  Request out;
  put_typed(typed, fields_of<Request>(), &out);
  return out;
}

/// Writes a file that an option named. \throws RequestError
void write_output(const OutputPath& to, const std::string& text, std::string_view option);

/// A refusal with the options of its fields.
[[nodiscard]] Refusal spelled(const Refusal& refusal, Fields fields);
/// Calls `ask` and rethrows a Refusal so.
template <HasFields Request, class Ask>
[[nodiscard]] auto spelled_out(Ask&& ask) {
  try {
    return ask();
  } catch (const Refusal& refusal) {
    throw spelled(refusal, fields_of<Request>());
  }
}

/// The answer; fields that its texts or a Refusal name are options. \throws Refusal
template <HasFields Request>
[[nodiscard]] auto spelled_answer(const Request& request) {
  return spelled_out<Request>([&] {
    auto found = answer(request);
    spell_fields(found, as_option<Request>);
    return found;
  });
}

/// As --json prints it.
[[nodiscard]] std::string json_text(const ValueType& type, const void* value);
/// An answer as JSON or for people. \param text_of void(Page&, const Answer&)
template <class Answer, class Text>
[[nodiscard]] std::string shown(const Answer& found, bool json, const Terminal& terminal, const Text& text_of) {
  if (json) return json_text(value_type<Answer>, &found);
  Page page(terminal);
  text_of(page, found);
  return page.text();
}

/// Prints an answer. \param text_of, beside as in add_question
template <HasFields Request, class Text, class Beside>
[[nodiscard]] std::string output_of(const Typed& typed, bool json, const Terminal& terminal, const Text& text_of, const Beside& beside) {
  return spelled_out<Request>([&] {
    const auto request = request_of<Request>(typed);
    const auto found = spelled_answer(request);
    std::string out = shown(found, json, terminal, [&](Page& page, const auto& a) {
      if constexpr (std::invocable<Text, Page&, decltype(a), decltype(request)>)
        text_of(page, a, request);
      else
        text_of(page, a);
    });
    beside(found, request);
    return out;
  });
}
inline constexpr auto nothing_beside = [](const auto&, const auto&) {};

/// A file that a command writes beside its output, where the option is given. \param text_of its content: std::string(const Answer&)
template <class Text>
struct Writes {
  std::string_view option;
  const char* words;
  Text text_of;
};
template <class Text>
Writes(std::string_view, const char*, Text) -> Writes<Text>;
/// \throws RequestError where the file cannot be written
template <class Answer, class... Text>
void write_given(const Typed& typed, const Answer& found, const Writes<Text>&... files) {
  [[maybe_unused]] const auto write = [&](const auto& file) {
    if (typed.given(file.option)) write_output({typed.texts.at(file.option)}, file.text_of(found), long_name(file.option));
  };
  (write(files), ...);
}

/// The options typed for a subcommand.
struct GivenOptions {
  Typed typed;
  bool json = false;
};

/// Adds a subcommand whose options are the request's fields and --json.
/// \param job returns the text to print
/// \param more adds further options
void add_command(CLI::App& app, Runner& runner, const char* name, const char* words, const char* footer, Fields fields,
                 std::function<std::string(const GivenOptions&, const Terminal&)> job, const char* json_words = "Print JSON",
                 const std::function<void(CLI::App&, GivenOptions&)>& more = {});
template <HasFields Request>
void add_command(CLI::App& app, Runner& runner, const char* name, const char* words, const char* footer,
                 std::function<std::string(const GivenOptions&, const Terminal&)> job, const char* json_words = "Print JSON",
                 const std::function<void(CLI::App&, GivenOptions&)>& more = {}) {
  add_command(app, runner, name, words, footer, fields_of<Request>(), std::move(job), json_words, more);
}

/// Adds the option of a file that the command writes.
void add_file_option(CLI::App& sub, Typed& typed, std::string_view option, const char* words);

/// The same of a question. What a command asks beyond the question (how wide a picture is)
/// stands in a struct derived from its request, with fields() of both.
/// \param text_of the answer for people: void(Page&, const Answer&), or with the request as a third argument
/// \param files that the command writes, too
template <HasFields Request, class Text, class... Files>
void add_question(CLI::App& app, Runner& runner, const char* name, const char* words, const char* footer, Text text_of,
              Writes<Files>... files) {
  const auto job = [text_of, files...](const GivenOptions& o, const Terminal& terminal) {
    return output_of<Request>(o.typed, o.json, terminal, text_of,
                              [&](const auto& found, const auto&) { write_given(o.typed, found, files...); });
  };
  add_command<Request>(app, runner, name, words, footer, job, "Print JSON",
                       [files...]([[maybe_unused]] CLI::App& sub, [[maybe_unused]] GivenOptions& o) {
                         (add_file_option(sub, o.typed, files.option, files.words), ...);
                       });
}

/// One of several questions behind one subcommand.
struct Question {
  std::string_view word;
  Fields fields;
  std::function<std::string(const Typed&, bool json, const Terminal&)> output;
};
/// \param text_of as in add_question
template <HasFields Request, class Text>
[[nodiscard]] Question question(std::string_view word, Text text_of) {
  return {word, fields_of<Request>(), [text_of](const Typed& typed, bool json, const Terminal& terminal) {
            return output_of<Request>(typed, json, terminal, text_of, nothing_beside);
          }};
}

/// Adds a subcommand for several questions, selected by the first word: fabricost transfer storage. Help
/// names the question of each option; options of another question are refused.
/// \param what the help of that word
void add_questions(CLI::App& app, Runner& runner, const char* name, const char* words, const char* what, const char* footer,
                   std::vector<Question> questions);

}  // namespace fabricost::cli
