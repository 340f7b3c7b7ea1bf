/// Files that cannot be believed are refused with the place and the remedy.

#include "catch.hpp"
#include "made_up.hpp"

#include <fabricost/probes/machine/this_machine.hpp>

#include <functional>
#include <sstream>

using namespace fabricost::probes;

namespace {

/// The message about a measurement one of whose files was changed.
std::string said(const made_up::Machine& made, bool machine_file, const std::function<std::string(std::string)>& change) {
  const made_up::Files files(made);
  const std::filesystem::path file = machine_file ? files.machine_file() : files.points();
  std::stringstream text;
  text << std::ifstream{file}.rdbuf();
  std::ofstream{file} << change(text.str());
  try {
    (void)calibrate_machine(files.points());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::function<std::string(std::string)> replaced(const std::string& from, const std::string& to) {
  return [=](std::string text) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
}

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a faulty machine file is refused with line, key and remedy") {
  const made_up::Machine one = made_up::one_h200();
  CHECK(has(said(one, true, replaced("multiprocessors: 132", "multiprocessors: many")), "measured.machine.yaml:20:22: "));
  CHECK(has(said(one, true, replaced("multiprocessors: 132", "multiprocessors: many")), "gpus[0].multiprocessors"));
  CHECK(has(said(one, true, replaced("lanes: 16,", "lanes: 99,")), "gpus[0].pcie.lanes: \"99\" is outside 1 to 64"));
  CHECK(has(said(one, true, replaced("ecc: true", "ecc: maybe")), "write true or false"));
  CHECK(has(said(one, true, replaced("memory_bytes: ", "memory_bytes: -")), "gpus[0].memory_bytes"));
  CHECK(has(said(one, true, [](const std::string& text) { return text.substr(0, text.find("gpus:")); }), "gpus: is missing"));
  CHECK(has(said(one, true, [](const std::string& text) { return text + "  - {"; }), "measured.machine.yaml:31:"));
  CHECK(has(said(made_up::nvlink_node(), true, replaced("  - [0, 1,", "  - [7, 1,")), "\"7\" is neither 0 nor 1"));
  CHECK(has(said(made_up::nvlink_node(), true, replaced("  - [0, 1, 1,", "  - [0, 1,")), "row of 8 for each of 8 GPUs"));
}

TEST_CASE("a faulty point is refused with line and column") {
  const std::string message = said(made_up::one_h200(), false, replaced(",memory_read,", ",memory_raed,"));
  CHECK(has(message, "measured.csv:2:"));
  CHECK(has(message, "unknown operation \"memory_raed\""));
  CHECK(has(said(made_up::one_h200(), false, replaced(",memory_read,", ",memory_read")), "measured.csv:2:"));
}

TEST_CASE("points without a time are refused, not taken for a machine") {
  const std::string message = said(made_up::one_h200(), false, [](const std::string& text) { return text.substr(0, text.find('\n') + 1); });
  CHECK(has(message, "holds no measured time"));
}

TEST_CASE("a GPU that no shipped system is like asks for one by name") {
  made_up::Machine unknown = made_up::one_h200();
  unknown.name = "NVIDIA Q900";
  unknown.system.clear();
  const std::string message = said(unknown, false, [](std::string text) { return text; });
  CHECK(has(message, "1 NVIDIA Q900"));
  CHECK(has(message, "system ("));
}

TEST_CASE("a stock system that does not exist is refused by its name") {
  made_up::Machine one = made_up::one_h200();
  one.system = "dgx-h900";
  CHECK(has(said(one, false, [](std::string text) { return text; }), "dgx-h900"));
}
