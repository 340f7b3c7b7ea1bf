/// A machine's constants after calibration: measured on it, on a sibling, or the mean of all measured ones.

#include <fabricost/calibrate/calibrate.hpp>

#include <algorithm>
#include <cmath>

namespace fabricost::core {

namespace {

/// The set that suits a transport best: its own, else of its relatives in either direction the one measured
/// at most nodes; nullptr: none.
const CalibratedSet* nearest_fitted(const Calibration& calibration, const Transport& wanted) {
  const CalibratedSet* nearest = nullptr;
  for (const CalibratedSet& set : calibration.sets) {
    if (set.set != ConstantSet::transport || !set.cluster.empty()) continue;
    if (set.transport.family() == wanted.family()) return &set;
    const bool related = set.transport.family() == wanted.relative || set.transport.relative == wanted.family();
    if (related && (nearest == nullptr || set.most_nodes > nearest->most_nodes)) nearest = &set;
  }
  return nearest;
}

}  // namespace

void apply_mean(const Calibration& calibration, System& system) {
  Constants& c = system.constants;
  for (const Parameter& p : parameters_of(ConstantSet::scale_up)) {
    if (p.fitted == FitTreatment::form) continue;
    double sum = 0, count = 0;
    for (const CalibratedSet& set : calibration.sets) {
      if (set.set != ConstantSet::scale_up || !(p.value(set.constants) > 0)) continue;
      const auto fitted = std::find_if(set.fitted.begin(), set.fitted.end(), [&](const FittedConstant& f) { return f.key == p.key; });
      const bool unseen = fitted != set.fitted.end() && !fitted->determined && p.key.starts_with("nvls.");
      if (unseen) continue;
      sum += std::log(p.value(set.constants));
      count += 1;
    }
    if (count > 0) p.of(c) = std::exp(sum / count);
  }
  c.basis = Basis::datasheet;
  c.operations = {};
  c.name = "mean";
}

void apply_transport_mean(System& system, const Calibration& calibration) {
  Constants& c = system.constants;
  c.transport = transport_prior;
  c.transport_known = false;
  c.transport_basis = Basis::datasheet;
  c.transport_operations = {};
  c.transport_name = "mean";
  const Tier* nic = system.tier(TierRole::nic);
  if (nic == nullptr) return;
  const NetworkKind wanted = nic->transport.network;
  const auto counts = [&](const CalibratedSet& set, bool alike) {
    return set.set == ConstantSet::transport && set.cluster.empty() && (!alike || set.transport.network == wanted);
  };
  const bool alike = wanted != NetworkKind::other &&
                     std::any_of(calibration.sets.begin(), calibration.sets.end(), [&](const CalibratedSet& s) { return counts(s, true); });
  for (const Parameter& p : parameters_of(ConstantSet::transport)) {
    if (p.fitted == FitTreatment::form) continue;
    double sum = 0, count = 0;
    for (const CalibratedSet& set : calibration.sets)
      if (counts(set, alike)) sum += std::log(p.value(set.constants)), count += 1;
    if (count > 0) p.of(c) = std::exp(sum / count);
  }
}

void apply_calibration(System& system, const Calibration& calibration) {
  const bool over_pcie = is_over_pcie(system), peers = over_pcie && system.tier(TierRole::scale_up)->peer_to_peer;
  const Tier* nic = system.tier(TierRole::nic);
  const CalibratedSet* nearest = nic != nullptr ? nearest_fitted(calibration, nic->transport) : nullptr;
  Constants& c = system.constants;
  for (const CalibratedSet& set : calibration.sets) {
    if (!set.cluster.empty() && set.cluster != system.name) continue;
    const bool ours = std::find(set.systems.begin(), set.systems.end(), system.name) != set.systems.end();
    const bool fits = set.set == ConstantSet::transport ? &set == nearest
                      : set.library != system.library   ? false
                      : set.set == ConstantSet::pcie ? over_pcie && (set.name == "pcie-peers") == peers
                                                        : set.generation == system.gpu.generation;
    if (!ours && !fits) continue;
    const MeasuredOperations shown = measured_operations_of(set.fitted_on, system);
    // the sets of a joint fit have priors of their own, but for a cluster's beside its transport's
    const std::size_t machines = calibration.system.empty() && set.cluster.empty() ? 0 : set.fitted_on.size();
    for (const Parameter& p : parameters_of(set.set)) p.of(c) = p.value(set.constants);
    for (const NamedWidth& width : interval_widths)
      if (width.set == set.set) c.interval.*width.of = set.constants.interval.*width.of;
    if (set.set == ConstantSet::transport) {
      c.transport_operations = with_earlier_measurements(shown, machines, c.transport_operations,
                                            c.transport_known ? c.transport_basis : Basis::datasheet);
      c.transport_known = true;
      c.transport_basis = ours ? Basis::calibrated : Basis::sibling;
      c.most_nodes = set.most_nodes;
      c.transport_smallest = set.smallest.value();
      c.transport_largest = set.largest.value();
      c.transport_name = set.name;
    } else {
      c.operations = with_earlier_measurements(shown, machines, c.operations, c.basis);
      c.basis = ours ? Basis::calibrated : set.set == ConstantSet::pcie ? Basis::datasheet : Basis::sibling;
      c.smallest = set.smallest.value();
      c.largest = set.largest.value();
      c.fewest_ranks = set.fewest_ranks;
      c.most_ranks = set.most_ranks;
      c.name = set.name;
    }
  }
}

}  // namespace fabricost::core
