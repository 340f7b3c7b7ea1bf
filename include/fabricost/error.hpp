#pragma once
/// \file error.hpp
/// Errors in input, as types. Every message says where, what, and what to write instead.

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fabricost {

/// Anything the caller can correct: a wrong file, a wrong number, an impossible request. The command turns it
/// into exit status 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A request the machine or the model cannot answer: an unknown system, ranks that do not divide, an
/// algorithm that does not exist for the operation.
class RequestError : public Error {
 public:
  using Error::Error;
};

/// One fault in an input file.
struct Issue {
  std::string file;
  int line = 0;         ///< 1-based; 0 for the whole file
  int column = 0;       ///< 1-based
  std::string path;     ///< of the value inside the document, e.g. `tiers[0].bandwidth`
  std::string message;  ///< what is wrong, with the value
  std::string remedy;   ///< what to write instead; may be empty
  std::string excerpt;  ///< the line of the file; may be empty

  /// `file:line:column: path: message` and, below it, the line of the file with a caret and the remedy.
  [[nodiscard]] std::string text() const {
    std::string out = file;
    const auto add = [&out](auto&&... pieces) { (out.append(pieces), ...); };
    if (line > 0) add(":", std::to_string(line), ":", std::to_string(column));
    add(": ");
    if (!path.empty()) add(path, ": ");
    add(message);
    if (!excerpt.empty()) {
      add("\n    ", excerpt, "\n    ", std::string(static_cast<std::size_t>(column > 0 ? column - 1 : 0), ' '), "^");
      if (!remedy.empty()) add(" ", remedy);
    } else if (!remedy.empty()) {
      add("\n    ", remedy);
    }
    return out;
  }
};

/// One or more faults of input files, all reported at once.
class SpecError : public Error {
 public:
  explicit SpecError(std::vector<Issue> issues) : Error(joined(issues)), issues_(std::move(issues)) {}

  [[nodiscard]] const std::vector<Issue>& issues() const { return issues_; }

 private:
  static std::string joined(const std::vector<Issue>& issues) {
    std::string out;
    for (const Issue& issue : issues) {
      if (!out.empty()) out.append("\n");
      out.append(issue.text());
    }
    return out;
  }

  std::vector<Issue> issues_;
};

}  // namespace fabricost
