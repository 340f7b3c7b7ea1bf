#pragma once
/// Errors in input, as types. Every message states the place, the fault and the remedy.

#include <fabricost/request_error.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// How an interface writes a field of a request, or a field and its value.
using Spelling = std::function<std::string(std::string_view name, std::string_view value)>;

/// `text` with each <name> or <name=value> replaced by `spelled(name, value)`.
[[nodiscard]] std::string with_fields(std::string_view text, const Spelling& spelled);

/// As C++ writes them: "name", "name = value".
[[nodiscard]] std::string as_member(std::string_view name, std::string_view value);

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
  [[nodiscard]] std::string text(const Spelling& spelled = as_member) const;
};

/// One or more faults of input files, all reported at once.
class SpecError : public Error {
 public:
  explicit SpecError(std::vector<Issue> issues);

  [[nodiscard]] const std::vector<Issue>& issues() const { return issues_; }
  /// what() in the words of an interface.
  [[nodiscard]] std::string text(const Spelling& spelled) const;

 private:
  static std::string joined(const std::vector<Issue>& issues, const Spelling& spelled);

  std::vector<Issue> issues_;
};

/// A request that breaks a rule, in words that name the request's fields in angle brackets: "<mfu> is of a model's FLOPs: add <model>". The
/// command, Python and C++ spell fields their own way: --mfu, mfu=, mfu. what() uses the fields' own names.
class Refusal : public RequestError {
 public:
  /// \param missing a required value is not given
  explicit Refusal(std::string text, bool missing = false);
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

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/error-inl.hpp>
#endif
