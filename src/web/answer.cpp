/// Finds the question, keeps its files while it is answered, and turns whatever is thrown into an error of the page.

#include "web/answer.hpp"

#include "text/plain_text.hpp"
#include "text/term_words.hpp"
#include "web/questions/question.hpp"

#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <new>

namespace fabricost::web {

namespace {

namespace fs = std::filesystem;

const std::vector<Question>& questions() {
  static const std::vector<Question> all = questions_here();
  return all;
}

/// Files of one request, gone with it.
class GivenFiles {
 public:
  GivenFiles(const Json& request, const fs::path& folder) {
    const auto given = request.find("files");
    if (given == request.end() || given->is_null()) return;
    if (folder.empty() || !given->is_object()) throw RequestError("files: write an object, a text for each file by its name");
    for (const auto& [name, text] : given->items()) {
      const bool plain = !name.empty() && name.size() <= 200 && name.find_first_of("/\\") == std::string::npos && name.front() != '.';
      if (!plain || !text.is_string()) throw RequestError(fmt::format("files: \"{}\" is no file with a plain name and a text", name));
      paths_.push_back((folder / name).lexically_normal());
      std::ofstream out(paths_.back(), std::ios::binary);
      out << text.get_ref<const std::string&>();
      if (!out.flush()) throw RequestError(fmt::format("files: \"{}\" could not be kept", name));
    }
  }
  GivenFiles(const GivenFiles&) = delete;
  GivenFiles& operator=(const GivenFiles&) = delete;
  ~GivenFiles() {
    std::error_code ignored;
    for (const fs::path& path : paths_) fs::remove(path, ignored);
  }

 private:
  std::vector<fs::path> paths_;
};

[[nodiscard]] Json all_described() {
  Json out{{"version", FABRICOST_VERSION}, {"questions", Json::array()}};
  for (const Question& one : questions())
    out["questions"].push_back({{"name", one.name}, {"command", one.command}, {"record", one.record}, {"fields", described(one)}});
  for (const SystemName& one : system_names()) out["systems"].push_back({{"name", one.name}, {"cluster", one.cluster}});
  out["models"] = model_names();
  for (const auto& [term, words] : words_of_terms) out["terms"][std::string{term}] = words;
  return out;
}

[[nodiscard]] const Question& named(const std::string& name) {
  std::vector<std::string> names;
  for (const Question& one : questions()) names.emplace_back(one.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw RequestError(unknown_text(name, "a question", names));
  return questions()[static_cast<std::size_t>(found - names.begin())];
}

/// The code for {"question": NAME, "fields": ...}.
[[nodiscard]] Json code_for(const Json& of) {
  if (!of.is_object() || !of.contains("question") || !of["question"].is_string())
    throw RequestError("code: name a question and its fields");
  const Question& question = named(of["question"].get<std::string>());
  return code(question, of.contains("fields") ? of["fields"] : Json::object());
}

[[nodiscard]] Json answered(std::string_view text, const fs::path& folder) {
  const Json request = Json::parse(text, nullptr, false);
  const auto asked = request.is_object() ? request.find("question") : request.end();
  if (!request.is_object() || asked == request.end() || !asked->is_string())
    throw RequestError(R"(write JSON: {"question": NAME, "fields": {NAME: VALUE}})");
  const auto& name = asked->get_ref<const std::string&>();
  if (name == "questions") return {{"answer", all_described()}};
  const auto fields = request.find("fields");
  const Json given = fields == request.end() ? Json::object() : *fields;
  if (name == "code") return {{"answer", code_for(given)}};
  const Question& question = named(name);
  const GivenFiles files(request, folder);
  return answered(question, given);
}

[[nodiscard]] Json error_of(const std::string& text, const std::string& field = {}) {
  return {{"error", {{"text", plain_text(text)}, {"field", field}}}};
}

}  // namespace

namespace {
[[nodiscard]] Spelling spelling_of(std::span<const Field> fields) {
  return [fields](std::string_view name, std::string_view value) { return spelled(fields, name, value); };
}
/// Without "(fabricost machine lists them)": the page has lists of its own.
[[nodiscard]] std::string without_commands(std::string text) {
  for (std::size_t from = 0; (from = text.find(" (fabricost ", from)) != std::string::npos;)
    text.erase(from, std::min(text.find(')', from), text.size() - 1) - from + 1);
  return text;
}
/// A Refusal in the words of the page, of the first field that it names.
[[noreturn]] void refuse(const Refusal& refusal, std::span<const Field> fields) {
  const std::vector<std::string> names = names_of(fields);
  std::string first;
  (void)with_fields(refusal.text(), [&](std::string_view name, std::string_view) {
    if (first.empty() && std::find(names.begin(), names.end(), name) != names.end()) first = name;
    return std::string{};
  });
  throw FieldError(first, without_commands(with_fields(refusal.text(), spelling_of(fields))));
}
}  // namespace

Json described(const Question& question) { return fields_as_json(question.fields(), question.request().get()); }

Json answered(const Question& question, const Json& given) {
  try {
    const auto request = question.request();
    put_given(given, question.fields(), request.get());
    return question.answer(request.get(), spelling_of(question.fields()));
  } catch (const Refusal& refusal) {
    refuse(refusal, question.fields());
  }
}

Json code(const Question& question, const Json& given) {
  try {
    const auto request = question.request();
    put_given(given, question.fields(), request.get());
    const auto fields = set_fields(given, question.fields(), request.get(), question.request().get());
    return code_of(fields, question.command, question.python, question.record);
  } catch (const Refusal& refusal) {
    refuse(refusal, question.fields());
  }
}

std::string answer(std::string_view request, const std::filesystem::path& folder) {
  const auto printed = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  try {
    return printed(answered(request, folder));
  } catch (const FieldError& error) {
    return printed(error_of(error.what(), error.field()));
  } catch (const SpecError& error) {
    return printed(error_of(error.text([](auto name, auto value) { return spelled({}, name, value); })));
  } catch (const Refusal& refusal) {
    return printed(error_of(refusal.what()));
  } catch (const Error& error) {
    return printed(error_of(error.what()));
  } catch (const std::bad_alloc&) {
    return printed(error_of("out of memory"));
  } catch (const std::exception& error) {
    return printed(error_of(fmt::format("internal error: {}; please report it with this question", error.what())));
  }
}

}  // namespace fabricost::web
