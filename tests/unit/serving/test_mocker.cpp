/// The simulated scheduler beside an independent one, Dynamo's mocker 1.6.1 (run_trace_replay, one vLLM worker, blocks of 16 tokens, no prefix
/// cache), given the same requests and the table of the same step times: percentiles of its requests after the first tenth, seconds. They are in
/// mocker.csv; test_mocker.py runs the mocker where it is installed.

#include <fabricost/plan/serving/arrivals/simulate.hpp>

#include <catch.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace fabricost::plan;

namespace {

struct MockedService {
  double step, sequence, token, prompt;
  RequestLoad load;
  Scheduler scheduler;
  std::array<double, 12> figures;
};

std::vector<MockedService> mocked_services() {
  std::ifstream file(std::filesystem::path(FABRICOST_SOURCE_DIR) / "tests/unit/serving/mocker.csv");
  std::vector<MockedService> out;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::array<double, 24> v{};
    std::istringstream cells(line);
    for (double& value : v) cells >> value, cells.ignore();
    MockedService one{v[0], v[1], v[2], v[3],
                      drawn_load({.rate = v[11], .burstiness = v[7], .isl = v[4], .osl = v[5], .variation = v[6], .count = 2000, .seed = out.size()}),
                      {.cache = v[10], .sequences = v[8], .chunk = v[9]},
                      {}};
    std::copy(v.begin() + 12, v.end(), one.figures.begin());
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

TEST_CASE("twenty services agree with Dynamo's simulator within five per cent") {
  const std::vector<MockedService> all = mocked_services();
  CHECK(all.size() == 20);
  for (const MockedService& of : all) {
    StepTimes times({.decode = [of](double n, double c) { return of.step + of.sequence * n + of.token * n * c; },
                     .rows = [of](double rows) { return of.prompt * rows; }});
    const LoadFigures f = figures_of(of.load, simulate(times, of.scheduler, 1, of.load), 95, 0, 0);
    std::size_t at = 0;
    for (const Percentiles& p : {f.ttft, f.tpot, f.e2e})
      for (const double value : {p.mean, p.p50, p.p90, p.p99}) CHECK(value == Approx(of.figures[at++]).epsilon(0.05));
  }
}

TEST_CASE("the requests of the twenty services are written for the mocker where it asks", "[mocker]") {
  const char* const folder = std::getenv("FABRICOST_TRACES");
  if (folder == nullptr) return;
  std::size_t number = 0;
  for (const MockedService& of : mocked_services()) {
    std::ofstream file(std::filesystem::path(folder) / (std::to_string(number++) + ".jsonl"));
    file.precision(12);
    int block = 0;
    for (const Arrival& one : of.load.requests) {
      file << R"({"timestamp": )" << 1e3 * one.at << R"(, "input_length": )" << one.prompt << R"(, "output_length": )" << one.answer
           << R"(, "hash_ids": [)" << block++;
      for (int at = 512; at < one.prompt; at += 512) file << ", " << block++;  // no two prompts have a block in common
      file << "]}\n";
    }
  }
}
