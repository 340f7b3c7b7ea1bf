/// \file test_facts.cpp
/// Published fleets and files of measured times: which are read, and which refused where.

#include "catch.hpp"
#include "support/message_of.hpp"
#include "support/written_file.hpp"

#include <fabricost/plan/readings/iteration_times.hpp>
#include <fabricost/plan/specs/failures.hpp>

using namespace fabricost::plan;

namespace {

struct File : fabricost::test::WrittenFile {
  explicit File(const std::string& text, const std::string& name = "fabricost_reliability.csv") : WrittenFile(text, name) {}
};

template <class Call>
std::string spec_error(Call&& call) {
  try {
    static_cast<void>(call());
  } catch (const SpecError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the fleets are those published") {
  const FailureFacts facts = load_failure_facts();
  const FailureFleet& llama = facts.fleet("llama3");
  CHECK(llama.failures() == 419);
  CHECK(llama.failures() + llama.planned == 466);
  CHECK(llama.replaced() == within(0.78, 0.02));  // "about 78 % hardware"
  double network = 0;
  for (const FailureCause& c : llama.causes)
    if (c.cause == "Network switch/cable") network = c.count;
  CHECK(network / llama.failures() == within(0.084, 0.01));  // 8.4 %, and not the 10.7 % that text 003 has
  CHECK(facts.fleet("rsc-1").rate.thousand_node_days() == within(6.5, 1e-12));
  CHECK(facts.fleet("rsc-1").replaced() == 1);
  CHECK(facts.recovery == 600);
  CHECK(support::contains(support::message_of([&] { return facts.fleet("rsc-3"); }), "rsc-1"));
}

TEST_CASE("times per iteration are read alone and by rank") {
  const File alone("# seconds\n0.101\n0.1\n\n0.102\n", "fabricost_times.txt");
  CHECK(read_iteration_times(alone.path()).seconds == std::vector<double>{0.101, 0.1, 0.102});
  const File ranks("iteration,rank,time_ms\n0,a,10\n0,b,30\n1,a,20\n1,b,10\n2,a,10\n");
  const IterationTimes t = read_iteration_times(ranks.path());
  CHECK(t.ranks == 2);
  CHECK(t.rank_names == std::vector<std::string>{"a", "b"});
  REQUIRE(t.rank_means.size() == 2);
  CHECK(t.rank_means[0] == within(0.04 / 3, 1e-12));
  CHECK(t.slowest == std::vector<double>{0.03, 0.02});  // the third lacks a rank
}

TEST_CASE("broken times are refused where they stand") {
  const auto error = [](const std::string& text) {
    const File file(text);
    return spec_error([&] { return read_iteration_times(file.path()); });
  };
  CHECK(support::contains(error("0.1\nfast\n0.2\n"), ":2:1: \"fast\" is not a time above 0"));
  CHECK(support::contains(error("0.1\n-1\n"), ":2:1"));
  CHECK(support::contains(error("0.1\nnan\n"), ":2:1"));
  CHECK(support::contains(error("iteration,rank,time_ms\n0,a,ten\n"), ":2:5"));
  CHECK(support::contains(error("iteration,time_ms\n0,10\n"), "no ranks"));
  CHECK(support::contains(error("a,b\n1,2\n"), "no column holds times"));
  CHECK(support::contains(error("time_s\n"), "no times"));
  CHECK(!error("").empty());
}
