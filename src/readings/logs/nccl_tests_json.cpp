/// \file nccl_tests_json.cpp
/// The file that nccl-tests writes with -J: {"nccl_version", "args", "config": {"nthreads", "ngpus",
/// "devices"}, "results": [{"size", "count", "type", "redop", "root", "out_of_place": {"time", "alg_bw",
/// "bus_bw", "nwrong"}, "in_place": {...}}]}. It has the rows of the table with more digits, the command
/// line, and one device of each process (NVIDIA/nccl-tests, src/util.cu). Read as a stream.

#include "readings/logs/nccl_tests.hpp"
#include "text/csv.hpp"
#include "text/json_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::io {

namespace {

double number_of(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  return parse_number(text).value_or(0);
}
/// A count or version, clamped to the range of real machines.
int count_of(std::string_view text) { return static_cast<int>(std::clamp(number_of(text), 0.0, 1e6)); }

/// `./build/all_reduce_perf` -> all_reduce
std::string test_of(std::string_view program) {
  if (const auto slash = program.find_last_of('/'); slash != std::string_view::npos) program.remove_prefix(slash + 1);
  return std::string{program.substr(0, program.find("_perf"))};
}

class NcclTestsJsonReader {
 public:
  NcclTestsJsonReader(const std::filesystem::path& file, RunsToPoints& points) : file_(file), points_(points) { run_.time_unit = 1e-6; }

  void read() {
    read_json(file_, [this](const JsonEvent& event) { take(event); });
    if (!results_seen_)
      throw SpecError(
          {fault_in_line(file_.string(), 1, 1, "", "this JSON has no \"results\" list: it is not what nccl-tests writes with -J",
                         "give a point CSV, or the text or JSON output of nccl-tests or nvbandwidth")});
    list_devices();
    points_.take(run_, true);
  }

 private:
  using Kind = JsonEvent::Kind;
  enum class Part : unsigned char { none, arguments, devices, results };

  void take(const JsonEvent& e) {
    if (e.kind == Kind::open_list && part_ == Part::none) {
      part_ = e.key == "args" && e.depth == 1      ? Part::arguments
              : e.key == "devices" && e.depth <= 2 ? Part::devices
              : e.key == "results" && e.depth == 1 ? Part::results
                                                   : Part::none;
      if (part_ != Part::none) depth_ = e.depth;
      if (part_ == Part::results) results_seen_ = true;
      return;
    }
    if (e.kind == Kind::close_list && part_ != Part::none && e.depth == depth_) {
      part_ = Part::none;
      return;
    }
    switch (part_) {
      case Part::none: return outside(e);
      case Part::arguments:
        if (e.kind == Kind::text && run_.test.empty()) run_.test = test_of(e.text);
        return;
      case Part::devices: return device(e);
      case Part::results: return result(e);
    }
  }

  void outside(const JsonEvent& e) {
    if (e.kind != Kind::text && e.kind != Kind::number) return;
    if (e.key == "nccl_version")
      if (const int code = count_of(e.text); code >= 20000)
        run_.version = fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
    if (e.key == "nthreads") run_.threads = threads_ = std::clamp(count_of(e.text), 1, 4096);
    if (e.key == "ngpus") run_.gpus = gpus_ = std::clamp(count_of(e.text), 1, 4096);
  }

  void device(const JsonEvent& e) {
    if (e.depth == depth_ + 1 && e.kind == Kind::open_map && hosts_.size() < 100000) {
      hosts_.emplace_back();
      groups_.push_back(0);
    }
    if (hosts_.empty() || e.depth != depth_ + 2) return;
    if (e.key == "hostname" && e.kind == Kind::text) hosts_.back() = e.text;
    if (e.key == "group") groups_.back() = count_of(e.text);
  }

  /// Every process lists one of its devices.
  void list_devices() {
    const int each = static_cast<int>(std::clamp(static_cast<double>(threads_) * gpus_, 1.0, 1024.0));
    for (std::size_t d = 0; d < hosts_.size(); ++d)
      for (int i = 0; i < each; ++i) {
        run_.ranks_listed.push_back(static_cast<int>(run_.ranks_listed.size()));
        run_.hosts.push_back(hosts_[d]);
        run_.groups.push_back(groups_[d]);
      }
    hosts_.clear();
  }

  void result(const JsonEvent& e) {
    const bool value = e.kind == Kind::text || e.kind == Kind::number;
    if (e.depth == depth_ + 1) {
      if (e.kind == Kind::open_map) {
        row_ = {};
        row_.line = e.line;
      }
      if (e.kind == Kind::close_map && row_.sides > 0) run_.rows.push_back(row_);
      if (run_.rows.size() >= max_rows_held) hand_on();
    } else if (e.depth == depth_ + 2) {
      if (value) cell(e);
      const bool out = e.key == "out_of_place", in = e.key == "in_place";
      if (e.kind == Kind::open_map && (out || in)) {
        side_ = {};
        side_.in_place = in;
        side_.time_slack = side_.algbw_slack = side_.busbw_slack = 0.5e-6;  // printed with %lf
        side_.checked = timed_ = false;
      }
      if (e.kind == Kind::close_map && (out || in)) {
        if (timed_)
          row_.add(side_);
        else
          count_skipped(run_.skipped, "nccl-tests printed CPU time (-C 1): how long the call took, not the operation");
      }
    } else if (e.depth == depth_ + 3 && (value || e.kind == Kind::other)) {
      half(e);
    }
  }

  void cell(const JsonEvent& e) {
    if (e.key == "size") row_.bytes = number_of(e.text);
    if (e.key == "count") row_.count = number_of(e.text);
    if (e.key == "type") {
      row_.type = Label{e.text};
      row_.dtype = parse_data_type(e.text);
    }
    if (e.key == "redop" && !e.text.empty()) row_.combine(e.text);
    if (e.key == "root" && std::fabs(number_of(e.text)) < 1e9) row_.root = static_cast<int>(number_of(e.text));
  }
  void half(const JsonEvent& e) {
    if (e.key == "time") {
      side_.time = number_of(e.text);
      timed_ = true;
    }
    if (e.key == "alg_bw") side_.algbw = number_of(e.text);
    if (e.key == "bus_bw") side_.busbw = number_of(e.text);
    if (e.key == "nwrong") {
      side_.wrong = number_of(e.text);
      side_.checked = true;
    }
  }

  void hand_on() {
    list_devices();
    points_.take(run_, false);
    run_.rows.clear();
    run_.skipped.clear();
  }

  const std::filesystem::path& file_;
  RunsToPoints& points_;
  LogRun run_;
  LogRow row_;
  LogSide side_;
  Part part_ = Part::none;
  int depth_ = 0, threads_ = 1, gpus_ = 1;
  bool results_seen_ = false, timed_ = false;
  std::vector<std::string> hosts_;
  std::vector<int> groups_;
};

}  // namespace

std::vector<Skipped> read_nccl_tests_json(const std::filesystem::path& file, const PointSource& otherwise, const RunDescriptions& runs,
                                          const PointSink& sink) {
  RunsToPoints points(file, otherwise, runs, sink);
  NcclTestsJsonReader(file, points).read();
  return std::move(points).skipped();
}

}  // namespace fabricost::io
