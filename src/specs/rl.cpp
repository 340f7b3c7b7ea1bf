/// \file rl.cpp
/// Reads data/workloads/rl.yaml.

#include "specs/reader.hpp"
#include "specs/store.hpp"

#include <fabricost/specs/rl.hpp>

#include <initializer_list>
#include <utility>

namespace fabricost {

RlFacts load_rl_facts() {
  io::SpecStore store;
  const io::SpecNode tree = store.resolve("workloads", "rl");
  io::Faults faults;
  io::MapReader in(tree, "", faults);
  in.name("name", true);
  for (const char* key : {"date", "source", "confidence", "title"}) in.text(key);
  RlFacts out;
  /// The numbers of a section, each with its unit.
  const auto section = [&](std::string_view key, std::initializer_list<std::pair<const char*, std::pair<double*, double>>> numbers) {
    const io::SpecNode* node = in.take(key, true);
    if (node == nullptr) return;
    io::MapReader one(*node, std::string{key}, faults);
    one.text("source", true);
    for (const auto& [name, into] : numbers) *into.first = into.second * one.number(name, 0, 0, 1e6);
    one.finish();
  };
  section("length_spread", {{"of_log", {&out.length_spread, 1}}});
  section("load_rate", {{"gigabytes_per_second", {&out.load_rate, 1e9}}});
  section("framework", {{"factor", {&out.framework, 1}}, {"spread", {&out.framework_spread, 1}}});
  in.finish();
  faults.raise();
  return out;
}

}  // namespace fabricost
