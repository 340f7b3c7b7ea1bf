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

TEST_CASE("explain names a NIC that two GPUs share") {
  const std::string text = told("dgx-1-v100", over(Collective::all_reduce, 2));
  CHECK(support::contains(text, "Shared: nic 0 of node 0 (out), 12.5 GB/s, by GPUs 0 and 1."));
  CHECK_FALSE(support::contains(text, "Shared: pcie"));  // rings and trees keep to the wires
}

TEST_CASE("explain names the port to the host that PCIe neighbours share") {
  CHECK(support::contains(told("l40s-pcie", over(Collective::all_reduce, 1)), "Shared: pcie port of GPUs 0 and 1 (up)"));
}

TEST_CASE("explain names the tapered tier and how many share it") {
  const std::string text = told("meta-24k-roce", over(Collective::all_to_all, 768));
  CHECK(support::contains(text, "Shared: spine up-link of nodes 0 to 383 (7:1)"));
  CHECK(support::contains(text, "by 3072 GPUs"));
}

TEST_CASE("explain names the trunk of a two-stage switch where it is narrower than what is below") {
  CHECK_FALSE(support::contains(told("dgx-2", over(Collective::all_to_all, 1)), "trunk"));  // as wide as the links
  const std::string text = told("dgx-2", over(Collective::all_to_all, 1), {"tiers.nvlink.oversubscription=2"});
  CHECK(support::contains(text, "Shared: nvlink trunk of GPUs 0 to 7 (up), 600 GB/s, by GPUs 0 to 7."));
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

TEST_CASE("explain names every tier that is crossed, the one at the top included") {
  const auto names = [](const std::string& name, int nodes) {
    std::string text = told(name, over(Collective::all_to_all, nodes));
    return text.substr(text.find("Where the numbers come from"));
  };
  // pods of 3,072 GPUs: 2 nodes below a ToR, 192 ToRs in a pod, pods under the core
  CHECK(support::contains(names("meta-24k-roce", 384), " spine "));
  CHECK_FALSE(support::contains(names("meta-24k-roce", 384), " core "));
  CHECK(support::contains(names("meta-24k-roce", 768), " core "));
  // and what the top one costs and brings is among the changes
  const System system = load_system("meta-24k-roce");
  const auto changed = [&](int nodes) {
    std::string out;
    for (const Sensitivity& s : sensitivities(system, over(Collective::all_to_all, nodes))) out += s.change + "; ";
    return out;
  };
  CHECK(support::contains(changed(768), "10 % more spine uplinks"));
  CHECK_FALSE(support::contains(changed(384), "core"));
  CHECK_FALSE(support::contains(changed(384), "spine uplinks"));  // inside a pod nothing passes the pod's uplinks
}
