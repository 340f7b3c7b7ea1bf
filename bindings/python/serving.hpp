#pragma once
/// \file serving.hpp
/// The question fc.plan_serve and fc.compare share, and one deployment as Python sees it.

#include "record.hpp"

#include <fabricost/serving/plan.hpp>

#include <pybind11/pybind11.h>

#include <string>
#include <utility>
#include <vector>

namespace fabricost::python {

/// One deployment with what it answers.
struct PlannedServing {
  std::string system{}, model{}, stack{}, precision{};
  int gpus = 0, tp = 1, pp = 1, ep = 1, dp = 1, replicas = 1, prefill_workers = 0, prefill_tp = 0, prefill_pp = 0, prefill_ep = 0,
      prefill_dp = 0;
  bool disaggregated = false;
  double batch = 1, concurrency = 1, ttft_seconds = 0, tpot_seconds = 0;
  double tokens_per_second = 0, tokens_per_second_per_gpu = 0, tokens_per_second_per_user = 0;
  double memory_bytes = 0, weight_bytes = 0, kv_bytes = 0, host_bytes = 0;
  std::pair<double, double> interval_ttft_seconds{}, interval_tpot_seconds{};
  std::vector<NamedSeconds> terms{}, ttft_terms{};
  bool operator==(const PlannedServing&) const = default;
};

/// What fc.plan_serve is asked, as it was written; None where nothing was.
struct AskedServing {
  pybind11::object gpus, isl, osl, ttft_seconds, tpot_seconds, concurrency, batch, disaggregated, precision, kv_precision, stack, top, tp,
      pp, ep, dp, launch, routing, offload_weights_bytes, offload_kv_bytes;
};
/// All but the model, and what a machine decides with: precision, stack, routing, what lies in the host's memory. \throws TypeError,
/// RequestError
[[nodiscard]] ServingQuestion question_of(const AskedServing& asked);
/// The rest, on this machine and with the question's model. \throws RequestError
void settle(ServingQuestion& question, const AskedServing& asked, const System& system);

[[nodiscard]] PlannedServing planned(const ServingQuestion& question, const System& system, const PricedServing& priced);

}  // namespace fabricost::python
