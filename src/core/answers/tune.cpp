/// \file tune.cpp
/// Finds the sizes at which NCCL's own choice loses time on a machine.

#include <fabricost/answers/predict.hpp>
#include <fabricost/answers/tune.hpp>
#include <fabricost/fields/field.hpp>

namespace fabricost::core {
namespace {

[[nodiscard]] SlowChoice answer_of(const SlowRange& r) {
  return {.operation = std::string{name(r.collective)},
          .nodes = r.nodes,
          .ranks = r.ranks,
          .smallest = units::B(r.first),
          .largest = units::B(r.last),
          .algorithm = std::string{name(r.now.algorithm)},
          .protocol = std::string{name(r.now.protocol)},
          .better_algorithm = std::string{name(r.better.algorithm)},
          .better_protocol = std::string{name(r.better.protocol)},
          .bytes = units::B(r.bytes),
          .time = units::s(r.now_seconds),
          .better_time = units::s(r.better_seconds),
          .lost = units::s(r.lost_seconds()),
          .lost_share = r.lost_share(),
          .least_share = r.least_share(),
          .most_share = r.most_share(),
          .sure = r.sure,
          .basis = std::string{name(r.basis)}};
}

}  // namespace

TuneAnswer answer(const TuneRequest& request) {
  check_ranges(request);
  need_machine(request.system);
  TuneOptions options{.nodes = request.nodes.values, .ranks = request.ranks, .dtype = request.dtype};
  if (request.operation) options.collective = static_cast<Collective>(*request.operation);
  const System system = request.system.load(request.overrides, {}, request.calibration);
  check_type(system, options.collective.value_or(Collective::all_reduce), options.dtype);
  const TuneReport report = tune(system, options);
  TuneAnswer out{.system = report.system,
                 .library = std::string{name(report.library)},
                 .dtype = std::string{name(report.dtype)},
                 .doubts = report.doubts,
                 .config = plugin_config(report)};
  for (const TuneShape& shape : report.shapes) out.groups.push_back({shape.nodes, shape.ranks});
  for (const SlowRange& range : report.ranges) out.ranges.push_back(answer_of(range));
  for (const UnmeasuredPair& p : report.unmeasured)
    out.unmeasured.push_back({std::string{name(p.collective)}, p.nodes, p.ranks, std::string{name(p.candidate.algorithm)},
                              std::string{name(p.candidate.protocol)}});
  return out;
}

}  // namespace fabricost::core
