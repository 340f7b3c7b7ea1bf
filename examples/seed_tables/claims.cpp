/// \file claims.cpp
/// The summary: claims by topic and by text.

#include "claims.hpp"
#include "page.hpp"

#include <fmt/format.h>

namespace seed_tables {

namespace {

// right, misleading, wrong, unverifiable
constexpr ClaimCount topics[] = {{"tiers and their ratios", 7, 8, 5, 3, "1"},
                                 {"topology and domains", 13, 7, 3, 1, "2, 9"},
                                 {"NVSwitch", 18, 6, 6, 0, "2"},
                                 {"racks, power, TPU, AMD", 4, 3, 1, 1, "2"},
                                 {"NVLink", 21, 5, 7, 0, "3"},
                                 {"PCIe", 12, 3, 4, 2, "3"},
                                 {"InfiniBand and RoCE", 16, 7, 8, 1, "1, 3"},
                                 {"UALink", 2, 1, 0, 2, "3"},
                                 {"all-reduce", 9, 6, 13, 0, "4"},
                                 {"NCCL benchmark", 3, 3, 3, 0, "4"},
                                 {"tensor-parallel overhead", 5, 7, 6, 0, "5"},
                                 {"GPU pairs and offload", 7, 4, 2, 1, "6"},
                                 {"memory, MoE, KV cache", 10, 10, 1, 1, "7"},
                                 {"strategy and pipelines", 9, 4, 6, 0, "7"},
                                 {"scaling and cost", 3, 9, 3, 3, "8"},
                                 {"`topo -m`", 3, 1, 1, 0, "9"}};

constexpr ClaimCount texts[] = {
    {"000", 9, 8, 1, 1}, {"001", 65, 37, 45, 6}, {"002", 19, 10, 2, 6}, {"003", 31, 26, 20, 2}, {"004", 18, 3, 1, 0}};

}  // namespace

std::span<const ClaimCount> claims_by_topic() { return topics; }
std::span<const ClaimCount> claims_by_text() { return texts; }

ClaimCount sum(std::span<const ClaimCount> counts) {
  ClaimCount out{.topic = "all"};
  for (const ClaimCount& c : counts) {
    out.right += c.right;
    out.misleading += c.misleading;
    out.wrong += c.wrong;
    out.unverifiable += c.unverifiable;
  }
  return out;
}

std::string claim_summary() {
  const ClaimCount all = sum(topics);
  std::string out = fmt::format(
      "The five texts make {} claims that can be told apart. **{} are reproduced**; **{} are corrected**, of which {} needed a "
      "qualification (the figure means something else, or holds in part) and {} another figure; **{} cannot be "
      "verified**. The tables above carry those with numbers. The counts come "
      "from reading the texts sentence by sentence.\n\n",
      all.all(), all.right, all.misleading + all.wrong, all.misleading, all.wrong, all.unverifiable);
  const auto table = [&](std::string_view heading, std::span<const ClaimCount> counts, bool where) {
    out += fmt::format("| {} | claims | reproduced | qualified | corrected | not checkable |{}\n|---|---|---|---|---|---|{}\n", heading,
                       where ? " section |" : "", where ? "---|" : "");
    const auto line = [&](const ClaimCount& c) {
      out += fmt::format("| {} | {} | {} | {} | {} | {} |", c.topic, c.all(), c.right, c.misleading, c.wrong, c.unverifiable);
      if (where) out += fmt::format(" {} |", c.where);
      out += "\n";
    };
    for (const ClaimCount& c : counts) line(c);
    line(sum(counts));
    out += "\n";
  };
  table("topic", topics, true);
  table("text", texts, false);
  return out;
}

}  // namespace seed_tables
