// Software stacks: data/stacks/*.yaml.
#include "io/workload/stacks.hpp"

#include "io/spec_store.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::io {

namespace {

NamedStack read_stack(const SpecNode& tree, Faults& faults) {
  MapReader in(tree, "", faults);
  in.take("extends");
  in.text("notes");
  NamedStack out;
  Stack& s = out.stack;
  s.name = in.name("name", true);
  s.title = in.text("title");
  for (const SpecNode* item : in.texts("published")) {
    const auto point = item->text.find(':');
    PublishedBy by{item->text.substr(0, point), ""};
    if (point != std::string::npos) by.word = item->text.substr(item->text.find_first_not_of(' ', point + 1));
    out.published.push_back(std::move(by));
  }
  s.attention = in.choice("attention", attention_kernel_names, s.attention);
  s.old_kernels = in.flag("old_kernels", s.old_kernels);
  s.eager_loss = in.flag("eager_loss", s.eager_loss);
  s.tensor_exposed = in.fraction("tensor_exposed", s.tensor_exposed);
  s.data_exposed = in.fraction("data_exposed", s.data_exposed);
  s.context_exposed = in.fraction("context_exposed", s.context_exposed);
  s.expert_exposed = in.fraction("expert_exposed", s.expert_exposed);
  s.gradient_bytes = in.number("gradient_bytes", s.gradient_bytes, 1, 8);
  s.accumulation_bytes = in.number("accumulation_bytes", s.accumulation_bytes, 0, 200);
  s.shard_exposed = in.fraction("shard_exposed", s.shard_exposed);
  s.deduplicated = in.flag("deduplicated", s.deduplicated);
  s.scale = in.number("scale", s.scale, 0.2, 5);
  s.spread = in.number("spread", s.spread, 0.01, 2);
  in.finish();
  return out;
}

NamedStack load(SpecStore& library, std::string_view name_or_path) {
  Faults faults;
  NamedStack out = read_stack(library.resolve("stacks", name_or_path), faults);
  faults.raise();
  return out;
}

}  // namespace

std::vector<NamedStack> shipped_stacks() {
  SpecStore library;
  std::vector<NamedStack> out;
  for (const std::string& name : names_in("stacks")) out.push_back(load(library, name));
  return out;
}

const NamedStack& stack_of(const std::vector<NamedStack>& stacks, std::string_view group, std::string_view text) {
  const NamedStack* best = nullptr;
  std::size_t closeness = 0;
  for (const NamedStack& s : stacks) {
    if (best == nullptr && s.stack.name == Stack{}.name) best = &s;
    for (const PublishedBy& by : s.published) {
      if (!group.starts_with(by.group) || (!by.word.empty() && text.find(by.word) == std::string_view::npos)) continue;
      const std::size_t close = 2 * by.group.size() + (by.word.empty() ? 0 : 1);
      if (close > closeness) best = &s, closeness = close;
    }
  }
  if (best == nullptr) throw RequestError(fmt::format("data/stacks has no {}", Stack{}.name));
  return *best;
}

}  // namespace fabricost::io

namespace fabricost {

Stack load_stack(std::string_view name_or_path) {
  io::SpecStore library;
  return io::load(library, name_or_path).stack;
}

std::vector<std::string> stack_names() { return names_in("stacks"); }

}  // namespace fabricost
