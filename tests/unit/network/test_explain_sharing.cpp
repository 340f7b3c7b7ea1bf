// explain names the link that is shared and who shares it, and is silent where nothing is.
#include "catch.hpp"
#include "support/message_of.hpp"

#include <fabricost/explain/explain.hpp>
#include <fabricost/specs/load.hpp>

#include <algorithm>

using namespace fabricost::core;

namespace {

/// On one line, so that breaks between words do not matter.
std::string told(const std::string& name, const Operation& op, std::vector<std::string> set = {}) {
  std::string text = explain(load_system(name, set), op);
  std::string out;
  for (const char c : text)
    if (!(c == ' ' || c == '\n') || (!out.empty() && out.back() != ' ')) out += c == '\n' ? ' ' : c;
  return out;
}
Operation over(Collective c, int nodes) { return {.collective = c, .bytes = units::MiB(256), .nodes = nodes}; }

}  // namespace

TEST_CASE("explain names the tapered tier and how many share it") {
  const std::string text = told("meta-24k-roce", over(Collective::all_to_all, 768));
  CHECK(support::contains(text, "Shared: spine up-link of nodes 0 to 383 (7:1)"));
  CHECK(support::contains(text, "by 3072 GPUs"));
}

TEST_CASE("explain says nothing of sharing where every GPU has its own way") {
  for (const int nodes : {1, 4}) CHECK_FALSE(support::contains(told("dgx-h100", over(Collective::all_reduce, nodes)), "Shared:"));
  CHECK_FALSE(support::contains(told("meta-24k-roce", over(Collective::all_to_all, 384)), "Shared:"));  // one pod
  CHECK_FALSE(support::contains(told("dgx-h100", {.collective = Collective::send_recv, .bytes = units::MiB(1), .path = Path::gpu_host}),
                                "Shared:"));
}

TEST_CASE("explain still answers for machines no link list can be made of") {
  CHECK_FALSE(told("meta-24k-roce", over(Collective::all_reduce, 6000)).empty());
  CHECK_FALSE(told("dgx-h100", over(Collective::all_reduce, 2), {"nic.endpoints=9000000"}).empty());
  for (const SystemName& s : system_names()) {
    const System system = load_system(s.name);
    INFO(s.name);
    CHECK_FALSE(explain(system, over(Collective::all_reduce, 0)).empty());
  }
}
