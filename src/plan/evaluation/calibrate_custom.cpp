/// Fitting the all-reduce kernels of inference engines, by GPU generation.

#include "evaluation/kernel_sets.hpp"
#include "validation/machines.hpp"

#include <fabricost/predict/compile.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/validation/set_aside.hpp>

#include <array>

namespace fabricost::plan {

Calibration calibrate_custom(const Points& points, const std::vector<std::string>& leave_out) {
  constexpr std::array<std::string_view, 3> classes{"custom_one_shot", "custom_two_shot", "host_launch"};
  constexpr double small = 64 * kibibyte;
  KernelSamples samples(ConstantSet::custom);
  std::vector<Skipped> skipped = points.skipped;
  PointMachines machines({});
  std::vector<Point> known;
  const std::vector<LeaveOut> by_hand = leave_outs(leave_out);
  for (Point point : points.points) {
    if (left_out(by_hand, point))
      count_skipped(skipped, "left out as asked", point.repeats);
    else if (machines.knows(point, skipped))
      known.push_back(std::move(point));
  }
  for (const Point& point : merge_repeats(known)) {
    const auto skip = [&](const std::string& why) { count_skipped(skipped, why, point.repeats); };
    const auto library = parse_inference_library(point.library);
    if (!library || point.collective != Collective::all_reduce) {
      skip("no all-reduce of an inference engine");
      continue;
    }
    try {
      const System& system = machines.of(point);
      const Operation op = operation_of_point(point, system);
      const Choice choice{.inference = {.library = *library, .version = version_number(point.library_version.str())}};
      const Fabric fabric = fabric_of(system, op);
      const CollectiveKernel kernel = pieces_of(system, fabric, op, choice).at(point.bytes);
      const bool from_host = point.from_host(), by_library = kernel == CollectiveKernel::library;
      if (by_library && !from_host) {
        skip("NCCL's part of an engine's all-reduces");
        continue;
      }
      if (from_host && point.bytes > small) {
        skip("called from Python: only small messages show the host's time");
        continue;
      }
      const double bytes = point.bytes, memory = system.gpu.hbm_bandwidth.value.value();
      const double by_others = by_library ? predict(system, op).seconds : 0;
      KernelSample sample{.generation = samples.generation(system),
                          .section = from_host ? std::string_view{"host_launch"} : name(kernel),
                          .seconds =
                              [kernel, fabric, bytes, memory, from_host, by_library, by_others](const Constants& c) {
                                const double t = by_library ? by_others : price_custom(kernel, fabric, c)(bytes);
                                return from_host ? host_call(t, bytes, memory, c.custom).seconds() : t;
                              },
                          .measured = point.seconds};
      const bool one_shot = candidate_of(kernel).algorithm == Algorithm::one_shot;
      samples.add(std::move(sample), {system.name,
                                      from_host  ? 2U
                                      : one_shot ? 0U
                                                 : 1U,
                                      point.ranks(), system.domain, from_host ? 0U : static_cast<std::size_t>(kernel), bytes,
                                      name(from_host ? LaunchMode::eager : LaunchMode::graph), name(*library)});
    } catch (const RequestError& error) {
      skip(first_line(error.what()));
    }
  }
  if (samples.empty())
    throw RequestError("no point of the files can be fitted: all-reduces of vllm, sglang or trtllm on known machines are needed");
  Calibration out = samples.fitted(classes);
  out.skipped = std::move(skipped);
  return out;
}

}  // namespace fabricost::plan
