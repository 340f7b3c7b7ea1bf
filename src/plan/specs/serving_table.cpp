/// Serving frameworks and their fitted constants: data/workloads/serving-stacks.yaml and serving.yaml.

#include "specs/store.hpp"
#include "text/amounts.hpp"
#include "text/joined.hpp"

#include <fabricost/parameters/interval.hpp>
#include <fabricost/plan/serving/parameters.hpp>
#include <fabricost/plan/specs/serving.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::plan {

namespace {

template <class T, std::size_t N>
void read_constants(MapReader& in, T& into, const std::array<ServingParameter<T>, N>& parameters) {
  for (const ServingParameter<T>& p : parameters) {
    if (!p.time) {
      into.*p.member = in.number(p.key, into.*p.member, p.min, p.max);
    } else if (const SpecNode* given = in.take(p.key)) {
      const auto seconds = parse_duration(given->text);
      if (!seconds || *seconds < p.min || *seconds > p.max)
        in.fault(*given, p.key,
                 fmt::format("\"{}\" is no time from {} to {}", given->text.substr(0, 40), short_time_text(p.min), short_time_text(p.max)),
                 "write a number with us, ms or s, as in \"6.2 us\"");
      else
        into.*p.member = *seconds;
    }
  }
}

/// Kernels of dispatch and combine by name.
void read_kernels(MapReader& in, std::string_view key, std::vector<MoeKernel>& into) {
  if (!in.has(key)) return;
  into.clear();
  for (const SpecNode* item : in.texts(key)) {
    const auto kernel = parse_moe_kernel(item->text);
    if (kernel)
      into.push_back(*kernel);
    else
      in.fault(*item, key, fmt::format("\"{}\" is no kernel of dispatch and combine", item->text.substr(0, 40)),
               fmt::format("one of {}", joined(moe_kernel_names)));
  }
}

ServingStack read_stack(MapReader& in, const std::string& name) {
  in.text("notes");
  ServingStack s;
  s.name = name;
  s.title = in.text("title");
  for (const char* key : {"published", "length", "settings"}) (void)in.take(key);  // of published runs: fabricost.evaluation
  s.chunk = in.number("chunk", s.chunk, 1, 1e7);
  s.memory_share = in.fraction("memory_share", s.memory_share);
  s.cache_share = in.fraction("cache_share", s.cache_share);
  s.overlaps = in.flag("overlaps", s.overlaps);
  s.captured = in.number("captured", s.captured, 0, 1e7);
  s.poll = in.number("poll", s.poll, 1, 1e5);
  s.hold_steps = in.number("hold_steps", s.hold_steps, 0, 1e5);
  s.hold_tokens = in.number("hold_tokens", s.hold_tokens, 0, 1e7);
  s.together = in.number("together", s.together, 0, 1e5);
  s.vendors = in.plain_texts("vendors");
  s.kernels.reduce.library = in.choice("library", inference_library_names, s.kernels.reduce.library);
  s.kernels.reduce.version = version_number(in.text("version"));
  read_kernels(in, "experts_prefill", s.kernels.experts_prefill);
  read_kernels(in, "experts_decode", s.kernels.experts_decode);
  s.kernels.gathers = in.flag("gathers", s.kernels.gathers);
  s.kernels.divides_experts = in.flag("divides_experts", s.kernels.divides_experts);
  s.drafts = in.count("drafts", s.drafts, 0, 16);
  s.acceptance = in.number("acceptance", s.acceptance, 0, 1);
  read_constants(in, s, serving_stack_parameters);
  return s;
}

/// read(generation, MapReader&) of each entry of a map by generations.
template <class Read>
void each_generation(MapReader& in, const Read& read) {
  in.each_entry([&](const std::string& name, MapReader& one) {
    const auto g = parse_enum<Generation>(name, generation_names);
    if (!g) return one.refuse(fmt::format("\"{}\" is no GPU generation", name), fmt::format("one of {}", joined(generation_names)));
    read(*g, one);
  });
}

/// read(MapReader&) of a file of data/workloads.
template <class Read>
void read_workloads(std::string_view file, const Read& read) {
  read_document(SpecStore{}.resolve("workloads", file), [&](MapReader& in) {
    for (const char* key : {"name", "title", "date", "notes"}) in.text(key);
    read(in);
  });
}

[[nodiscard]] bool is_among(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Geometric mean of each constant of some sets.
template <class T, std::size_t N>
void mean_of(T& into, const std::vector<const T*>& sets, const std::array<ServingParameter<T>, N>& parameters) {
  if (sets.empty()) return;
  for (const ServingParameter<T>& p : parameters) {
    double sum = 0;
    for (const T* s : sets) sum += std::log(std::max(1e-12, s->*p.member));
    into.*p.member = std::clamp(std::exp(sum / static_cast<double>(sets.size())), p.min, p.max);
  }
}

/// The runs of an engine on one generation count for the others: sequences and tokens load its scheduler and its kernels alike.
[[nodiscard]] MeasuredRuns joined_runs(const MeasuredRuns& a, const MeasuredRuns& b) {
  MeasuredRuns out{std::max(a.sequences, b.sequences), std::max(a.prompt, b.prompt), std::max(a.answer, b.answer), a.models,
                   a.apart || b.apart};
  for (const std::string& model : b.models)
    if (!is_among(out.models, model)) out.models.push_back(model);
  return out;
}

void widen_spreads(ServingStack& stack, const ServingSpread& by) {
  stack.spread_tpot = std::hypot(stack.spread_tpot, by.tpot);
  stack.spread_ttft = std::hypot(stack.spread_ttft, by.ttft);
}

}  // namespace

ServingTable load_serving_table() {
  ServingTable out;
  read_workloads("serving-stacks", [&](MapReader& in) {
    in.needed_section("stacks", [&](MapReader& stacks) {
      stacks.each_entry([&](const std::string& name, MapReader& one) { out.stacks.push_back(read_stack(one, name)); });
    });
  });
  const auto fitted = [&](const std::string& name, MapReader& generations) {
    const auto known = std::find_if(out.stacks.begin(), out.stacks.end(), [&](const ServingStack& s) { return s.name == name; });
    if (known == out.stacks.end())
      return generations.refuse(fmt::format("no stack \"{}\" is described", name), "describe it in serving-stacks.yaml");
    each_generation(generations, [&](Generation g, MapReader& one) {
      ServingTable::PerGeneration& into = out.fitted[name][g];
      into.stack = *known;
      read_constants(one, into.stack, serving_stack_parameters);
      into.stack.measured = {one.number("sequences", 0, 0, 1e6), one.number("prompt", 0, 0, 1e9), one.number("answer", 0, 0, 1e9),
                             one.plain_texts("models"), one.flag("apart", false)};
      into.gpus = one.plain_texts("gpus");
      into.rows = one.count("rows", 0, 0, 1000000);
    });
  };
  read_workloads("serving", [&](MapReader& in) {
    in.needed_section("gpus", [&](MapReader& gpus) {
      each_generation(gpus, [&](Generation g, MapReader& one) {
        read_constants(one, out.gpus[g], serving_gpu_parameters);
        one.count("rows", 0, 0, 1000000);
      });
    });
    in.needed_section("common", [&](MapReader& one) { read_constants(one, out.common, serving_stack_parameters); });
    in.needed_section("stacks", [&](MapReader& stacks) { stacks.each_entry(fitted); });
    in.needed_section("unseen", [&](MapReader& unseen) {
      using Unseen = ServingTable::Unseen;
      for (const auto& [key, member] :
           {std::pair{"model", &Unseen::model}, {"gpu", &Unseen::gpu}, {"generation", &Unseen::generation}, {"apart", &Unseen::apart}})
        unseen.needed_section(key, [&, into = &(out.unseen.*member)](MapReader& one) {
          *into = {one.number("tpot", 0, 0, 10), one.number("ttft", 0, 0, 10)};
        });
    });
  });
  return out;
}

ServingConstants ServingTable::constants(Generation g) const {
  if (const auto at = gpus.find(g); at != gpus.end()) return at->second;
  ServingConstants out;
  std::vector<const ServingConstants*> known;
  for (const auto& [generation, set] : gpus) known.push_back(&set);
  mean_of(out, known, serving_gpu_parameters);
  return out;
}

ServingStack ServingTable::stack(std::string_view name, Generation g, std::string_view gpu) const {
  ServingStack out = stack_of_engine(name, g, gpu);
  out.unseen_model = unseen.model;
  out.unseen_apart = unseen.apart;
  if (gpus.find(g) == gpus.end()) {
    out.assumed_kernels = true;
    widen_spreads(out, {assumed_kernels_spread, assumed_kernels_spread});
  }
  return out;
}

const ServingStack& ServingTable::described(std::string_view name) const {
  const auto found = std::find_if(stacks.begin(), stacks.end(), [&](const ServingStack& s) { return s.name == name; });
  if (found != stacks.end()) return *found;
  if (const auto library = parse_inference_library(name); library && core::name(*library) != name) return described(core::name(*library));
  if (name.find(',') != std::string_view::npos)
    throw RequestError(fmt::format("one serving stack is asked about at a time; fabricost plan serve --vary stack={} answers for several", name.substr(0, 80)));
  std::vector<std::string_view> names;
  for (const ServingStack& s : stacks) names.push_back(s.name);
  throw RequestError(fmt::format("there is no serving stack \"{}\"; there are {}", name.substr(0, 40), joined(names)));
}

ServingStack ServingTable::stack_of_engine(std::string_view name, Generation g, std::string_view gpu) const {
  const ServingStack& base = described(name);
  const auto all = fitted.find(base.name);
  if (all != fitted.end())
    if (const auto at = all->second.find(g); at != all->second.end()) {
      ServingStack out = at->second.stack;
      for (const auto& [generation, set] : all->second) out.measured = joined_runs(out.measured, set.stack.measured);
      if (!gpu.empty() && !at->second.gpus.empty() && !is_among(at->second.gpus, gpu)) widen_spreads(out, unseen.gpu);
      return out;
    }
  ServingStack out = base;
  std::vector<const ServingStack*> known;
  if (all != fitted.end())
    for (const auto& [generation, set] : all->second) known.push_back(&set.stack);
  else
    known.push_back(&common);
  mean_of(out, known, serving_stack_parameters);
  for (const ServingStack* one : known) out.measured = joined_runs(out.measured, one->measured);
  if (all != fitted.end()) {
    widen_spreads(out, unseen.generation);
  } else {
    out.spread_tpot *= 1.3;
    out.spread_ttft *= 1.3;
  }
  out.spread_tpot = std::max(out.spread_tpot, base.spread_tpot);  // as far as runs of its own were off, where they are known
  out.spread_ttft = std::max(out.spread_ttft, base.spread_ttft);
  return out;
}

}  // namespace fabricost::plan
