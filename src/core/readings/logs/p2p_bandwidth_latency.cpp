/// CUDA's p2pBandwidthLatencyTest: matrices of GB/s (10^9) and of microseconds between the GPUs of one node.
/// The unidirectional ones are rates one way; the bidirectional ones count the bytes of both directions (`2.0
/// * numElems * sizeof(int)`, NVIDIA/cuda-samples, p2pBandwidthLatencyTest.cu) and are halved; the diagonal
/// is a copy inside one GPU. Copies have 40,000,000 ints, latencies are of one int4 (same source), unless
/// changed by options, which the output does not show. With P2P disabled the copy is staged through the host,
/// which is not a modelled path; CPU matrices time the call, not the copy.

#include "readings/logs/pair_points.hpp"

#include <set>

namespace fabricost::core {

namespace {

constexpr double copy_bytes = 4.0 * 40'000'000, latency_bytes = 16;

enum class Kind : unsigned char { unknown, one_way, sum_of_both, latency, connectivity };

class P2pReader : LogReader {
 public:
  using LogReader::LogReader;

  void read() {
    each_line([this](const std::string& line, const Tokens& tokens) { take(line, tokens); });
    conclude();
  }

 private:
  void take(const std::string& line, const Tokens& tokens) {
    access(tokens);
    if (title(line)) return;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const bool corner = tokens[i] == "D\\D" || tokens[i] == "GPU" || tokens[i] == "CPU";
      if (!corner) continue;
      conclude();
      if (!matrix_.start(tokens, i + 1)) return;
      by_cpu_ = tokens[i] == "CPU";
      return;
    }
    if (!matrix_.open()) return;
    matrix_.line(lines_.number());
    (void)matrix_.row(tokens, !lines_.ended());  // other lines may stand between
  }

  bool title(const std::string& line) {
    const bool bandwidth = has(line, "Bandwidth") || has(line, "bandwidth"),
               both = has(line, "idirectional") && !has(line, "nidirectional"), one = has(line, "nidirectional");
    Kind kind = Kind::unknown;
    if (has(line, "Connectivity Matrix"))
      kind = Kind::connectivity;
    else if (bandwidth && (one || both))
      kind = one ? Kind::one_way : Kind::sum_of_both;
    else if (has(line, "Latency") && has(line, "Matrix"))
      kind = Kind::latency;
    if (kind == Kind::unknown) return false;
    conclude();
    kind_ = kind;
    staged_ = has(line, "P2P=Disabled") || has(line, "P2P = Disabled");
    return true;
  }

  /// `Device=0 CANNOT Access Peer Device=1`
  void access(const Tokens& tokens) {
    for (std::size_t i = 1; i + 3 < tokens.size(); ++i) {
      if (tokens[i] != "CANNOT" || tokens[i + 1] != "Access") continue;
      const auto from = device_in(tokens[i - 1]), to = device_in(tokens[i + 3]);
      if (from && to) no_access_.insert({*from, *to});
    }
  }
  static std::optional<int> device_in(std::string_view token) {
    return token.starts_with("Device=") ? whole_number(token.substr(7)) : std::nullopt;
  }

  void conclude() {
    if (matrix_.lost() > 0) points_.skip(row_cut_short, matrix_.lost());
    if (kind_ != Kind::connectivity)
      for (const Matrix::Cell& cell : matrix_.cells()) conclude(cell);
    matrix_.clear();
  }

  void conclude(const Matrix::Cell& cell) {
    if (cell.row == cell.column) {
      if (cell.value) points_.skip("a copy inside one GPU (diagonal)");
      return;
    }
    if (!cell.value) return points_.skip(no_value);
    if (kind_ == Kind::unknown) return points_.skip("a matrix without its title");
    if (by_cpu_) return points_.skip("time of the call on the CPU, not of the copy");
    if (staged_) return points_.skip("P2P disabled: staged through the host, which is not modelled");
    const bool both = kind_ == Kind::sum_of_both, staged = no_access_.contains({cell.row, cell.column});
    if (kind_ == Kind::latency) {
      points_.transfer(cell.line, latency_bytes, *cell.value * 1e-6, Path::gpu_gpu, false, staged ? short_staged_ : short_);
      return;
    }
    if (both && !symmetrical(matrix_, cell.row, cell.column))
      return points_.skip("the sum of two directions that differ by more than 10 %: neither is known");
    const double rate = *cell.value * 1e9 * (both ? 0.5 : 1);
    points_.transfer(cell.line, copy_bytes, rate > 0 ? copy_bytes / rate : 0, Path::gpu_gpu, both,
                     both ? (staged ? halved_staged_ : halved_) : (staged ? long_staged_ : long_));
  }

  Matrix matrix_;
  Kind kind_ = Kind::unknown;
  std::set<std::pair<int, int>> no_access_;  ///< pairs whose copies are staged although P2P is enabled
  bool staged_ = false, by_cpu_ = false;
  const SharedText long_{"size not printed: 40,000,000 ints"}, short_{"size not printed: one int4"},
      halved_{"sum of both directions, halved; size not printed: 40,000,000 ints"},
      long_staged_{"no peer access: staged through the host; size not printed: 40,000,000 ints"},
      short_staged_{"no peer access: staged through the host; size not printed: one int4"},
      halved_staged_{
          "no peer access: staged through the host; sum of both directions, halved; size not printed: "
          "40,000,000 ints"};
};

}  // namespace

void read_p2p_bandwidth_latency(const std::filesystem::path& file, PointMaker& points) { P2pReader(file, points).read(); }

}  // namespace fabricost::core
