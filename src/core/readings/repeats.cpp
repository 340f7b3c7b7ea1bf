/// Merges repeats of a measurement by their median. Equal times of repeats are kept once with a count:
/// printed times have few digits, so memory is bounded independently of the length of a log.

#include "readings/point_readers.hpp"

#include <fabricost/choice/engine_kernels.hpp>
#include <fabricost/readings/points.hpp>

#include <cstdint>
#include <map>
#include <sstream>
#include <unordered_map>

namespace fabricost::core {

namespace {

/// The exact median of any number of values; equal values are stored once with their count.
class CountedMedian {
 public:
  void add(double value) {
    ++counts_[value];
    ++total_;
  }

  [[nodiscard]] double median() const { return total_ % 2 == 1 ? nth(total_ / 2) : 0.5 * (nth(total_ / 2 - 1) + nth(total_ / 2)); }

 private:
  [[nodiscard]] double nth(std::uint64_t n) const {
    auto at = counts_.begin();
    for (; n >= at->second; ++at) n -= at->second;
    return at->first;
  }

  std::map<double, std::uint64_t> counts_;
  std::uint64_t total_ = 0;
};

/// The fields in which repeats agree; texts by number.
struct Key {
  std::uint32_t system = 0, library = 0, version = 0;  ///< version: of an inference engine, whose kernels depend on it
  int nodes = 0, gpus_per_node = 0;
  double bytes = 0;
  Collective collective = Collective::all_reduce;
  DataType dtype = DataType::half;
  Reduction redop = Reduction::sum;
  bool both_ways = false, streamed = false, from_host = false, windows = false, nvls = true, pxn = true;
  Tuner tuner = newest_tuner;
  CallLaunch launch;
  std::optional<Path> path;
  std::optional<bool> gpu_direct;
  std::optional<Algorithm> algorithm;
  std::optional<Protocol> protocol;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& k) const {
    std::uint64_t h = std::hash<double>{}(k.bytes);
    const auto mix = [&h](std::uint64_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ULL + (h >> 29U); };
    mix(k.system);
    mix(k.library);
    mix(k.version * 2U + (k.from_host ? 1U : 0U));
    mix(static_cast<std::size_t>(k.nodes));
    mix(static_cast<std::size_t>(k.gpus_per_node));
    mix((static_cast<std::size_t>(k.collective) << 16U) + (static_cast<std::size_t>(k.redop) << 8U) + static_cast<std::size_t>(k.dtype));
    mix((k.both_ways ? 1U : 0U) + (k.streamed ? 16U : 0U) + (k.windows ? 32U : 0U) + (k.nvls ? 64U : 0U) + (k.pxn ? 128U : 0U) +
        (k.path ? 2U + 2U * static_cast<unsigned>(*k.path) : 0U));
    mix(k.gpu_direct ? (*k.gpu_direct ? 2U : 1U) : 0U);
    mix(static_cast<std::size_t>(k.tuner) + 16U * static_cast<std::size_t>(k.launch.mode) + 256U * std::size_t{k.launch.gpus});
    mix((k.algorithm ? 1U + static_cast<unsigned>(*k.algorithm) : 0U) * 8U + (k.protocol ? 1U + static_cast<unsigned>(*k.protocol) : 0U));
    return static_cast<std::size_t>(h);
  }
};

/// Numbers texts. Points of one file share theirs, so the last one is tried first.
class Texts {
 public:
  std::uint32_t number(const SharedText& text) {
    if (known_ && last_ == text) return last_number_;
    last_ = text;
    known_ = true;
    last_number_ = numbers_.try_emplace(text.str(), static_cast<std::uint32_t>(numbers_.size())).first->second;
    return last_number_;
  }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  SharedText last_;
  std::uint32_t last_number_ = 0;
  bool known_ = false;
};

/// Adds the version of one more repeat to those that a merged point lists.
void note_releases(Point& kept, const SharedText& version) {
  if (kept.library_version == version && kept.releases.empty()) return;
  std::string all = kept.releases.empty() ? kept.library_version.str() : kept.releases.str();
  kept.releases = all;
  if (version.empty() || (" " + all + " ").find(" " + version.str() + " ") != std::string::npos) return;
  all += (all.empty() ? "" : " ") + version.str();
  kept.releases = all;
}

}  // namespace

