/// \file test_exit_status.cpp
/// The exit status of a command by how it ends.

#include "catch.hpp"
#include "cli/runner.hpp"

#include <fabricost/error.hpp>

#include <CLI/CLI.hpp>

#include <functional>
#include <new>

using namespace fabricost::core;

namespace {

int status_of(const std::function<std::string()>& work) {
  fabricost::cli::Runner runner;
  CLI::App& sub = *runner.app().add_subcommand("ask", "a question");
  runner.add(sub, [&](const fabricost::cli::Terminal&) { return work(); });
  return runner.run({"ask"});
}

}  // namespace

TEST_CASE("an answer is 0, a finding 1, a refusal 2, and a fault of the program 70") {
  CHECK(status_of([] { return std::string{}; }) == 0);
  CHECK(status_of([]() -> std::string { throw fabricost::cli::CheckFailed{""}; }) == 1);
  CHECK(status_of([]() -> std::string { throw RequestError("no such thing"); }) == 2);
  CHECK(status_of([]() -> std::string { throw std::bad_alloc(); }) == 2);
  CHECK(status_of([]() -> std::string { throw std::logic_error("never"); }) == 70);
}
