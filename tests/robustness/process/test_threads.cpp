// Threads that load and predict at once: each gets the result of one thread alone. Built with -fsanitize=thread it also finds races.
#include "catch.hpp"

#include "answers.hpp"

#include <fabricost/specs/data_directory.hpp>

#include <atomic>
#include <thread>

using namespace process;

TEST_CASE("eight threads load and predict what one does", "[process]") {
  constexpr int threads = 8;
  std::vector<std::string> names;
  for (const SystemName& one : system_names()) names.push_back(one.name);
  const std::size_t step = std::max<std::size_t>(1, names.size() / 8);
  std::vector<std::string> alone;
  for (std::size_t i = 0; i < names.size(); i += step) alone.push_back(told(names[i]));
  std::vector<std::atomic<int>> different(threads);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      if (t == 0) use_data_directory(data_directory());  // what the Python package does at import, at any time
      for (std::size_t k = 0; k < alone.size(); ++k) {
        const std::size_t i = (k + static_cast<std::size_t>(t) * 3) % alone.size();
        if (told(names[i * step]) != alone[i]) ++different[static_cast<std::size_t>(t)];
      }
    });
  for (std::thread& one : running) one.join();
  for (const std::atomic<int>& count : different) CHECK(count == 0);
}

TEST_CASE("threads that fail at once each get their own error", "[process]") {
  std::atomic<int> wrong{0};
  std::vector<std::thread> running;
  for (int t = 0; t < 8; ++t)
    running.emplace_back([&wrong, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string name = "no-such-" + std::to_string(t) + "-" + std::to_string(i);
        if (refusal([&] { (void)load_system(name); }).find(name) == std::string::npos) ++wrong;
      }
    });
  for (std::thread& one : running) one.join();
  CHECK(wrong == 0);
}
