/// \file rl.cpp
/// Reads data/workloads/rl.yaml.

#include "specs/reader.hpp"
#include "specs/store.hpp"

#include <fabricost/plan/specs/rl.hpp>

#include <initializer_list>

namespace fabricost::plan {

RlFacts load_rl_facts() {
  SpecStore store;
  const SpecNode tree = store.resolve("workloads", "rl");
  Faults faults;
  MapReader in(tree, "", faults);
  in.name("name", true);
  for (const char* key : {"date", "source", "confidence", "title"}) in.text(key);
  RlFacts out;
  struct Number {
    const char* key;
    double unit, min, max;
    double* into;
  };
  const auto section = [&](std::string_view key, std::initializer_list<Number> numbers) {
    const SpecNode* node = in.take(key, true);
    if (node == nullptr) return;
    MapReader one(*node, std::string{key}, faults);
    one.text("source", true);
    for (const Number& n : numbers) {
      (void)one.take(n.key, true);
      *n.into = n.unit * one.number(n.key, n.min, n.min, n.max);
    }
    one.finish();
  };
  section("length_spread", {{"of_log", 1, 0, 5, &out.length_spread}});
  section("load_rate", {{"gigabytes_per_second", 1e9, 1e-3, 1e6, &out.load_rate}});
  section("framework", {{"factor", 1, 0.2, 10, &out.framework}, {"spread", 1, 0, 3, &out.framework_spread}});
  in.finish();
  faults.raise();
  return out;
}

}  // namespace fabricost::plan
