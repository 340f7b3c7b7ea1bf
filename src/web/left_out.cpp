/// Substitutes on the page for parts that read with libraries it does not contain: YAML of several values, packed files, exports of
/// Nsight Systems, the diagnosis of traces. The lists in bindings/web/CMakeLists.txt leave those parts out.

#include "answers/trace/diagnosis.hpp"
#include "readings/dumps/byte_source.hpp"
#include "readings/traces/readers.hpp"
#include "specs/tree.hpp"
#include "text/line_reader.hpp"
#include "text/plain_text.hpp"

#include <string_view>

namespace fabricost::observe {

// traces are for the command
bool detail::asks_of_traces(const DiagnoseRequest& /*request*/) { return false; }
Diagnosis detail::diagnosis_of_traces(const DiagnoseRequest& /*request*/) { return {}; }

std::unique_ptr<ByteSource::Unpacker> gzip_unpacker() {
  throw fault_of_file("the file", "is packed (gzip), which is not read here", "unpack it first: gunzip FILE");
}
std::unique_ptr<ByteSource::Unpacker> zstd_unpacker() {
  throw fault_of_file("the file", "is packed (zstd), which is not read here", "unpack it first: zstd -d FILE");
}

bool may_be_nsys(std::string_view head) { return head.starts_with("SQLite format 3"); }
std::vector<RankTrace> read_nsys(const std::filesystem::path& file) {
  throw fault_of_file(file.string(), "is an export of Nsight Systems, which is not read here", "ask the command: fabricost trace FILE");
}

}  // namespace fabricost::observe

namespace fabricost::core {

namespace {

[[nodiscard]] bool is_plain_scalar(std::string_view text) {
  constexpr std::string_view indicators = "[]{},#&*!|>'\"%@`";
  if (indicators.find(text.front()) != std::string_view::npos) return false;
  if ((text.front() == '-' || text.front() == '?' || text.front() == ':') && (text.size() == 1 || text[1] == ' ')) return false;
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  return !has("\n") && !has(": ") && !has(" #") && text.back() != ':';
}

/// Quoted without escapes.
[[nodiscard]] bool is_quoted(std::string_view text) {
  return text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front() &&
         text.substr(1, text.size() - 2).find_first_of("\"'\\\n") == std::string_view::npos;
}

}  // namespace

/// One value: that of an override.
SpecNode parsed_yaml(const std::shared_ptr<const SpecFile>& file) {
  std::string_view text = file->text;
  const auto first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  text.remove_prefix(first);
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  SpecNode out;
  out.mark = {file, 1, static_cast<int>(first) + 1};
  for (const std::string_view none : {"", "~", "null", "Null", "NULL"})
    if (text == none) return out;
  out.kind = SpecNode::Kind::scalar;
  if (is_quoted(text))
    out.text = text.substr(1, text.size() - 2);
  else if (is_plain_scalar(text))
    out.text = text;
  else
    throw SpecError({issue_at(out.mark, "", "is more than one value, which the page does not read", "write one, or ask the command")});
  return out;
}

}  // namespace fabricost::core
