#pragma once
/// The interface of the page: a question as JSON, its answer as JSON.
///
///     {"question": "sweep", "fields": {"system": "dgx-h100", "operation": "all_reduce", "sizes": "1KiB:1GiB:x2"},
///      "files": {"run.log": "# nThread 1 ..."}}
///
///     {"answer": [...], "text": "..."}            answer: what the command prints with --json; text: what it prints without, where the
///                                                 answer has one
///     {"error": {"text": "...", "field": "nodes"}}   in the core's words, with the field they are about; empty: none or several
///
/// The question "questions" is answered with all questions and their fields, for the page to make its controls of; "code", whose fields are
/// a question and its fields, with the lines that ask the command, Python and C++ the same.

#include <filesystem>
#include <string>
#include <string_view>

namespace fabricost::web {

/// Never throws. \param folder where the files of a request are put while it is answered; empty: requests have none
[[nodiscard]] std::string answer(std::string_view request, const std::filesystem::path& folder = {});

}  // namespace fabricost::web
