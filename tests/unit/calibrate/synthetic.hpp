#pragma once
/// Synthetic measurements: times from known constants with noise of a known size, so that a fit can be
/// compared with the truth.

#include "support/random_cases.hpp"

#include "calibrate/fit.hpp"

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/fabricost.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/readings/points.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace synthetic {

using namespace fabricost::core;
using support::Random;

inline constexpr double noise = 0.04;  // standard deviation in log

/// From a normal distribution (Box and Muller).
inline double normal(Random& random) {
  const double u = random.uniform(1e-12, 1), v = random.uniform(0, 1);
  return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
}

inline std::vector<double> sizes(double first = 512, double last = 512.0 * 1024 * 1024, double factor = 2) {
  std::vector<double> out;
  for (double s = first; s <= last; s *= factor) out.push_back(s);
  return out;
}

inline const std::vector<Collective> four_operations{Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                                     Collective::all_to_all};

/// A block as `calibrate` creates it for one machine; with `flat` as for several together.
inline Block block_of(ConstantSet set, const Constants& prior, double latency, double rate, double spread = 1) {
  Block block;
  block.set = set;
  block.prior = prior;
  block.latency = latency;
  block.rate = rate;
  block.spread = spread;
  return block;
}
inline Block flat_block(double flat = 0.3) {
  Block block;
  block.flat = flat;
  return block;
}

/// Every operation on every number of ranks and nodes at every size, half and int8.
struct Grid {
  std::vector<Collective> ops = four_operations;
  std::vector<int> ranks{2, 4, 8};
  std::vector<int> nodes{1};  ///< above one: that many nodes with all their GPUs; `ranks` is ignored
  std::vector<double> bytes = sizes();
  std::vector<DataType> types{DataType::half};
};

template <class Call>
void each_question(const Grid& grid, const System& system, Call&& call) {
  for (const Collective op : grid.ops)
    for (const DataType type : grid.types)
      for (const int nodes : grid.nodes)
        for (const int ranks : nodes > 1 ? std::vector<int>{nodes * system.gpus_per_node} : grid.ranks)
          for (const double bytes : grid.bytes)
            call(Operation{.collective = op, .bytes = Bytes::from_value(bytes), .ranks = ranks, .nodes = nodes, .dtype = type});
}

/// Measures the grid's points on a machine that carries the true constants: NCCL's choice determines what
/// runs; its price with normal noise in log is the measured time.
inline void measure(std::vector<Series>& series, std::size_t machine, const System& truth, const Grid& grid, Random& random,
                    double scale = 0.05, double spread = noise) {
  using Key = std::tuple<Collective, int, int, Algorithm, Protocol, bool>;
  std::map<Key, std::size_t> index;
  each_question(grid, truth, [&](const Operation& op) {
    const Prediction p = predict(truth, op);
    const bool wide = is_byte_wide(op.dtype);
    const auto [at, fresh] =
        index.try_emplace(Key{op.collective, op.ranks, op.nodes, p.ran.algorithm, p.ran.protocol, wide}, series.size());
    if (fresh) {
      const Fabric fabric = fabric_of(truth, op);
      series.push_back({.machine = machine,
                        .fabric = fabric,
                        .schedule = schedule_of(p.ran.algorithm, op.collective, fabric),
                        .ran = p.ran,
                        .op = op.collective,
                        .byte_wide = wide,
                        .scale = scale});
    }
    Series& s = series[at->second];
    s.bytes.push_back(op.bytes.value());
    s.log_seconds.push_back(std::log(p.seconds) + spread * normal(random));
    s.weight.push_back(1);
  });
}

/// Constants drawn from the prior: with its spreads and common factors, inside the bounds.
inline Constants drawn(const Block& block, Random& random) {
  const auto table = parameters_of(block.set);
  for (;;) {
    const double latency = normal(random), rate = normal(random);
    std::vector<double> change(table.size(), 0.0);
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (table[i].held()) continue;
      const double own = block.flat > 0 ? block.flat : block.spread * table[i].spread;
      change[i] = own * normal(random) + block.latency * table[i].latency * latency + block.rate * table[i].rate * rate;
    }
    Constants out = block.prior;
    fabricost::core::apply_changes(out, block, change);
    const bool inside = std::all_of(table.begin(), table.end(), [&](const Parameter& p) {
      const double value = p.value(out);
      return p.held() || (value > p.min * (1 + 1e-9) && value < p.max * (1 - 1e-9));
    });
    if (inside) return out;
  }
}

inline const Unknown& unknown_named(const Fit& fit, std::string_view key) {
  for (const Unknown& u : fit.unknowns)
    if (u.parameter->key == key) return u;
  throw std::logic_error("no constant " + std::string{key});
}

/// The same as points of a file, for a machine in data/. `factor` scales every time.
inline Points points_of(const System& truth, const std::string& called, const Grid& grid, Random& random, double spread = noise,
                        double factor = 1) {
  Points out;
  each_question(grid, truth, [&](const Operation& op) {
    Point point;
    point.source = "synthetic";
    point.system = called;
    point.nodes = op.nodes;
    point.gpus_per_node = op.ranks / op.nodes;
    point.collective = op.collective;
    point.dtype = op.dtype;
    point.bytes = op.bytes.value();
    point.seconds = factor * predict(truth, op).seconds * std::exp(spread * normal(random));
    point.library = std::string{name(truth.library)};
    out.points.push_back(point);
  });
  return out;
}

inline const CalibratedSet& set_named(const Calibration& fit, std::string_view called) {
  for (const CalibratedSet& set : fit.sets)
    if (set.name == called) return set;
  throw std::logic_error("no set " + std::string{called});
}

inline std::string csv_of(const Points& points) {
  std::string out =
      "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes\n";
  char line[300];
  for (const Point& p : points.points) {
    std::snprintf(line, sizeof line, "%s,%s,%d,%d,%s,%s,%.17g,%.17g,,%s,,,,\n", p.source.str().c_str(), p.system.str().c_str(), p.nodes,
                  p.gpus_per_node, std::string{name(p.collective)}.c_str(), std::string{name(p.dtype)}.c_str(), p.bytes, p.seconds * 1e6,
                  p.library.str().c_str());
    out += line;
  }
  return out;
}

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace synthetic
