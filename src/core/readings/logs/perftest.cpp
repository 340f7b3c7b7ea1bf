/// perftest's ib_write_bw, ib_write_lat, ib_read_*, ib_send_*: a banner, column names (`#bytes #iterations BW
/// peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]` or `t_min[usec] t_max[usec] t_typical[usec] ...`), rows.
/// MB/sec are 2^20 bytes per second, Gb/sec 10^9 bits (linux-rdma/perftest, perftest_resources.c:
/// format_factor is 0x100000 or 125000000). The average is used, not the peak of a single message.
/// Bidirectional tests print the sum of both directions and are halved. Latencies of write and send are half
/// a round trip; those of read include request and data. A row whose message rate times size differs from its
/// bandwidth contradicts itself.

#include "readings/logs/pair_points.hpp"
#include "text/ascii.hpp"
#include "text/csv.hpp"

#include <array>
#include <cmath>

namespace fabricost::core {

namespace {

constexpr double mebibyte = 1024.0 * 1024.0;
constexpr std::array<std::string_view, 8> tools{"ib_write_bw", "ib_write_lat", "ib_read_bw",   "ib_read_lat",
                                                "ib_send_bw",  "ib_send_lat",  "ib_atomic_bw", "ib_atomic_lat"};

/// The columns of a row by content; 0: missing.
struct PerftestColumns {
  std::size_t peak = 0, average = 0, messages = 0, typical = 0, mean = 0, min = 0, count = 0;
  double unit = 0;  ///< bytes per second of one printed unit of bandwidth
};

class PerftestReader : LogReader {
 public:
  using LogReader::LogReader;

  void read() {
    each_line([this](const std::string& line, const Tokens& tokens) { take(line, tokens); });
  }

 private:
  void take(const std::string& line, const Tokens& tokens) {
    if (has(line, " BW Test") || has(line, "Latency Test")) return banner(line);
    // a command or client names the test if the banner is missing
    if (has(line, "ib_"))
      for (const std::string_view tool : tools)
        if (has(line, tool)) {
          tool_ = tool;
          read_ = has(line, "ib_read");
          atomic_ = has(line, "ib_atomic");
          both_ = has(line, " -b ") || has(line, "--bidirectional");
        }
    if (header(line, tokens)) return;
    if (columns_.count > 0) row(tokens);
  }

  void banner(const std::string& line) {
    read_ = has(line, "Read");
    atomic_ = has(line, "Atomic");
    both_ = has(line, "Bidirectional");
    const std::string kind = has(line, "Latency") ? "lat" : "bw";
    tool_ = atomic_ ? "ib_atomic_" + kind : read_ ? "ib_read_" + kind : has(line, "Send") ? "ib_send_" + kind : "ib_write_" + kind;
    columns_ = {};
  }

  /// Column names contain blanks (`BW peak[MB/sec]`, `99% percentile[usec]`), so their last words are used.
  bool header(const std::string& line, const Tokens& tokens) {
    if (!has(line, "#bytes")) return false;
    PerftestColumns found;
    std::size_t at = 0;
    bool begun = false;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::string_view t = tokens[i];
      if (t == "#bytes") {
        prefix_ = i;
        begun = true;
        continue;
      }
      if (!begun || t == "BW" || t == "99%" || t == "99.9%" || t == "MsgRate" || t == "tps") continue;
      ++at;
      const bool named = i > 0;
      if (t.starts_with("peak[") && named) found.peak = at;
      if (t.starts_with("average[")) found.average = at;
      if (t.starts_with("average[") || t.starts_with("peak[")) found.unit = unit(t);
      if (t.starts_with("MsgRate[Mpps]")) found.messages = at;
      if (t.starts_with("t_typical[")) found.typical = at;
      if (t.starts_with("t_avg[")) found.mean = at;
      if (t.starts_with("t_min[")) found.min = at;
      found.count = at + 1;
    }
    const bool bandwidth = found.average > 0 || found.peak > 0, latency = found.typical > 0 || found.mean > 0 || found.min > 0;
    if (!bandwidth && !latency) return false;
    if (bandwidth && found.unit == 0)
      throw SpecError({fault_in_line(points_.file(), lines_.number(), 1, line, "a bandwidth of perftest in a unit nobody here knows",
                                     "expected BW average[MB/sec], [MiB/sec] or [Gb/sec]")});
    columns_ = found;
    return true;
  }

  static double unit(std::string_view column) {
    if (has(column, "[MB/sec]") || has(column, "[MiB/sec]")) return mebibyte;
    if (has(column, "[Gb/sec]") || has(column, "[Gbps]")) return 1e9 / 8;
    return 0;
  }

  void row(const Tokens& tokens) {
    const auto start = row_start(tokens, 3, 2);
    if (!start) return;
    const std::size_t first = *start;
    const bool bandwidth = columns_.average > 0 || columns_.peak > 0;
    const std::size_t value = bandwidth              ? (columns_.average > 0 ? columns_.average : columns_.peak)
                              : columns_.typical > 0 ? columns_.typical
                              : columns_.mean > 0    ? columns_.mean
                                                     : columns_.min;
    if (cut(tokens, first + value + 1)) return points_.skip(row_cut_short);
    const auto size = parse_number(tokens[first]);
    const auto number = parse_number(tokens[first + value]);
    if (!number) return points_.skip_broken("perftest", lines_.number());
    if (atomic_) return points_.skip("not modelled: atomics");
    if (!bandwidth) {
      if (columns_.typical == 0 && columns_.mean == 0)
        return points_.skip("perftest prints only the least and the largest latency here: neither is typical");
      return points_.transfer(lines_.number(), *size, *number * 1e-6, Path::nic, false,
                              note(called() + (read_ ? "; a read: request out, data back" : "")));
    }
    double rate = *number * columns_.unit;
    if (rate == 0 && columns_.peak > 0 && tokens.size() > first + columns_.peak)
      rate = parse_number(tokens[first + columns_.peak]).value_or(0) * columns_.unit;
    bool contradicts = false;
    if (columns_.messages > 0 && !cut(tokens, first + columns_.messages + 1))
      if (const auto messages = parse_number(tokens[first + columns_.messages]); messages && *messages > 1e-4 && *number > 0.1) {
        // both have two decimals
        const double by_count = *messages * 1e6 * *size;
        contradicts = std::fabs(by_count / rate - 1) > 0.02 + 0.01 / *number + 1e-6 / *messages;
      }
    if (both_) rate /= 2;
    points_.transfer(lines_.number(), *size, rate > 0 ? *size / rate : 0, Path::nic, both_,
                     note(called() + (both_ ? "; sum of both directions, halved" : "")), true, contradicts);
  }

  [[nodiscard]] std::string called() const { return tool_.empty() ? "perftest" : tool_; }

  PerftestColumns columns_;
  std::string tool_;
  bool read_ = false, atomic_ = false, both_ = false;
};

}  // namespace

void read_perftest(const std::filesystem::path& file, PointMaker& points) { PerftestReader(file, points).read(); }

}  // namespace fabricost::core
