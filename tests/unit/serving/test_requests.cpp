/// Requests that are drawn, and traces of them that are read.

#include "support/message_of.hpp"
#include "support/written_file.hpp"

#include <fabricost/plan/serving/arrivals/requests.hpp>

#include <catch.hpp>

#include <cmath>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

std::string fault_of(const std::string& text) {
  const WrittenFile file(text, "requests.jsonl");
  try {
    static_cast<void>(read_requests(file.path()));
  } catch (const fabricost::SpecError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("intervals have the rate and the burstiness asked for, lengths their mean and spread") {
  for (const double shape : {0.25, 1.0, 4.0}) {
    const RequestLoad load = drawn_load({.rate = 20, .burstiness = shape, .isl = 1000, .osl = 200, .variation = 0.5, .count = 100'000});
    double mean = 0, square = 0, tokens = 0, tokens_square = 0;
    for (std::size_t i = 1; i < load.requests.size(); ++i) {
      const double gap = load.requests[i].at - load.requests[i - 1].at, prompt = load.requests[i].prompt;
      mean += gap;
      square += gap * gap;
      tokens += prompt;
      tokens_square += prompt * prompt;
    }
    const double n = static_cast<double>(load.requests.size()) - 1;
    mean /= n;
    tokens /= n;
    CHECK(mean == Approx(0.05).epsilon(0.02));
    CHECK(std::sqrt(square / n - mean * mean) / mean == Approx(1 / std::sqrt(shape)).epsilon(0.03));
    CHECK(tokens == Approx(1000).epsilon(0.01));
    CHECK(std::sqrt(tokens_square / n - tokens * tokens) / tokens == Approx(0.5).epsilon(0.03));
  }
}

TEST_CASE("another rate has the same requests, sooner") {
  const RequestLoad slow = drawn_load({.rate = 1, .isl = 500, .osl = 100, .variation = 1, .count = 100}),
                    fast = drawn_load({.rate = 10, .isl = 500, .osl = 100, .variation = 1, .count = 100});
  for (std::size_t i = 0; i < 100; ++i) {
    CHECK(slow.requests[i].at == Approx(10 * fast.requests[i].at));
    CHECK(slow.requests[i].prompt == fast.requests[i].prompt);
    CHECK(slow.requests[i].answer == fast.requests[i].answer);
  }
}

TEST_CASE("a trace counts from its first request, and equal hashes are one block") {
  const WrittenFile file(R"({"timestamp": 5000, "input_length": 600, "output_length": 7, "hash_ids": [71, 52]}

{"timestamp": 5500.5, "input_length": 512, "output_length": 1, "hash_ids": [71], "session": "a"}
{"timestamp": 6000, "input_length": 1, "output_length": 2}
)",
                         "requests.jsonl");
  const RequestLoad load = read_requests(file.path());
  REQUIRE(load.requests.size() == 3);
  CHECK(load.requests[0].at == 0);
  CHECK(load.requests[1].at == Approx(0.5005));
  CHECK(load.requests[0].blocks == 2);
  CHECK(load.hashes == std::vector<std::uint32_t>{0, 1, 0});
  CHECK(load.rate == Approx(2));
}

TEST_CASE("what is no trace of requests is refused with its line") {
  const std::string good = R"({"timestamp": 10, "input_length": 5, "output_length": 5})"
                           "\n";
  CHECK_THAT(fault_of(""), Catch::Contains("has no requests"));
  CHECK_THAT(fault_of(good + "[]\n"), Catch::Contains(":2:") && Catch::Contains("no JSON object"));
  CHECK_THAT(fault_of(good + "{\"timestamp\": 11"), Catch::Contains(":2:"));
  CHECK_THAT(fault_of(good + good.substr(0, good.size() - 1) + " x\n"), Catch::Contains("something follows"));
  CHECK_THAT(fault_of(R"({"timestamp": 1, "input_length": 5})"), Catch::Contains("has no \"output_length\""));
  CHECK_THAT(fault_of(good + R"({"timestamp": 11, "input_length": 5, "output_length": 5, "input_length": 9})"),
             Catch::Contains(":2:") && Catch::Contains("\"input_length\" is given twice"));
  CHECK_THAT(fault_of(R"({"timestamp": "1", "input_length": 5, "output_length": 5})"), Catch::Contains("\"timestamp\" is no number"));
  CHECK_THAT(fault_of(R"({"timestamp": -1, "input_length": 5, "output_length": 5})"), Catch::Contains("timestamp -1"));
  CHECK_THAT(fault_of(R"({"timestamp": 1, "input_length": 0, "output_length": 5})"), Catch::Contains("input_length 0"));
  CHECK_THAT(fault_of(R"({"timestamp": 1, "input_length": 2.5, "output_length": 5})"), Catch::Contains("input_length 2.5"));
  CHECK_THAT(fault_of(R"({"timestamp": 1, "input_length": 5, "output_length": 1e30})"), Catch::Contains("output_length 1e+30"));
  CHECK_THAT(fault_of(good + R"({"timestamp": 9, "input_length": 5, "output_length": 5})"), Catch::Contains("before the request above"));
  CHECK_THAT(fault_of(R"({"timestamp": 1, "input_length": 5, "output_length": 5, "hash_ids": 3})"), Catch::Contains("is no list"));
  CHECK_THAT(fault_of(R"({"timestamp": 1, "input_length": 5, "output_length": 5, "hash_ids": [1, "a"]})"),
             Catch::Contains("whole numbers"));
  CHECK_THAT(fault_of(R"({"timestamp": 1, "input_length": 5, "output_length": 5, "hash_ids": [1, 2]})"),
             Catch::Contains("2 blocks of 512"));
}

TEST_CASE("a table of requests is refused with the line that is wanted, and timestamps with fractions are known") {
  const std::string table = fault_of("TIMESTAMP,ContextTokens,GeneratedTokens\n1,2,3\n");
  CHECK_THAT(table, Catch::Contains("\"input_length\": TOKENS"));
  CHECK_THAT(table, !Catch::Contains("write the file again"));
  RequestLoad whole, parts;
  CHECK(add_request(whole, 12, 5, 5).empty());
  CHECK(add_request(parts, 0.25, 5, 5).empty());
  CHECK_FALSE(whole.fractional);
  CHECK(parts.fractional);
}
