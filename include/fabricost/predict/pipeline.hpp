#pragma once
/// \file pipeline.hpp
/// The hand-over of activations between the stages of a pipeline.
///
///   one hand-over   predict(send_recv of one microbatch's activations)
///   critical path   (p - 1 + m - 1) hand-overs for m microbatches through p stages, if nothing hides them
///
/// The activations of a microbatch are batch x sequence x hidden x bytes per element: 1 x 4096 x 8192 x 2 B = 67.1 MB.

#include <fabricost/predict/predict.hpp>
#include <fabricost/algorithms/point_to_point.hpp>

namespace fabricost {

struct PipelineHandover {
  Prediction one;    ///< a single hand-over
  double count = 0;  ///< on the critical path
  [[nodiscard]] Time total() const { return Time::from_value(count * one.seconds); }
};

/// \param activations bytes handed over per microbatch \param path wires between neighbouring stages
/// \throws RequestError for fewer than 1 stage or microbatch, and as predict
[[nodiscard]] inline PipelineHandover predict_pipeline(const System& system, const Bytes& activations, int stages, int microbatches,
                                                       Path path = Path::gpu_gpu) {
  if (stages < 1 || microbatches < 1) throw RequestError("a pipeline needs at least one stage and one microbatch");
  PipelineHandover out{.one = predict(system, SendRecv{.bytes = activations, .path = path})};
  out.count = pipeline_schedule(Levels{2}, 0, stages, microbatches).steps();
  return out;
}

}  // namespace fabricost
