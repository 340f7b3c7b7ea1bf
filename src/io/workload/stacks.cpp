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
  s.tensor_exposed = in.number("tensor_exposed", s.tensor_exposed, 0, 1);
  s.data_exposed = in.number("data_exposed", s.data_exposed, 0, 1);
  s.context_exposed = in.number("context_exposed", s.context_exposed, 0, 1);
  s.expert_exposed = in.number("expert_exposed", s.expert_exposed, 0, 1);
  s.gradient_bytes = in.number("gradient_bytes", s.gradient_bytes, 1, 8);
  s.accumulation_bytes = in.number("accumulation_bytes", s.accumulation_bytes, 0, 200);
  s.shard_exposed = in.number("shard_exposed", s.shard_exposed, 0, 1);
  s.compute_share = in.fraction("compute_share", s.compute_share);
  s.deduplicated = in.flag("deduplicated", s.deduplicated);
  s.scale = in.number("scale", s.scale, 0.2, 5);
  s.spread = in.number("spread", s.spread, 0.01, 2);
  in.finish();
  return out;
}

/// What published runs say of a stack as a whole (data/calibrations/stacks.yaml): its factor, what is left, on which generations.
void add_fitted(NamedStack& into, const SpecNode& tree, bool own_scale, Faults& faults) {
  MapReader in(tree, "", faults);
  for (const char* told : {"name", "title", "date", "notes"}) in.text(told);
  if (const SpecNode* list = in.take("stacks", true)) {
    MapReader stacks(*list, "stacks", faults);
    for (const auto& [key, mark, value] : list->entries) {
      stacks.take(key);
      if (key != into.stack.name) continue;
      MapReader one(value, "stacks." + key, faults);
      const double scale = one.number("scale", 1, 0.2, 5);
      if (!own_scale) into.stack.scale = scale;
      into.stack.spread = one.number("spread", into.stack.spread, 0.01, 2);
      one.count("rows", 0, 0, 1000000);
      for (const SpecNode* item : one.texts("generations"))
        if (const auto g = detail::parse_enum<Generation>(item->text, generation_names)) into.stack.seen.push_back(*g);
      one.finish();
    }
    stacks.finish();
  }
  in.finish();
}

NamedStack load(SpecStore& library, std::string_view name_or_path) {
  Faults faults;
  const SpecNode tree = library.resolve("stacks", name_or_path);
  NamedStack out = read_stack(tree, faults);
  if (!library.find("calibrations", "stacks").empty())
    add_fitted(out, library.resolve("calibrations", "stacks"), tree.find("scale") != nullptr, faults);
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

TrainingGroups load_training_groups() {
  io::SpecStore library;
  io::Faults faults;
  const io::SpecNode tree = library.resolve("measurements", "training-groups");
  io::MapReader in(tree, "", faults);
  for (const char* told : {"name", "title", "notes"}) in.text(told);
  TrainingGroups out;
  for (const io::SpecNode* item : in.texts("judged")) out.judged.push_back(item->text);
  for (const io::SpecNode* item : in.texts("fitted")) out.fitted.push_back(item->text);
  for (const io::SpecNode* item : in.texts("kernels")) out.kernels.push_back(item->text);
  if (const io::SpecNode* list = in.take("set_aside", true)) {
    io::MapReader aside(*list, "set_aside", faults);
    for (const auto& [key, mark, value] : list->entries) {
      aside.take(key);
      out.set_aside.emplace_back(key, value.text);
    }
    aside.finish();
  }
  in.finish();
  faults.raise();
  return out;
}

Stack published_kernels(std::string_view group) {
  io::SpecStore library;
  io::NamedStack out;
  out.stack = Stack{.name = std::string{group}};
  if (library.find("calibrations", "stacks").empty()) return out.stack;
  io::Faults faults;
  io::add_fitted(out, library.resolve("calibrations", "stacks"), false, faults);
  faults.raise();
  return out.stack;
}

std::vector<std::string> stack_names() { return names_in("stacks"); }

}  // namespace fabricost
