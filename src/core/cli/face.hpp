#pragma once
/// \file face.hpp
/// The command-line face of any question, made from its tables of fields: options, values parsed from what
/// was typed, answers as JSON.

#include "cli/page.hpp"
#include "cli/runner.hpp"
#include "faces/typed.hpp"
#include "text/write_file.hpp"

#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/json.hpp>
#include <fabricost/fields/spelled.hpp>

#include <fmt/format.h>

#include <concepts>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost {

/// A file or folder that a command writes: the type that marks an option as an output (Runner::output).
struct OutputPath {
  std::string path;
  [[nodiscard]] bool empty() const { return path.empty(); }
};
/// Found by ADL.
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, OutputPath& out) { out.path = text; }

}  // namespace fabricost

namespace fabricost::cli {

/// "--gpus" of "--gpus,-g".
[[nodiscard]] std::string_view long_name(std::string_view option);

/// The parts of a field that options and messages need.
struct OptionField {
  std::string_view name, option, kind, words;
  Amount amount = Amount::number;
  bool flag = false, list = false, output = false;
};
/// The fields of a request in their order.
template <HasFields Request>
[[nodiscard]] const std::vector<OptionField>& option_fields() {
  static const std::vector<OptionField> out = [] {
    std::vector<OptionField> all;
    for_each_field<Request>([&](const auto& f) {
      using T = typename std::remove_cvref_t<decltype(f)>::Value;
      all.push_back({f.name, f.option, f.kind, f.words, f.amount, std::same_as<T, bool>, is_list<T>, std::same_as<T, OutputPath>});
    });
    return all;
  }();
  return out;
}

/// Replaces each field by its option: "--step-time" for <step_seconds>, "--gpus 16384" for <gpus=16384>; a
/// flag has no value.
[[nodiscard]] std::string as_option(const std::vector<OptionField>& fields, std::string_view name, std::string_view value);
template <HasFields Request>
[[nodiscard]] std::string as_option(std::string_view name, std::string_view value) {
  return as_option(option_fields<Request>(), name, value);
}

/// The typed text of each option, until the command runs.
struct Typed {
  std::map<std::string_view, std::string> texts;
  std::map<std::string_view, bool> flags;
  std::map<std::string_view, std::vector<std::string>> lists;
  [[nodiscard]] bool given(std::string_view option) const;
};

/// The first given option that is in `fields` and not in `others`; empty: none.
[[nodiscard]] std::string_view given_beyond(const Typed& typed, const std::vector<OptionField>& fields,
                                            const std::vector<OptionField>& others);
template <HasFields Request, HasFields Other>
[[nodiscard]] std::string_view given_beyond(const Typed& typed) {
  return given_beyond(typed, option_fields<Request>(), option_fields<Other>());
}

/// \throws RequestError for a given option of the question `of`, Other, that Request does not have
template <HasFields Request, HasFields Other>
void refuse_beyond(const Typed& typed, std::string_view of) {
  if (const std::string_view option = given_beyond<Other, Request>(typed); !option.empty())
    throw RequestError(fmt::format("{} is of {}; leave it out", option, of));
}

/// The option of `fields` that ends in the name of another question's option: --global-batch for --batch; empty: none.
[[nodiscard]] std::string_view namesake_of(std::string_view option, const std::vector<OptionField>& fields);

/// Options of a subcommand with one question, or with several that a first word selects.
class OptionRows {
 public:
  template <HasFields Request>
  void add(std::string_view question = {}) {
    add(option_fields<Request>(), question);
  }
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
  void add(const std::vector<OptionField>& fields, std::string_view question);

