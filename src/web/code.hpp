#pragma once
/// The same question for the command, Python and C++: lines to copy, made from the fields that are set.

#include "web/request.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::web {

/// One field that is set, as each interface writes it.
struct SetField {
  std::string name, option;  ///< option: empty: the command has none; its own name: it stands by itself
  std::string member;        ///< of the request in C++
  bool flag = false;         ///< an option without a value
  std::vector<std::string> typed;
  std::string python, cpp;  ///< its value; cpp is what follows `request.MEMBER`; empty: C++ is not shown
  bool nameless = false;    ///< not an argument of Python's function
  bool inside = false;      ///< Python has it inside an operation
  bool machine = false;
};

/// "a b" as Python or C++ reads it back.
[[nodiscard]] std::string literal(std::string_view text);

/// \param command of the question, as "fabricost plan train" \param python its function; empty: Python has it another way
/// \param record of C++
[[nodiscard]] Json code_of(const std::vector<SetField>& fields, std::string_view command, std::string_view python, std::string_view record);

/// The fields that are set, in the order of the table. \param request with what was given \param defaults a request of which nothing is set
[[nodiscard]] std::vector<SetField> set_fields(const Json& given, std::span<const Field> fields, const void* request, const void* defaults);

}  // namespace fabricost::web
