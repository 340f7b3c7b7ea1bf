/// \file test_command_words.cpp
/// Questions asked through the command that a person thinks of first.

#include "catch.hpp"
#include "cli/command_words.hpp"
#include "cli/runner.hpp"

#include <sstream>
#include <string>
#include <vector>

namespace {

/// The command line rewritten; words are separated by blanks.
std::string rewritten(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return fabricost::cli::joined(fabricost::cli::as_commands(words), " ");
}

}  // namespace

TEST_CASE("a question after plan, compare, need or explore is its flag") {
  CHECK(rewritten("plan train -m m") == "plan --train -m m");
  CHECK(rewritten("compare serve a b") == "compare --serve a b");
  CHECK(rewritten("plan --train -m serve") == "plan --train -m serve");
  CHECK(rewritten("diagnose train") == "diagnose train");
}

TEST_CASE("plan finds and varies as need and explore do") {
  CHECK(rewritten("plan serve -m m --find gpus --ttft 1s") == "need gpus --serve -m m --ttft 1s");
  CHECK(rewritten("plan train --find=nic.bandwidth") == "need nic.bandwidth --train");
  CHECK(rewritten("plan train --vary domain=8,16") == "explore --train --vary domain=8,16");
  CHECK(rewritten("plan train --find") == "plan --train --find");
}

TEST_CASE("predict explains, and sweeps where it is given several values") {
  CHECK(rewritten("predict all_reduce --explain -s m") == "explain all_reduce -s m");
  CHECK(rewritten("predict all_reduce --size 1KiB:1GiB:x2") == "sweep all_reduce --sizes 1KiB:1GiB:x2");
  CHECK(rewritten("predict all_reduce --size=1KiB,1MiB -s m") == "sweep all_reduce --sizes=1KiB,1MiB -s m");
  CHECK(rewritten("predict all_reduce --size 1KiB -n 1:8:x2") == "sweep all_reduce --size 1KiB -n 1:8:x2");
  CHECK(rewritten("predict all_reduce --size 1KiB --gpus 2:8:x2") == "sweep all_reduce --size 1KiB --gpus 2:8:x2");
  CHECK(rewritten("predict all_reduce --size 1KiB -s a:b") == "predict all_reduce --size 1KiB -s a:b");
}

TEST_CASE("machines are compared on a whole run by project") {
  CHECK(rewritten("compare a b --tokens 15T --in 90d") == "project --system a,b --tokens 15T --in 90d");
  CHECK(rewritten("compare train a b --tokens 15T") == "project --system a,b --tokens 15T");
  CHECK(rewritten("compare a b --train --tokens 15T") == "project --system a,b --tokens 15T");
  CHECK(rewritten("cost failures --gpus 8") == "goodput --gpus 8");
}

TEST_CASE("earlier names of commands stay") {
  CHECK(rewritten("show dgx-h100") == "machine dgx-h100");
  CHECK(rewritten("systems --json") == "machine --json");
  CHECK(rewritten("help models") == "help model");
  CHECK(rewritten("--json systems") == "--json machine");
  CHECK(rewritten("diagnose show") == "diagnose show");
  CHECK(rewritten("").empty());
}
