/// The items of a GPU's memory as text.

#include "text/joined.hpp"
#include "text/text_table.hpp"

#include <fabricost/error.hpp>
#include <fabricost/explain/assumptions.hpp>
#include <fabricost/plan/explain/memory.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace fabricost::plan {

namespace {

struct Item {
  const char* name;
  double bytes;
  std::string about;
};

void sort_by_size(auto& items) {
  std::erase_if(items, [](const auto& item) { return !(item.bytes > decltype(item.bytes){}); });
  std::stable_sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
}

std::string sharded(const Layout& l, int from) {
  return l.zero >= from && shard_ranks(l) > 1 ? fmt::format("over {} ranks", shard_ranks(l)) : std::string();
}

std::vector<Item> items_of(const MemoryUse& use, const Layout& l) {
  return {{"weights", use.weights, sharded(l, 3)},
          {"frozen model", use.frozen, sharded(l, 3)},
          {"gradients", use.gradients, sharded(l, 2)},
          {"optimizer", use.optimizer, sharded(l, 1)},
          {"activations", use.activations,
           fmt::format("{:.3g} microbatch{} in flight, recompute {}", use.in_flight, use.in_flight == 1 ? "" : "es",
                       recompute_text(l))},
          {"recompute", use.recompute, "of one layer"},
          {"embedding and head", use.vocabulary, "logits, inputs, masks"},
          {"buffers", use.buffers, "buckets, gathered layers, pipe"},
          {"communicators", use.communicators, counted(communicators_of(l), "group")},
          {"runtime", use.runtime, "context, libraries"},
          {"fragmentation", use.fragmentation, ""}};
}

}  // namespace

std::vector<MemoryPart> parts_of(const MemoryUse& use) {
  std::vector<MemoryPart> out;
  for (const Item& item : items_of(use, {})) out.push_back({item.name, units::B(item.bytes)});
  sort_by_size(out);
  return out;
}

std::string names_of(SetOf<RecomputeModule> modules) {
  std::string out;
  for (std::size_t i = 0; i < recompute_module_names.size(); ++i)
    if (modules.has(static_cast<RecomputeModule>(i))) out += (out.empty() ? "" : ",") + std::string{recompute_module_names[i]};
  return out;
}

std::string recompute_text(const Layout& layout) {
  std::string out{recompute_names[static_cast<std::size_t>(layout.recompute)]};
  if (layout.recompute == Recompute::selective && !layout.recompute_modules.empty()) out += " " + names_of(layout.recompute_modules);
  if (layout.recompute == Recompute::full && layout.recompute_layers > 0) out += fmt::format(", {} layers", layout.recompute_layers);
  if (!layout.recompute_by_stage.empty()) {
    const auto& all = layout.recompute_by_stage;
    const auto last = std::find_if(all.rbegin(), all.rend(), [](int n) { return n > 0; }).base();
    out += fmt::format(", {} layers of the first stages", joined({all.data(), static_cast<std::size_t>(last - all.begin())}, ","));
  }
  if (layout.recompute == Recompute::full && layout.offload_layers > 0) out += ", inputs on the host";
  if (layout.offload_optimizer > 0) out += fmt::format(", {:.0f} % of states on the host", 100 * layout.offload_optimizer);
  return out;
}

std::string memory_text(const Model& model, const Layout& layout, const MemoryStack& stack, double capacity, double margin, int max_tp,
                        double host, double outer) {
  if (!(std::isfinite(capacity) && capacity > 0)) throw RequestError("memory of a GPU must be above 0 bytes");
  if (!(margin >= 0 && margin < 1)) throw RequestError(fmt::format("the margin must be from 0 to 1, not {}", margin));
  const MemoryUse use = worst_stage(model, layout, stack);
  std::vector<Item> items = items_of(use, layout);
  items.push_back({"outer optimizer", outer, "of the sites, used once a round"});
  sort_by_size(items);
  std::string out = layout.pp > 1 ? fmt::format("Memory of a GPU of stage {} of {}, the fullest\n", use.stage + 1, layout.pp)
                                  : std::string("Memory of a GPU\n");
  const double total = use.total() + outer, room = capacity * (1 - margin);
  for (const Item& item : items)
    out += wrapped(fmt::format("  {:<20}{:>9.2f} GiB {:>5.1f} %{}", item.name, item.bytes / gibibyte, 100 * item.bytes / total,
                               item.about.empty() ? "" : "  "),
                   item.about);
  out += wrapped(fmt::format("  {:<20}{:>9.2f} GiB ", "total", total / gibibyte),
                 fmt::format("of {:.2f}{}: {}", room / gibibyte,
                             margin > 0 ? fmt::format(" ({:.2f} less {:.3g} %)", capacity / gibibyte, 100 * margin) : "",
                             total <= room ? fmt::format("fits, {:.2f} GiB left", (room - total) / gibibyte)
                                           : fmt::format("{:.2f} GiB too much", (total - room) / gibibyte)));
  const bool short_of_host = host > 0 && use.host > host;
  if (use.host > 0)
    out += fmt::format("  {:<20}{:>9.2f} GiB{}\n", "in host memory", use.host / gibibyte,
                       host > 0 ? fmt::format(" of {:.2f}, a GPU's share{}", host / gibibyte, short_of_host ? ": too much" : "")
                                : std::string{"; how much the host has is not stated"});
  if (total <= room && !short_of_host) return out;
  return out + "  " + smallest_change_that_fits(model, layout, stack, capacity, margin, max_tp, host).sentence + "\n";
}

}  // namespace fabricost::plan
