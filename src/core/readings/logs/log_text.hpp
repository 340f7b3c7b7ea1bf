#pragma once
/// Lines of logs: removes what terminals and launchers add, and splits the rest at blanks without an
/// allocation per line.

#include "text/ascii.hpp"

#include <fabricost/namespaces.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

using Tokens = std::vector<std::string_view>;

/// Replaces escape sequences and `[1,0]<stdout>:`, also in the middle of a line, by a blank.
void undecorate(std::string& line);

/// Removes what terminals, launchers and collectors of logs put before a line: colours, timestamps, `[1,0]<stdout>:` of mpirun, `3: ` of
/// srun, `[pod/NAME/CONTAINER] ` of kubectl, `NAME  | ` of docker compose, `(NAME pid=3) ` of Ray, `[rank3]: ` of PyTorch, `[default3]:` of
/// torchrun.
/// \return the rank that a launcher named, or -1
int unprefix(std::string& line);
/// The same without colours.
int unprefix(std::string_view& line);

/// A variable's value at the start of a text: up to a blank, with its commas ("mlx5_0,mlx5_1"), but not the next of "A=1,B=2".
[[nodiscard]] std::string_view setting_value(std::string_view text);

/// A row of a table of nccl-tests: the size, the count, and no words but a type and an operation.
[[nodiscard]] bool is_table_row(std::string_view line);

/// Replaces runs of blanks and tabs by one blank, so that patterns can be written with single blanks.
void squeeze(std::string& line);

/// Splits a line into words, which are views into it.
void split(std::string_view line, Tokens& tokens);

/// The same, returned as a new list.
[[nodiscard]] Tokens words(std::string_view line);

/// Converts ASCII letters to lower case.
[[nodiscard]] std::string lower(std::string_view text);

[[nodiscard]] constexpr bool all_digits(std::string_view text) {
  for (const char c : text)
    if (!is_digit(c)) return false;
  return !text.empty();
}
/// The number that a word of at most `digits` digits represents; empty for any other word.
[[nodiscard]] std::optional<int> whole_number(std::string_view text, std::size_t digits = 6);
/// True for a placeholder without a value: N/A, nan, a dash of any length.
[[nodiscard]] bool is_absent(std::string_view cell);

}  // namespace fabricost::core
