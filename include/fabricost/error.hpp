#pragma once
/// Errors in input, as types. Every message states the place, the fault and the remedy.

#include <fabricost/request_error.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

/// `text` with each <name> or <name=value> replaced by `spelled(name, value)`.
template <class Spelled>
[[nodiscard]] std::string with_fields(std::string_view text, Spelled&& spelled) {
  std::string out;
  while (true) {
    const std::size_t begin = text.find('<'), end = text.find('>', begin);
    if (end == std::string_view::npos) return out.append(text);
    out.append(text.substr(0, begin));
    const std::string_view inside = text.substr(begin + 1, end - begin - 1);
    const std::size_t equals = std::min(inside.find('='), inside.size());
    out += spelled(inside.substr(0, equals), inside.substr(std::min(equals + 1, inside.size())));
    text.remove_prefix(end + 1);
  }
}

[[nodiscard]] inline std::string as_member(std::string_view name, std::string_view value) {
  return std::string{name} + (value.empty() ? "" : " = ") + std::string{value};
}

/// One fault in an input file.
struct Issue {
  std::string file;
  int line = 0;         ///< 1-based; 0 for the whole file
  int column = 0;       ///< 1-based
  std::string path;     ///< of the value inside the document, e.g. `tiers[0].bandwidth`
  std::string message;  ///< what is wrong, with the value
  std::string remedy;   ///< what to write instead, fields of the request in angle brackets; may be empty
  std::string excerpt;  ///< the line of the file; may be empty

  /// `file:line:column: path: message` and, below it, the line of the file with a caret and the remedy.
  /// \param spelled as with_fields takes it
  template <class Spelled>
  [[nodiscard]] std::string text(Spelled&& spelled) const {
    const std::string instead = with_fields(remedy, spelled);
    std::string out = file;
    const auto add = [&out](auto&&... pieces) { (out.append(pieces), ...); };
    if (line > 0) add(":", std::to_string(line), ":", std::to_string(column));
    add(": ");
    if (!path.empty()) add(path, ": ");
    add(message);
    if (!excerpt.empty()) {
      add("\n    ", excerpt, "\n    ", std::string(static_cast<std::size_t>(column > 0 ? column - 1 : 0), ' '), "^");
      if (!instead.empty()) add(" ", instead);
    } else if (!instead.empty()) {
      add("\n    ", instead);
    }
    return out;
  }
  [[nodiscard]] std::string text() const { return text(as_member); }
};

/// One or more faults of input files, all reported at once.
class SpecError : public Error {
 public:
  explicit SpecError(std::vector<Issue> issues) : Error(joined(issues, as_member)), issues_(std::move(issues)) {}

  [[nodiscard]] const std::vector<Issue>& issues() const { return issues_; }
  /// what() in the words of an interface.
  template <class Spelled>
  [[nodiscard]] std::string text(Spelled&& spelled) const {
    return joined(issues_, spelled);
  }

 private:
  template <class Spelled>
  static std::string joined(const std::vector<Issue>& issues, Spelled&& spelled) {
    std::string out;
    for (const Issue& issue : issues) {
      if (!out.empty()) out.append("\n");
      out.append(issue.text(spelled));
    }
    return out;
  }

  std::vector<Issue> issues_;
};

/// A request that breaks a rule, in words that name the request's fields in angle brackets: "<mfu> is of a model's FLOPs: add <model>". The
/// command, Python and C++ spell fields their own way: --mfu, mfu=, mfu. what() uses the fields' own names.
class Refusal : public RequestError {
 public:
  /// \param missing a required value is not given
  explicit Refusal(std::string text, bool missing = false)
      : RequestError(with_fields(text, as_member)), text_(std::move(text)), missing_(missing) {}
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] bool missing() const noexcept { return missing_; }

 private:
  std::string text_;
  bool missing_;
};

}  // namespace fabricost::core

namespace fabricost {
using core::Issue;
using core::Refusal;
using core::SpecError;
}  // namespace fabricost
