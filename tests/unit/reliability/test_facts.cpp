/// \file test_facts.cpp
/// Published fleets, reliability tables and files of measured times: which are read, and which refused where.

#include "catch.hpp"
#include "support/measurements.hpp"
#include "support/message_of.hpp"
#include "support/written_file.hpp"

#include <fabricost/plan/evaluation/workload.hpp>
#include <fabricost/plan/readings/iteration_times.hpp>
#include <fabricost/plan/specs/failures.hpp>

#include <map>

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

const std::string header = "id,group,source,topic,system,gpus,model,quantity,value,unit,baseline,provenance,fully_specified,notes\n";

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

TEST_CASE("published rows follow from rates, shapes and specifications", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  const WorkloadReport report = validate_workloads({folder / "workloads" / "reliability.csv"});
  CHECK(report.rows.size() == 52);
  CHECK(report.total.points == 13);
  CHECK(report.total.mape < 1.2);  // it was below 1 while as many counts, off by nothing by construction, stood beside these
  int by_itself = 0;
  for (const Skipped& s : report.skipped) by_itself += support::contains(s.reason, "reliability.yaml itself") ? s.rows : 0;
  CHECK(by_itself == 13);
  std::map<std::string, const WorkloadRow*> row;
  for (const WorkloadRow& r : report.rows) row[r.id] = &r;
  CHECK(support::contains(row.at("R019")->skipped, "reliability.yaml itself"));  // 419, the count of the file
  CHECK(row.at("R021")->predicted == within(50677, 1e-6));
  CHECK(row.at("R068")->error() == Approx(-0.024).margin(0.002));
  CHECK(row.at("R075")->predicted == within(8.364, 1e-6));
  for (const char* bound : {"R023", "R039"}) CHECK(row.at(bound)->predicted >= row.at(bound)->measured);  // both are lower bounds
  CHECK(row.at("R038")->predicted == within(0.97, 0.03));
  for (const WorkloadRow& r : report.rows) CHECK((r.skipped.empty()) == (r.predicted > 0));
}

TEST_CASE("rates go with GPUs, days and the fleet a row names") {
  const File file(header +
                  "a,g,Llama 3,failure count,H,32768,,Faulty GPU,296,interruptions in 54 days,,,yes,\n"
                  "b,g,Llama 3,failure count,H,16384,,Faulty GPU,74,interruptions in 27 days,,,yes,\n"
                  "c,g,Llama 3,failure count,H,16384,,A meteorite,1,interruptions in 54 days,,,yes,\n"
                  "d,g,arXiv 2410.21680,mttf,RSC,131072,,mean time to failure of a job,0.23,h,,,yes,projected\n"
                  "e,g,arXiv 2410.21680,failure rate,RSC-2,8000,,RSC-2,2.34,failures per 1000 node-days,,,yes,\n"
                  "f,g,somebody,power,,,,8xB200 node rated,14.3,kW,,,yes,\n"
                  "g,g,somebody,checkpoint,,,llama3-405b,checkpoint size,5.16,TB,,,yes,\n"
                  "h,g,somebody,goodput,,,,share,0.9,fraction,,,yes,\n"
                  "i,g,somebody,power,,,,a kettle,2,kW,,,yes,\n"
                  "j,g,somebody,weather,,,,rain,2,mm,,,yes,\n"
                  "k,g,somebody,power,,,,H100,1-2,kW,,,yes,\n"
                  "l,g,Llama 3,failure count,H,16384,,Unplanned host maintenance,32,interruptions in 54 days,,,yes,\n"
                  "m,g,Llama 3,failure count,H,16384,,planned,47,interruptions in 54 days,,,yes,\n"
                  "n,g,Llama 3,mtbf,H,16384,,node rate,3.79,failures per 1000 node-days,,,yes,\n"
                  "o,g,somebody,power,,,,GB200 NVL72 rack per GPU,1.67,kW,,,yes,\n"
                  "p,g,somebody,checkpoint,,,BLOOM 176B,bf16 weights,329,GB,,,yes,\n");
  CHECK(workload_table(file.path()) == WorkloadTable::reliability);
  const auto rows = predict_reliability_rows(file.path());
  REQUIRE(rows.size() == 16);
  CHECK(rows[0].predicted == within(296, 1e-12));
  CHECK(rows[1].predicted == within(74, 1e-12));
  CHECK(rows[1].low < 74);
  CHECK(rows[1].high > 74);
  CHECK(rows[3].predicted == within(0.23, 0.03));
  CHECK(rows[5].predicted == within(14.3, 1e-12));
  CHECK(rows[6].predicted == within(5.17, 0.01));
  CHECK(rows[13].predicted == within(3.79, 0.001));
  CHECK(rows[14].predicted == within(120 / 72.0, 1e-9));
  CHECK(rows[15].predicted == within(329, 0.005));
  for (const std::size_t i : {2u, 7u, 8u, 9u, 10u}) CHECK(!rows[i].skipped.empty());
  // a fleet's own count or rate is what its rates were taken from: nothing to judge
  for (const std::size_t i : {4u, 11u, 12u}) CHECK(support::contains(rows[i].skipped, "reliability.yaml itself"));
}

TEST_CASE("a broken reliability table is refused with line, column and remedy") {
  const auto error = [](const std::string& text) {
    const File file(text);
    return spec_error([&] { return predict_reliability_rows(file.path()); });
  };
  CHECK(support::contains(error("id,group,topic,system,quantity,value\n"), "columns source, gpus, model are missing"));
  const std::string gpus = error(header + "a,g,s,power,H,many,,q,1,kW,,,yes,\n");
  CHECK(support::contains(gpus, ":2:15"));
  CHECK(support::contains(gpus, "\"many\""));
  CHECK(support::contains(error(header + "a,g,s,power,H,-8,,q,1,kW,,,yes,\n"), "from 0 to"));
  CHECK(support::contains(error(header + "a,g,s,power,H,8,,q,-1,kW,,,yes,\n"), "negative"));
  CHECK(support::contains(error(header + "a,g,s\n"), ":2"));
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
