#pragma once
/// \file serving.hpp
/// Serving stacks of data/workloads, with the constants fitted for each on each GPU generation.

#include <fabricost/compiled_part.hpp>
#include <fabricost/plan/serving/serving.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// Server settings of a published run that differ from its stack, according to its scripts; others stay.
struct ServerSettings {
  std::optional<double> chunk{}, poll{}, hold_steps{}, hold_tokens{}, together{}, drafts{}, acceptance{}, memory_share{};
  std::optional<double> kv{};      ///< bytes of a cached value
  std::optional<double> length{};  ///< mean length of prompts and answers over the nominal one
  /// Values of `later` take precedence.
  void take(const ServerSettings& later);
  [[nodiscard]] ServingStack on(ServingStack stack) const;
};
/// The runs of a stack with these settings: those of one engine that match in everything stated.
struct PublishedSettings {
  std::string system, model;     ///< a machine of data/systems; the prefix of a model's name
  std::string version, run;      ///< the beginning of the `backend` column; words of its notes, as the day of the run
  std::optional<WeightFormat> weights;
  std::optional<bool> replicas;  ///< with replicas of attention, or without
  int tp_most = 0;               ///< tensor ranks; 0: any
  double isl = 0, osl = 0;       ///< nominal lengths; 0: any
  double from = 0, until = 0;    ///< concurrent requests, `until` excluded; 0: any
  bool chunk_is_prompt = false;  ///< a step takes as many tokens as one nominal prompt
  ServerSettings settings;
};

/// Fitted constants of GPU generations and stacks (data/workloads/serving.yaml).
struct ServingTable {
  struct PerGeneration {
    ServingStack stack;
    int rows = 0;
  };
  std::vector<ServingStack> stacks;                                   ///< as data/workloads/serving-stacks.yaml describes them
  std::map<Generation, ServingConstants> gpus;                        ///< those fitted
  std::map<std::string, std::map<Generation, PerGeneration>> fitted;  ///< by stack
  std::map<std::string, std::vector<PublishedSettings>> settings;     ///< by stack; later ones win

  /// Constants of a generation without a fit: the geometric mean of the fitted ones, or the defaults.
  [[nodiscard]] ServingConstants constants(Generation g) const;
  /// A stack on a generation. If it was not fitted there: the geometric mean of its other generations with
  /// spreads widened by 30 %. If no inference kernels were fitted on the generation, assumed_kernels_spread
  /// (parameters/interval.hpp) is added in quadrature.
  /// \throws RequestError naming the known stacks
  [[nodiscard]] ServingStack stack(std::string_view name, Generation g) const;
  /// The stack for a published version: the longest prefix of `backend`; vllm if none matches.
  [[nodiscard]] const ServingStack& published(std::string_view backend) const;

 private:
  [[nodiscard]] ServingStack stack_of_engine(std::string_view name, Generation g) const;
};
/// \throws SpecError with every fault of the two files
[[nodiscard]] ServingTable load_serving_table();
/// The text of data/workloads/serving.yaml.
[[nodiscard]] std::string serving_yaml(const ServingTable& table, std::string_view date, std::string_view origin);

}  // namespace fabricost::plan
