#pragma once
/// Test cases that cannot run here. Catch2 2 has no SKIP, so main.cpp counts them: a program in which one was skipped and
/// none failed ends with status 77, which ctest shows as skipped.

#include <string>
#include <string_view>

namespace fabricost::test {

/// Notes that the running test case was skipped and why; the case returns after it.
void skip_case(const std::string& why);

/// Whether the running test case carries this tag, written with its brackets.
[[nodiscard]] bool running_case_has(std::string_view tag);

}  // namespace fabricost::test
