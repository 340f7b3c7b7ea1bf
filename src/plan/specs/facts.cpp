/// Reads the files of data/workloads that hold a few numbers, each with its source: rl.yaml and sites.yaml.

#include "specs/reader.hpp"
#include "specs/store.hpp"

#include <fabricost/plan/specs/rl.hpp>
#include <fabricost/plan/specs/sites.hpp>

#include <initializer_list>
#include <utility>

namespace fabricost::plan {
namespace {

struct Number {
  const char* key;
  double unit, min, max;
  double* into;
};

void read_numbers(std::string_view file, std::initializer_list<std::pair<std::string_view, std::initializer_list<Number>>> sections) {
  read_document(SpecStore{}.resolve("workloads", file), [&](MapReader& in) {
    in.name("name", true);
    for (const char* key : {"date", "source", "confidence", "title"}) in.text(key);
    for (const auto& section : sections)
      in.needed_section(section.first, [&](MapReader& one) {
        one.text("source", true);
        for (const Number& n : section.second) {
          (void)one.take(n.key, true);
          *n.into = n.unit * one.number(n.key, n.min, n.min, n.max);
        }
      });
  });
}

}  // namespace

RlFacts load_rl_facts() {
  RlFacts out;
  read_numbers("rl", {{"length_spread", {{"of_log", 1, 0, 5, &out.length_spread}}},
                      {"load_rate", {{"gigabytes_per_second", 1e9, 1e-3, 1e6, &out.load_rate}}},
                      {"framework", {{"factor", 1, 0.2, 10, &out.framework}, {"spread", 1, 0, 3, &out.framework_spread}}}});
  return out;
}

SiteFacts load_site_facts() {
  SiteFacts out;
  read_numbers("sites", {{"fibre", {{"microseconds_per_km", 1e-6, 3, 10, &out.delay}}},
                         {"round", {{"steps", 1, 1, 1e6, &out.steps}}},
                         {"loss",
                          {{"data_parallel", 1, 1e-3, 1e6, &out.plain},
                           {"data_parallel_power", 1, 1e-3, 1, &out.plain_power},
                           {"diloco", 1, 1e-3, 1e6, &out.outer},
                           {"diloco_power", 1, 1e-3, 1, &out.outer_power},
                           {"sites_power", 1, 0, 1, &out.sites_power},
                           {"largest", 1, 1e6, 1e15, &out.largest},
                           {"most_sites", 1, 2, 1e6, &out.most_sites}}}});
  return out;
}

}  // namespace fabricost::plan
