/// Recognises the tables by their titles: `Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)` (NVIDIA/cuda-samples,
/// p2pBandwidthLatencyTest.cu), `memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)` (NVIDIA/nvbandwidth), `#bytes ... BW average[Gb/sec]`
/// (linux-rdma/perftest), `overhead (usec) | bandwidth (MB/s) | message rate (msg/s)` (openucx/ucx, perftest.c).

#include "diagnose/across/pair_rates.hpp"

#include "readings/logs/literals.hpp"
#include "readings/logs/pair_points.hpp"
#include "text/ascii.hpp"
#include "text/csv.hpp"
#include "text/line_reader.hpp"
#include "text/plain_text.hpp"

#include <algorithm>

namespace fabricost::observe::diagnosis {

namespace {

class PairRateReader {
 public:
  explicit PairRateReader(const std::filesystem::path& file) : lines_(file) {}

  PairRates read() {
    Tokens tokens;
    for (std::string line; lines_.next(line);) {
      if (line.starts_with(file_mark)) {
        conclude();
        file_ = line.substr(file_mark.size());
        before_ = lines_.number();
        adapter_.clear();
        columns_ = ucx_ = false;
        continue;
      }
      static const LiteralFilter of_table{"Device", "P2P=", "P2P = ", "memcpy ", "#bytes", "BW Test", "bandwidth (MB/s)"};
      static const LiteralFilter of_window{"[thread ", "Final: "};
      if (title_.title.empty() && !columns_ && !of_table.may_hold(line) && !(ucx_ && of_window.may_hold(line))) continue;
      (void)unprefix(line);
      squeeze(line);
      split(line, tokens);
      if (!tokens.empty()) take(line, tokens);
    }
    conclude();
    return std::move(out_);
  }

 private:
  [[nodiscard]] LogLine quote(std::string_view line) const {
    constexpr std::size_t longest = 200;
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    return {lines_.number() - before_, plain_text(std::string{line.substr(0, longest)}), file_};
  }

  void take(const std::string& line, const Tokens& tokens) {
    device(line, tokens);
    access(line, tokens);
    wire(line, tokens);
    stream(line, tokens);
    if (title(line)) return;
    if (title_.title.empty()) return;
    if (!matrix_.open()) {
      for (std::size_t first = 0; first < tokens.size(); ++first)
        if (matrix_.start(tokens, first)) return;
      return;
    }
    if (const auto corner = std::find_if(tokens.begin(), tokens.end(), [](auto t) { return t == "D\\D" || t == "GPU" || t == "CPU"; });
        corner != tokens.end()) {
      by_cpu_ = *corner == "CPU";
      PairMatrix next = title_;
      conclude();
      title_ = std::move(next);
      if (by_cpu_) title_.title.clear();  // the time of the call, not of the copy
      (void)matrix_.start(tokens, static_cast<std::size_t>(corner - tokens.begin()) + 1);
      return;
    }
    const std::size_t before = matrix_.cells().size();
    if (matrix_.row(tokens, !lines_.ended()) && matrix_.cells().size() > before)
      title_.lines.try_emplace(matrix_.cells().back().row, quote(line));
  }

  bool title(const std::string& line) {
    const bool sample = has(line, "P2P=") || has(line, "P2P = ");
    const bool other = has(line, "memcpy ") && has(line, "(GB/s)") && (has(line, "GPU(column)") || has(line, "GPU(row)"));
    if (!(sample && has(line, "Matrix")) && !other) return false;
    conclude();
    title_ = {};
    title_.title = plain_text(line.substr(0, 100));
    title_.latency = sample && has(line, "Latency");
    title_.both = has(line, "idirectional P2P") ? !has(line, "nidirectional") : has(line, "<->");
    title_.disabled = has(line, "P2P=Disabled") || has(line, "P2P = Disabled");
    host_ = other && has(line, "CPU(");
    return true;
  }

  void conclude() {
    constexpr std::size_t max_matrices = 64, most_gpus = 128;
    std::size_t columns = 0;
    for (const Matrix::Cell& cell : matrix_.cells()) columns = std::max(columns, static_cast<std::size_t>(cell.column) + 1);
    if (!title_.title.empty() && out_.matrices.size() < max_matrices && columns <= most_gpus) {
      for (const Matrix::Cell& cell : matrix_.cells())
        if (cell.value && *cell.value > 0 && (host_ || cell.row != cell.column) && cell.row < static_cast<int>(most_gpus))
          title_.cells.emplace(std::pair{host_ ? -1 : cell.row, cell.column}, *cell.value);
      if (!title_.cells.empty()) out_.matrices.push_back(title_);
    }
    matrix_.clear();
    matrix_.close();
    title_ = {};
  }

