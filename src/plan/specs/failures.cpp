/// Reads data/workloads/reliability.yaml.

#include "specs/reader.hpp"
#include "specs/store.hpp"
#include "text/joined.hpp"

#include <fabricost/plan/specs/failures.hpp>

#include <fmt/format.h>

#include <array>

namespace fabricost::plan {
namespace {

constexpr std::array<std::string_view, 4> parts{"gpu", "network", "host", "software"};

FailureFleet read_fleet(const std::string& name, MapReader& in) {
  FailureFleet out;
  out.name = name;
  out.title = in.text("title");
  out.source = in.text("source", true);
  in.text("system");
  out.gpus = in.number("gpus", 8, 1, 1e7);
  out.gpus_per_node = in.number("gpus_per_node", 8, 1, 1024);
  out.days = in.number("days", 0, 0, 1e5);
  out.planned = in.number("planned", 0, 0, 1e9);
  in.each_item("causes", [&](MapReader& one) {
    FailureCause& cause = out.causes.emplace_back();
    cause.cause = one.text("cause", true);
    cause.part = one.one_of("part", parts, true);
    cause.count = one.number("count", 0, 0, 1e9);
  });
  if (in.has("failures_per_thousand_node_days"))
    out.rate = FailureRate::per_thousand_node_days(in.number("failures_per_thousand_node_days", 0, 0, 1e6));
  else if (out.days > 0 && !out.causes.empty())
    out.rate = FailureRate::counted(out.failures(), out.days, out.gpus, out.gpus_per_node);
  else
    in.fault(in.node(), "days", "no rate and nothing it follows from",
             "give failures_per_thousand_node_days, or days and causes with counts");
  return out;
}

}  // namespace

const FailureFleet& FailureFacts::fleet(std::string_view name) const {
  std::vector<std::string> names;
  for (const FailureFleet& f : fleets) {
    if (f.name == name) return f;
    names.push_back(f.name);
  }
  throw RequestError(
      fmt::format("\"{}\" is no fleet whose failures are known; write one of {}", clipped(std::string{name}), joined(names)));
}

FailureFacts load_failure_facts() {
  FailureFacts out;
  read_document(SpecStore{}.resolve("workloads", "reliability"), [&](MapReader& in) {
    in.name("name", true);
    in.text("date");
    in.needed_section("fleets", [&](MapReader& fleets) {
      fleets.each_entry([&](const std::string& name, MapReader& fleet) { out.fleets.push_back(read_fleet(name, fleet)); });
    });
    const auto section = [&](std::string_view key, std::initializer_list<std::pair<const char*, std::pair<double*, double>>> fields) {
      in.needed_section(key, [&](MapReader& one) {
        for (const auto& [field, into] : fields) *into.first = into.second * one.number(field, 0, 0, 1e6);
      });
    };
    section("recovery", {{"minutes", {&out.recovery, 60}}});
    section("checkpoint", {{"seconds", {&out.stall, 1}}});
    section("checkpoint_in_background", {{"seconds", {&out.background_stall, 1}}, {"drain_seconds", {&out.background_drain, 1}}});
    section("repair", {{"hours", {&out.repair, 3600}}});
  });
  return out;
}

}  // namespace fabricost::plan