LibraryEra era_of(const Point& point) {
  if (!point.library.empty() && point.library != "nccl") return {};
  std::istringstream versions(point.releases.empty() ? point.library_version.str() : point.releases.str());
  int oldest = 0;  // what it lacks, a repeat lacked
  for (std::string one; versions >> one;)
    if (const int version = version_number(one); version / 1000000 == 2)  // NCCL's have been 2 since 2017
      oldest = oldest > 0 ? std::min(oldest, version) : version;
  const int release = oldest / 1000 % 1000;
  if (oldest > 0) return {tuner_of_version(2, release), false, release};
  return {point.early_tests ? Tuner{} : newest_tuner, true, 0};
}

struct RepeatMerger::State {
  Texts systems, libraries, versions;
  std::unordered_map<Key, std::size_t, KeyHash> index;
  std::vector<Point> points;
  std::vector<CountedMedian> times;
};

RepeatMerger::RepeatMerger() : state_(std::make_unique<State>()) {}
RepeatMerger::RepeatMerger(RepeatMerger&&) noexcept = default;
RepeatMerger& RepeatMerger::operator=(RepeatMerger&&) noexcept = default;
RepeatMerger::~RepeatMerger() = default;

void RepeatMerger::add(const Point& p) {
  State& s = *state_;
  const bool engine = parse_inference_library(p.library).has_value();
  const Key key{.system = s.systems.number(p.system),
                .library = s.libraries.number(p.library),
                .version = engine ? s.versions.number(p.library_version) + 1 : 0,
                .nodes = p.nodes,
                .gpus_per_node = p.gpus_per_node,
                .bytes = p.bytes,
                .collective = p.collective,
                .dtype = p.dtype,
                .redop = p.redop,
                .both_ways = p.both_ways,
                .streamed = p.streamed,
                .from_host = p.from_host(),
                .windows = p.windows,
                .nvls = p.nvls,
                .pxn = p.pxn,
                // between nodes the constants of transports hold launches, and releases differ by less than repeats do
                .tuner = p.nodes == 1 ? era_of(p).tuner : Tuner{},
                .launch = p.nodes == 1 ? p.launch : CallLaunch{},
                .path = p.path,
                .gpu_direct = p.gpu_direct,
                .algorithm = p.algorithm,
                .protocol = p.protocol};
  const auto [at, fresh] = s.index.try_emplace(key, s.points.size());
  if (fresh) {
    s.points.push_back(p);
    s.times.emplace_back();
  } else {
    Point& kept = s.points[at->second];
    kept.repeats += p.repeats;
    if (kept.in_place != p.in_place) kept.in_place.reset();
    note_releases(kept, p.library_version);
    if (!(kept.library_version == p.library_version)) kept.library_version.clear();
    if (!(kept.source == p.source)) kept.source.clear();
    if (!(kept.notes == p.notes)) kept.notes.clear();
    if (!(kept.health == p.health)) kept.health.clear();
    kept.contradicts_itself = kept.contradicts_itself && p.contradicts_itself;
  }
  Point& into = s.points[at->second];
  into.launched |= p.launched;
  if (p.launch.mode != LaunchMode::graph) into.launched |= 1U << static_cast<unsigned>(p.launch.mode);
  s.times[at->second].add(p.seconds);
}

std::vector<Point> RepeatMerger::merged() const {
  std::vector<Point> out = state_->points;
  for (std::size_t i = 0; i < out.size(); ++i) out[i].seconds = state_->times[i].median();
  return out;
}

std::vector<Point> merge_repeats(const std::vector<Point>& points) {
  RepeatMerger merger;
  for (const Point& p : points) merger.add(p);
  return merger.merged();
}

Points read_merged(const std::vector<std::filesystem::path>& files, const PointDefaults& otherwise) {
  Points out;
  RepeatMerger merger;
  NodeSizes sizes;
  for (const auto& file : files)
    for (const Skipped& s : read_points(file, otherwise, [&](Point&& point) {
           if (point.gpus_per_node == 0) point.gpus_per_node = sizes.of(point.system);
           merger.add(point);
         }))
      out.skip(s.reason, s.rows);
  out.points = merger.merged();
  return out;
}

}  // namespace fabricost::core
