#include "text/error_histogram.hpp"

#include <catch.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

using fabricost::core::error_histogram;

namespace {

std::vector<std::string> lines(const std::vector<double>& errors) {
  std::istringstream in(error_histogram(errors));
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}
/// Points counted in each bin, from the lowest up.
std::vector<int> counts(const std::vector<double>& errors) {
  std::vector<int> out;
  const auto all = lines(errors);
  for (std::size_t i = 1; i < all.size(); ++i) {
    std::istringstream in(all[i].substr(all[i].find_first_not_of(' ')));
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    out.push_back(std::stoi(words.at(words.at(1) == "to" ? 3 : 2)));
  }
  return out;
}
long bar(const std::string& line) { return std::count(line.begin(), line.end(), '#'); }

}  // namespace

TEST_CASE("errors are counted with their sign, each bin with its lower end", "[histogram]") {
  CHECK(counts({-0.6, -0.5, -0.3, -0.25, -0.1, -0.05, -0.02, 0, 0.0199, 0.02, 0.05, 0.1, 0.25, 0.5, 7}) ==
        std::vector<int>{1, 2, 1, 1, 1, 3, 1, 1, 1, 1, 2});
}

TEST_CASE("every error is in one bin", "[histogram]") {
  std::vector<double> errors;
  for (int i = -200; i <= 200; ++i) errors.push_back(0.005 * i);
  int sum = 0;
  for (const int count : counts(errors)) sum += count;
  CHECK(sum == 401);
}

TEST_CASE("bars are as long as their share of the fullest bin, and whatever is there shows", "[histogram]") {
  std::vector<double> errors(1000, 0.0);
  errors.insert(errors.end(), 500, 0.03);
  errors.push_back(0.9);
  const auto all = lines(errors);
  REQUIRE(all.size() == 12);
  CHECK(bar(all[6]) == 2 * bar(all[7]));
  CHECK(bar(all[11]) == 1);
  CHECK(bar(all[1]) == 0);
}

TEST_CASE("the histogram keeps within 100 columns whatever the counts", "[histogram]") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3000000}})
    for (const std::string& line : lines(std::vector<double>(count, -0.3))) CHECK(line.size() <= 100);
}
