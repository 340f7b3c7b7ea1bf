/// \file pipeline_profiles.cpp
/// Reads and scales profiles of stage times.

#include "evaluation/pipeline_profiles.hpp"

#include "specs/reader.hpp"
#include "specs/store.hpp"

#include <fmt/format.h>

#include <cmath>

namespace fabricost::plan {
namespace {

/// FLOPs of a layer per token, up to a constant: h^2 (1 + s / 6h) (Narayanan 2021, arXiv 2104.04473, eq. 3).
[[nodiscard]] double layer_work(const PipelineSetting& s) {
  const double h = s.hidden;
  return h * h * (1 + s.sequence / (6 * h));
}

[[nodiscard]] PipelineProfile read_profile(const SpecNode& node, const std::string& path, Faults& faults) {
  constexpr double longest_ms = 1e6;
  MapReader in(node, path, faults);
  PipelineProfile out;
  PipelineSetting& s = out.setting;
  s.model = in.text("model", true);
  s.layers = in.count("layers", 1, 1, 100'000, true);
  s.hidden = in.count("hidden", 1, 1, 1'000'000, true);
  s.heads = in.count("heads", 1, 1, 100'000, true);
  s.sequence = in.count("sequence", 1, 1, 100'000'000, true);
  s.stages = in.count("stages", 1, 1, 100'000, true);
  s.microbatch = in.count("microbatch", 1, 1, 1'000'000, true);
  out.times.forward = in.number("forward_ms", 0, 0, longest_ms) * 1e-3;
  out.times.backward = in.number("backward_ms", 0, 0, longest_ms) * 1e-3;
  out.times.weight = in.number("weight_ms", 0, 0, longest_ms) * 1e-3;
  out.times.exchange = in.number("exchange_ms", 0, 0, longest_ms) * 1e-3;
  in.finish();
  return out;
}

}  // namespace

PipelineStack load_pipeline_stack() {
  SpecStore store;
  const SpecNode tree = store.resolve("workloads", "pipeline");
  Faults faults;
  MapReader in(tree, "", faults);
  PipelineStack out;
  in.name("name", true);
  in.text("date");
  out.stretch = in.number("stretch", 0, 0, 10);
  out.filling_tokens = in.number("filling_tokens", 0, 0, 1e6);
  if (const SpecNode* list = in.take("profiles", true)) {
    if (list->kind != SpecNode::Kind::list || list->items.empty())
      in.fault(*list, "profiles", "is not a list of profiles", "write one `- {model: ..., ...}` per profile");
    else
      for (std::size_t i = 0; i < list->items.size(); ++i)
        out.profiles.push_back(read_profile(list->items[i], fmt::format("profiles[{}]", i), faults));
  }
  in.finish();
  faults.raise();
  return out;
}

StageTimes scaled_times(const std::vector<PipelineProfile>& profiles, double filling_tokens, const PipelineSetting& wanted) {
  const PipelineProfile* nearest = &profiles.front();
  const auto distance = [&wanted](const PipelineProfile& p) {
    return p.setting.model == wanted.model ? -1 : std::fabs(std::log(static_cast<double>(p.setting.hidden) / wanted.hidden));
  };
  for (const PipelineProfile& one : profiles)
    if (distance(one) < distance(*nearest)) nearest = &one;
  const PipelineSetting& from = nearest->setting;
  const double work = wanted.stage_layers() / from.stage_layers() * layer_work(wanted) / layer_work(from) *
                      (wanted.tokens() + filling_tokens) / (from.tokens() + filling_tokens);
  StageTimes out = nearest->times;
  for (double* one : {&out.forward, &out.backward, &out.weight}) *one *= work;
  out.exchange *= wanted.tokens() * wanted.hidden / (from.tokens() * from.hidden);
  out.held_for_weight = wanted.held_for_weight();
  return out;
}

}  // namespace fabricost::plan