  /// "Device: 0, NVIDIA H100 80GB HBM3, pciBusID: 19, ..."; "Device 0: NVIDIA H100 80GB HBM3 (00000000:19:00)". The devices of one node:
  /// a list that starts again is another program's, or another node's.
  void device(const std::string& line, const Tokens& tokens) {
    constexpr std::size_t most = 128, longest = 100;
    if (tokens.size() < 3 || !tokens[0].starts_with("Device") || out_.gpus.size() >= most) return;
    const bool sample = tokens[0] == "Device:" && has(line, ", pciBusID"), other = tokens[0] == "Device" && line.back() == ')';
    if (whole_number(tokens[1].substr(0, tokens[1].size() - 1)) != static_cast<int>(out_.gpus.size()) || (!sample && !other)) return;
    const std::size_t from = line.find(sample ? ", " : ": ") + 2, end = sample ? line.find(", pciBusID") : line.rfind(" (");
    if (from < end && end - from < longest) out_.gpus.push_back(plain_text(line.substr(from, end - from)));
  }

  void access(const std::string& line, const Tokens& tokens) {
    if (!has(line, "Access Peer Device=")) return;
    if (std::find(tokens.begin(), tokens.end(), "CANNOT") != tokens.end()) {
      if (++out_.refused == 1) out_.refused_line = quote(line);
    } else {
      ++out_.granted;
    }
  }

  void wire(const std::string& line, const Tokens& tokens) {
    constexpr double mebibytes = 8 * 1024 * 1024 / 1e9;
    constexpr std::size_t most = 4096;
    if (has(line, " BW Test")) adapter_.clear();
    for (std::size_t i = 0; i + 2 < tokens.size(); ++i)
      if (tokens[i] == "Device" && tokens[i + 1] == ":") adapter_ = plain_text(std::string{tokens[i + 2]});
    if (has(line, "#bytes")) {
      columns_ = has(line, "BW average[");
      unit_ = has(line, "BW average[Gb/sec]") ? 1 : has(line, "BW average[MB/sec]") || has(line, "BW average[MiB/sec]") ? mebibytes : 0;
      if (columns_ && unit_ > 0 && out_.wires.size() < most) out_.wires.push_back({adapter_.empty() ? file_ : adapter_, 0, quote(line)});
      return;
    }
    if (!columns_ || unit_ <= 0 || out_.wires.empty() || tokens.size() < 4) return;
    if (!all_digits(tokens[0]) || !all_digits(tokens[1])) {
      columns_ = tokens[0].starts_with("---");
      return;
    }
    const auto average = parse_number(tokens[3]);
    if (average && *average > 0 && *average * unit_ > out_.wires.back().gigabits) {
      out_.wires.back().gigabits = *average * unit_;
      out_.wires.back().line = quote(line);
    }
  }

  /// "[thread 0]  881  0.249  1150.947  1150.947  8286.00  8286.00  869  869": messages; overhead at the median, of the window, of all so
  /// far; bandwidth and message rate of the window and of all so far.
  void stream(const std::string& line, const Tokens& tokens) {
    constexpr std::size_t most = 256, cells = 8;
    if (has(line, "bandwidth (MB/s)")) {
      ucx_ = has(line, "overhead (usec)") && out_.streams.size() < most;
      if (ucx_) out_.streams.emplace_back();
      first_window_ = true;
      return;
    }
    if (!ucx_) return;
    const std::size_t at = tokens[0] == "[thread" ? 2 : 1;
    if ((at == 1 && tokens[0] != "Final:") || tokens.size() != at + cells || !all_digits(tokens[at])) return;
    const auto rate = parse_number(tokens[at + 4]);
    if (!rate || *rate <= 0) return;
    WindowRates& table = out_.streams.back();
    if (at == 2 && !first_window_ && table.windows.size() < most) {
      if (table.windows.empty() || *rate < *std::min_element(table.windows.begin(), table.windows.end())) table.line = quote(line);
      table.windows.push_back(*rate);
    }
    first_window_ = false;
  }

  LineReader lines_;
  std::string file_, adapter_;
  int before_ = 0;
  bool host_ = false, by_cpu_ = false, columns_ = false, ucx_ = false, first_window_ = false;
  double unit_ = 0;
  Matrix matrix_;
  PairMatrix title_;
  PairRates out_;
};

}  // namespace

PairRates read_pair_rates(const std::filesystem::path& file) { return PairRateReader(file).read(); }

}  // namespace fabricost::observe::diagnosis
