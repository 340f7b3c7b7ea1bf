#include <fabricost/plan/explain/memory.hpp>

#include <catch.hpp>

#include <cmath>
#include <regex>
#include <string>

using namespace fabricost::plan;

namespace {

constexpr double gib = 1073741824.0;

Model llama405b() {
  Model m;
  m.name = "llama3.1-405b";
  m.layers = 126;
  m.hidden = 16384;
  m.heads = 128;
  m.kv_heads = 8;
  m.head_dim = 128;
  m.vocab = 128256;
  m.ffn = 53248;
  return m;
}

Layout on_16384() {
  Layout l;
  l.tp = 8;
  l.pp = 16;
  l.dp = 128;
  l.global_batch = 2048;
  l.sequence = 8192;
  l.sequence_parallel = true;
  l.zero = 1;
  return l;
}

}  // namespace

TEST_CASE("the items printed add up to the total printed") {
  const std::string text = memory_text(llama405b(), on_16384(), MemoryStack{}, 141 * gib);
  INFO(text);
  CHECK(text.find("of stage 2 of 16, the fullest") != std::string::npos);
  CHECK(text.find("fits, ") != std::string::npos);
  const std::regex number("([0-9]+\\.[0-9]+) GiB");
  std::vector<double> values;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), number); at != std::sregex_iterator(); ++at)
    values.push_back(std::stod((*at)[1]));
  REQUIRE(values.size() >= 8);
  const double left = values.back(), total = values[values.size() - 2];
  double sum = 0;
  for (std::size_t i = 0; i + 2 < values.size(); ++i) {
    sum += values[i];
    if (i > 0) CHECK(values[i] <= values[i - 1]);
  }
  CHECK(std::abs(sum - total) < 0.06);
  CHECK(std::abs(total + left - 141) < 0.02);
}

TEST_CASE("what does not fit comes with the change that does") {
  const std::string text = memory_text(llama405b(), on_16384(), MemoryStack{}, 80 * gib, 0.05);
  INFO(text);
  CHECK(text.find("GiB too much\n  fits with ") != std::string::npos);
}

TEST_CASE("a capacity or margin that is none is refused") {
  CHECK_THROWS_AS(memory_text(llama405b(), on_16384(), MemoryStack{}, 0), RequestError);
  CHECK_THROWS_AS(memory_text(llama405b(), on_16384(), MemoryStack{}, NAN), RequestError);
  CHECK_THROWS_AS(memory_text(llama405b(), on_16384(), MemoryStack{}, 80 * gib, 1), RequestError);
}
