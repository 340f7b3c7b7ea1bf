/// \file rl.cpp
/// Reads data/workloads/rl.yaml.

#include "specs/reader.hpp"
#include "specs/store.hpp"

#include <fabricost/specs/rl.hpp>

namespace fabricost {

RlFacts load_rl_facts() {
  io::SpecStore store;
  const io::SpecNode tree = store.resolve("workloads", "rl");
  io::Faults faults;
  io::MapReader in(tree, "", faults);
  in.name("name", true);
  for (const char* key : {"date", "source", "confidence", "title"}) in.text(key);
  RlFacts out;
  const auto number = [&](std::string_view section, std::string_view key, double unit, double max) {
    const io::SpecNode* node = in.take(section, true);
    if (node == nullptr) return 0.0;
    io::MapReader one(*node, std::string{section}, faults);
    one.text("source", true);
    const double value = unit * one.number(key, 0, 0, max);
    one.finish();
    return value;
  };
  out.length_spread = number("length_spread", "of_log", 1, 5);
  out.load_rate = number("load_rate", "gigabytes_per_second", 1e9, 1e6);
  in.finish();
  faults.raise();
  return out;
}

}  // namespace fabricost
