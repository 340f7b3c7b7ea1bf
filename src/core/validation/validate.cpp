/// Prices measured points and summarises the errors.

#include <fabricost/validation/validate.hpp>

#include "text/quantile.hpp"
#include "validation/machines.hpp"

#include <fabricost/predict/complete.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/progress.hpp>
#include <fabricost/shipped_numbers.hpp>
#include <fabricost/validation/set_aside.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

namespace fabricost::core {

namespace {

const char* size_group(double bytes) {
  return bytes <= 64 * kibibyte ? "<=64 KiB" : bytes <= mebibyte ? "<=1 MiB" : bytes <= 32 * mebibyte ? "<=32 MiB" : "above";
}

/// Groups in the order of `order`, others after them by name.
template <class Name, class Order>
std::vector<ErrorGroup> grouped(const std::vector<ComparedPoint>& points, Name name_of, const Order& order) {
  std::map<std::string, std::vector<const ComparedPoint*>> members;
  for (const ComparedPoint& point : points) members[std::string{name_of(point)}].push_back(&point);
  std::vector<ErrorGroup> out;
  for (const std::string_view wanted : order)
    if (const auto found = members.find(std::string{wanted}); found != members.end()) {
      out.push_back({found->first, summarise(found->second)});
      members.erase(found);
    }
  for (const auto& [group, its] : members) out.push_back({group, summarise(its)});
  return out;
}

/// Channels to a peer are NCCL's and RCCL's: verbs and MPI hand a message to the NIC whole.
bool is_sent_whole(const Point& point) { return point.path == Path::nic && point.library != "nccl" && point.library != "rccl"; }

System without_channels(System system) {
  system.constants.transport.send_channel = 1e12;  // the bound of the constant, more than a link carries
  return system;
}

/// A prediction's share: its bytes at the rate that it has.
Prediction share_of(Prediction large, const Operation& one, double share) {
  large.operation.bytes = one.bytes;
  for (double Prediction::*time : {&Prediction::seconds, &Prediction::low, &Prediction::high, &Prediction::min}) large.*time *= share;
  Terms scaled;
  for (Term term : large.terms) {
    term.time *= share;
    scaled.add(term);
  }
  large.terms = scaled;
  return large;
}

Prediction of_a_gibibyte(const System& system, Operation one, const Choice& choice) {
  one.bytes = Bytes::from_value(gibibyte);
  return predict(system, one, choice);
}

/// A message of a stream: its bytes at the rate of large ones, or its share of the time of those in flight. How fast a
/// processor posts them is not known: the interval of one that does not fill the link reaches to the time that it would
/// take alone.
Prediction in_a_stream(const System& system, const Operation& one, const Choice& choice) {
  constexpr int in_flight = 128;                    // perftest's --tx-depth where none is given
  constexpr double fills_the_link = 64 * kibibyte;  // perftest's --size where none is given
  const double bytes = one.bytes.value(), share = bytes / gibibyte;
  Prediction alone = predict(system, one, choice);
  if (share >= 1) return alone;
  const Prediction large = of_a_gibibyte(system, one, choice);
  const double factor = std::max(share, alone.seconds / in_flight / large.seconds);
  Prediction out = share_of(large, one, factor);
  out.low = large.low * share;
  out.min = large.min * share;
  if (bytes < fills_the_link) out.high = std::max(out.high, alone.high);
  return out;
}

/// A message between processors: the NIC's access latency, as `transfer` has it, and its bytes at the rate of large ones. Public runs of
/// MPI and verbs take 1.5 to 12 us for a few bytes where the links say 2.8 and 3.6.
Prediction by_rdma(const System& system, const Operation& one, const Choice& choice) {
  constexpr double machines_differ = 4;  // as a factor, nine in ten
  const Tier* nic = system.tier(TierRole::nic);
  const Time start = nic != nullptr ? nic->latency.value : Time{};
  const double share = one.bytes.value() / gibibyte;
  if (!(start > Time{}) || share >= 1) return predict(system, one, choice);
  Prediction out = share_of(of_a_gibibyte(system, one, choice), one, share);
  out.seconds += start.value();
  out.low += start.value() / machines_differ;
  out.high += start.value() * machines_differ;
  out.terms.add({.name = "access", .tier = nic->name, .time = start});
  return out;
}

/// NCCL copies 16 bytes at a time where both ends of a message are aligned, and one element where they are not. Parts m of an all_to_all
/// that are no multiple of 16 bytes, as nccl-tests has with 5 or 7 ranks, take m r / c longer over the c channels of a peer:
/// c = clamp( m / m1 , 1 , 32 / (n-1) ). Only of measured points the bytes are known that well.
void copy_by_elements(Prediction& p) {
  namespace k = prior::ways;
  const Fabric& f = p.made_from.fabric;
  const double n = f.ranks(), part = std::floor(p.operation.bytes.value() / n);
  const bool at_home = f.library == Library::nccl && f.domains() <= 1 && !f.over_pcie && n > 1;
  if (p.operation.collective != Collective::all_to_all || !at_home || std::fmod(part, 16) == 0) return;
  const double most = std::max(1.0, tables_of(f.tuner).exchange_channels / (n - 1));
  const double more = part / kibibyte * k::narrow_kib / std::clamp(part / k::narrow_channel_size, 1.0, most);
  const double own = std::log(p.high / p.seconds), share = more / (p.seconds + more);
  p.seconds += more;
  const double factor = std::exp(std::hypot(own, share * k::narrow_width));
  p.low = std::max(p.min, p.seconds / factor);
  p.high = p.seconds * factor;
  p.terms.add({.name = "copies by element", .tier = "gpu", .time = Time::from_value(more)});
}

/// A kernel of an engine that its row names, at whatever size.
Prediction of_kernel(const System& system, const Operation& op, const Choice& choice, CollectiveKernel kernel) {
  Curve curve{fabric_of(system, op)};
  curve.append(candidate_of(kernel), price_custom(kernel, curve.fabric(), system.constants), std::numeric_limits<double>::infinity());
  return prediction_at(curve, system, op, choice);
}

/// Where nothing says which release ran, the interval holds that of the tables before, too: inside a domain these change protocols at other
/// sizes.
void widen_to_older_tables(Prediction& p, PointMachines& machines, const System& system, const Operation& op, const Choice& choice) {
  const Fabric& f = p.made_from.fabric;
  if (f.library != Library::nccl || !f.tuner_assumed || f.tuner != newest_tuner || f.domains() > 1 || choice.algorithm) return;
  const Prediction older = predict(machines.with_older(system), op, choice);
  p.low = std::min(p.low, older.low);
  p.high = std::max(p.high, older.high);
}

}  // namespace

ErrorSummary summarise(const std::vector<Outcome>& outcomes) {
  ErrorSummary out;
  if (outcomes.empty()) return out;
  std::vector<double> errors, logs;
  double within_10 = 0, within_25 = 0, covered = 0, sum = 0, score = 0, intervals = 0;
  constexpr double outside = 2 / 0.1;  // 2 / alpha of an interval of nine in ten
  for (const Outcome& one : outcomes) {
    const double ratio = one.predicted / one.measured, error = 100 * std::fabs(ratio - 1);
    errors.push_back(error);
    logs.push_back(std::fabs(std::log2(ratio)));
    sum += error;
    within_10 += error <= 10 ? 1 : 0;
    within_25 += error <= 25 ? 1 : 0;
    covered += one.low <= one.measured && one.measured <= one.high ? 1 : 0;
    if (one.low > 0 && one.high > 0) {
      intervals += 1;
      score += std::log(one.high / one.low) +
               outside * std::max({0.0, std::log(one.low / one.measured), std::log(one.measured / one.high)});
    }
  }
  std::sort(errors.begin(), errors.end());
  std::sort(logs.begin(), logs.end());
  const auto count = static_cast<double>(outcomes.size());
  out.points = static_cast<int>(outcomes.size());
  out.median_ape = quantile(errors, 0.5);
  out.mape = sum / count;
  out.p90_abs_log2 = quantile(logs, 0.9);
  out.within_10pct = within_10 / count;
  out.within_25pct = within_25 / count;
  out.interval_coverage = covered / count;
  out.interval_score = intervals > 0 ? score / intervals : 0;
  return out;
}

ErrorSummary summarise(const std::vector<const ComparedPoint*>& points) {
  std::vector<Outcome> outcomes;
  outcomes.reserve(points.size());
  for (const ComparedPoint* p : points)
    outcomes.push_back({p->point.seconds, p->prediction.seconds, p->prediction.low, p->prediction.high});
  return summarise(outcomes);
}

ErrorSummary summarise(const std::vector<ComparedPoint>& points) {
  std::vector<const ComparedPoint*> all;
  for (const ComparedPoint& point : points) all.push_back(&point);
  return summarise(all);
}

std::string regime_of(const ComparedPoint& p) {
  static constexpr std::array<std::string_view, 7> words{"launch not said", "from Python", "queued", "a process per GPU",
                                                         "threads",         "one process", "XLA"};
  const LibraryEra era = era_of(p.point);
  const Library own = p.prediction.made_from.fabric.library;
  const bool ours = p.point.library.empty() || std::string_view{p.point.library} == name(own);
  return fmt::format("{}, {}", words[static_cast<std::size_t>(p.point.launch.mode)],
                     ours && own == Library::rccl    ? "RCCL"
                     : !ours || own != Library::nccl ? "another library"
                     : era.assumed                   ? fmt::format("version not said, {} taken", name(era.tuner))
                                                     : fmt::format("{} by its version", name(era.tuner)));
}

ValidationReport validate(const Points& points, const ValidationOptions& options) {
  ValidationReport out;
  out.skipped = points.skipped;
  PointMachines machines(options.calibration, options.adjust, options.overrides);
  std::vector<Point> known;
  for (Point point : points.points)
    if (machines.knows(point, out.skipped)) known.push_back(std::move(point));
  if (!options.raw) known = merge_repeats(known);
  for (const SetAside& s : screen(known).set_aside) count_skipped(out.untrustworthy, std::string{name(s.doubt)}, s.point.repeats);
  long long begun = 0;
  for (Point& point : known) {
    tell_progress(begun++, std::ssize(known));
    if (point.ranks() < 2 && !(point.path && is_host_path(*point.path))) {
      count_skipped(out.skipped, "one rank: nothing moves", point.repeats);
      continue;
    }
    try {
      std::optional<System> whole;
      const System& system = is_sent_whole(point) ? whole.emplace(without_channels(machines.of(point))) : machines.of(point);
      const Choice choice{.rule = options.rule,
                          .algorithm = point.kernel ? std::nullopt : point.algorithm,
                          .protocol = point.protocol,
                          .launch = launch_of(point),
                          .inference = {.library = parse_inference_library(point.library).value_or(InferenceLibrary::none),
                                        .version = version_number(point.library_version.str()),
                                        .from_host = point.from_host()},
                          .ways = ways_of(point)};
      const Operation question = operation_of_point(point, system);
      Prediction prediction = point.streamed                                  ? in_a_stream(system, question, choice)
                              : is_of_hosts(point) && point.path == Path::nic ? by_rdma(system, question, choice)
                              : point.kernel                                  ? of_kernel(system, question, choice, *point.kernel)
                                                                              : predict(system, question, choice);
      copy_by_elements(prediction);
      widen_to_older_tables(prediction, machines, system, question, choice);
      out.points.push_back({std::move(point), prediction});
    } catch (const RequestError& error) {
      count_skipped(out.skipped, first_line(error.what()), point.repeats);
    }
  }
  out.total = summarise(out.points);
  static constexpr std::array<std::string_view, 0> by_name{};
  static constexpr std::array<std::string_view, 4> sizes{"<=64 KiB", "<=1 MiB", "<=32 MiB", "above"};
  out.by_operation = grouped(
      out.points, [](const ComparedPoint& p) { return name(p.point.collective); }, collective_names);
  out.by_system = grouped(
      out.points, [](const ComparedPoint& p) { return p.point.system.str(); }, by_name);
  out.by_size = grouped(
      out.points, [](const ComparedPoint& p) { return size_group(p.point.bytes); }, sizes);
  out.by_library = grouped(
      out.points, [](const ComparedPoint& p) { return p.point.library.empty() ? std::string{"unknown"} : p.point.library.str(); }, by_name);
  out.by_launch = grouped(out.points, regime_of, by_name);
  return out;
}

}  // namespace fabricost::core
