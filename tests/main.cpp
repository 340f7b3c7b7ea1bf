// Catch2's main, version 2 or 3. It says which test cases were skipped; if any was and none failed, it ends with status 77.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Listener = Catch::EventListenerBase;
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
using Listener = Catch::TestEventListenerBase;
#endif

#include "support/skipped.hpp"

#include <iostream>
#include <vector>

namespace {

struct Skipped {
  std::string name, why;
};

std::string running, tags;
std::vector<Skipped> skipped;

struct RunningCase : Listener {
  using Listener::Listener;
  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    running = info.name;
    tags = info.tagsAsString();
  }
};
CATCH_REGISTER_LISTENER(RunningCase)

}  // namespace

void fabricost::test::skip_case(const std::string& why) { skipped.push_back({running, why}); }

bool fabricost::test::running_case_has(std::string_view tag) { return tags.find(tag) != std::string::npos; }

int main(int argc, char** argv) {
  const int status = Catch::Session().run(argc, argv);
  for (const auto& [name, why] : skipped) std::cout << "skipped: " << name << ": " << why << '\n';
  if (!skipped.empty()) std::cout << "test cases that were skipped and tested nothing: " << skipped.size() << '\n';
  constexpr int skip = 77;
  if (status != 0) return 1;  // Catch2 returns how many assertions failed, and 77 of them are no skip
  return skipped.empty() ? 0 : skip;
}