  std::vector<Row> rows_;
};

/// Adds the options of one of several requests that share a subcommand. \param group as in OptionRows::add_to
template <HasFields Request>
void add_options(CLI::App& sub, Typed& typed, const std::string& group = {}) {
  OptionRows rows;
  rows.add<Request>();
  rows.add_to(sub, typed, 1, group);
}

/// \throws RequestError naming the option
template <HasFields Request>
[[nodiscard]] Request request_of(const Typed& typed) {
  Request out;
  for_each_field<Request>([&](const auto& field) {
    using T = typename std::remove_cvref_t<decltype(field)>::Value;
    if (field.option.empty()) return;
    if constexpr (std::same_as<T, bool>) {
      if (typed.given(field.option)) out.*(field.member) = !(out.*(field.member));
    } else if (!typed.given(field.option)) {
      return;
    } else if constexpr (is_list<T>) {
      for (const std::string& text : typed.lists.at(field.option))
        from_text(text, long_name(field.option), field.amount, field.range, (out.*(field.member)).emplace_back());
    } else {
      from_text(typed.texts.at(field.option), long_name(field.option), field.amount, field.range, out.*(field.member));
    }
  });
  return out;
}

/// Writes a file that an option named. \throws RequestError
inline void write_output(const OutputPath& to, const std::string& text, std::string_view option) { io::write_file(to.path, text, option); }

/// Calls `ask` and rethrows a Refusal with the options of its fields. \throws RequestError
template <HasFields Request, class Ask>
[[nodiscard]] auto spelled_out(Ask&& ask) {
  try {
    return ask();
  } catch (const Refusal& refusal) {
    throw RequestError(with_fields(refusal.text(), as_option<Request>));
  }
}

/// The answer; fields that its texts or a Refusal name are options. \throws RequestError
template <HasFields Request>
[[nodiscard]] auto spelled_answer(const Request& request) {
  return spelled_out<Request>([&] {
    auto found = answer(request);
    spell_fields(found, as_option<Request>);
    return found;
  });
}

/// An answer as JSON or for people. \param text_of void(Page&, const Answer&)
template <class Answer, class Text>
[[nodiscard]] std::string shown(const Answer& found, bool json, const Terminal& terminal, const Text& text_of) {
  if (json) return printed(json_parts::json_value(found, {}));
  Page page(terminal);
  text_of(page, found);
  return page.text();
}

/// Prints an answer. \param text_of, beside as in add_face
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
/// \param job returns the text to print: std::string(const GivenOptions&, const Terminal&)
/// \param more adds further options: (CLI::App&, GivenOptions&)
template <HasFields Request, class Job, class More = decltype(nothing_beside)>
void add_command(CLI::App& app, Runner& runner, const char* name, const char* words, const char* footer, Job job,
                 const char* json_words = "Print JSON", More more = nothing_beside) {
  const auto o = std::make_shared<GivenOptions>();
  CLI::App& sub = *app.add_subcommand(name, words);
  add_options<Request>(sub, o->typed);
  more(sub, *o);
  sub.add_flag("--json", o->json, json_words);
  sub.footer(footer);
  runner.add(sub, [o, job](const Terminal& terminal) { return job(*o, terminal); });
}

/// The same of a question. What a command asks beyond the question (how wide a picture is)
/// stands in a struct derived from its request, with fields() of both.
/// \param text_of the answer for people: void(Page&, const Answer&), or with the request as a third argument
/// \param files that the command writes, too
template <HasFields Request, class Text, class... Files>
void add_face(CLI::App& app, Runner& runner, const char* name, const char* words, const char* footer, Text text_of,
              Writes<Files>... files) {
  const auto job = [text_of, files...](const GivenOptions& o, const Terminal& terminal) {
    return output_of<Request>(o.typed, o.json, terminal, text_of,
                              [&](const auto& found, const auto&) { write_given(o.typed, found, files...); });
  };
  add_command<Request>(app, runner, name, words, footer, job, "Print JSON", [files...](CLI::App& sub, GivenOptions& o) {
    (Runner::output(*sub.add_option(std::string{files.option}, o.typed.texts[files.option], files.words)->option_text("FILE")), ...);
  });
}

/// One of several questions behind one subcommand.
template <HasFields R, class Text>
struct Face {
  using Request = R;
  std::string_view word;
  Text text_of;
};
template <HasFields Request, class Text>
[[nodiscard]] Face<Request, Text> face(std::string_view word, Text text_of) {
  return {word, text_of};
}

/// Adds a subcommand for several questions, selected by the first word: fabricost transfer storage. Help
/// names the question of each option; options of another question are refused.
/// \param what the help of that word
template <class... Faces>
void add_faces(CLI::App& app, Runner& runner, const char* name, const char* words, const char* what, const char* footer, Faces... faces) {
  struct Options {
    std::string what;
    OptionRows rows;
    Typed typed;
    bool json = false;
  };
  const auto o = std::make_shared<Options>();
  CLI::App& sub = *app.add_subcommand(name, words);
  sub.add_option("WHAT", o->what, what)->option_text(" ");
  (o->rows.template add<typename Faces::Request>(faces.word), ...);
  o->rows.add_to(sub, o->typed, sizeof...(Faces));
  sub.add_flag("--json", o->json, "Print JSON");
  sub.footer(footer);
  runner.add(sub, [o, name, faces...](const Terminal& terminal) {
    const std::vector<std::string> known{std::string{faces.word}...};
    if (o->what.empty()) throw RequestError(fmt::format("{} of what? One of: {}", name, joined(known)));
    std::string out;
    const auto runs = [&](const auto& one) {
      if (fabricost::detail::folded(o->what) != one.word) return false;
      o->rows.refuse_others(o->typed, name, one.word);
      out = output_of<typename std::remove_cvref_t<decltype(one)>::Request>(o->typed, o->json, terminal, one.text_of, nothing_beside);
      return true;
    };
    if (!(runs(faces) || ...)) throw RequestError(unknown_text(o->what, fmt::format("a {}", name), known));
    return out;
  });
}

}  // namespace fabricost::cli
