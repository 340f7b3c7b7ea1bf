/// \file imb.cpp
/// The Intel MPI benchmarks: `# Benchmarking NAME`, `# #processes = N`, column names, rows. PingPong prints half a round trip; of
/// collectives the average over ranks is taken. Sizes are as in OSU's: one rank's contribution (Allgather), what goes to each (Alltoall),
/// the whole vector otherwise (Intel MPI Benchmarks User Guide, "Benchmark Definitions"). PingPing, Sendrecv and Exchange are several
/// messages at once.

#include "readings/logs/pair_points.hpp"
#include "text/csv.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::io {

namespace {

class ImbReader {
 public:
  ImbReader(const std::filesystem::path& file, PointMaker& points) : lines_(file), points_(points) {}

  void read() {
    for_each_line(lines_, [this](const std::string&, const Tokens& tokens) { take(tokens); });
  }

 private:
  void take(const Tokens& tokens) {
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (tokens[i] == "Benchmarking") {
        name_ = tokens[i + 1];
        ranks_ = 0;
        columns_ = 0;
        return;
      }
      if (tokens[i] == "#processes" && i + 2 < tokens.size() && tokens[i + 1] == "=") {
        if (all_digits(tokens[i + 2]) && tokens[i + 2].size() < 8) ranks_ = static_cast<int>(*parse_number(tokens[i + 2]));
        return;
      }
      if (tokens[i] == "#bytes" && tokens[i + 1] == "#repetitions") {
        prefix_ = i;
        columns_ = tokens.size() - i;
        time_ = 0;
        for (std::size_t j = i + 2; j < tokens.size(); ++j)
          if (tokens[j] == "t[usec]" || tokens[j] == "t_avg[usec]") time_ = j - i;
        return;
      }
    }
    if (columns_ > 0 && !name_.empty()) row(tokens);
  }

  void row(const Tokens& tokens) {
    std::size_t first = prefix_;
    if (first >= tokens.size() || !all_digits(tokens[first])) first = 0;
    if (tokens.size() < first + 3 || !all_digits(tokens[first]) || !all_digits(tokens[first + 1]) || tokens[first].size() > 15) return;
    if (time_ == 0) return points_.skip(fmt::format("not modelled: IMB {}", name_));
    if (tokens.size() <= first + time_ || (!lines_.ended() && tokens.size() == first + time_ + 1)) return points_.skip(row_cut_short);
    const auto size = parse_number(tokens[first]), time = parse_number(tokens[first + time_]);
    if (!time) return points_.skip("IMB row broken by other output");
    const int line = lines_.number();
    if (name_ == "PingPong") {
      const bool here = points_.nodes_told() == 1;
      if (note_.empty()) note_ = here ? "IMB PingPong" : "IMB PingPong; taken as between nodes: --nodes 1 says otherwise";
      return points_.transfer(line, *size, *time * 1e-6, here ? Path::gpu_gpu : Path::nic, false, note_);
    }
    const bool uneven = name_.back() == 'v';  // Allgatherv: a count of its own for every rank
    const auto operation = collective();
    if (uneven || !operation) return points_.skip(fmt::format("not modelled: IMB {}", name_));
    if (*size == 0) return points_.skip("bytes is 0");
    const int ranks = ranks_ > 0 ? ranks_ : points_.ranks_taking_part(line);
    const bool parts = *operation == Collective::all_gather || *operation == Collective::all_to_all;
    points_.collective(line, *operation, reduces(*operation) ? DataType::single : DataType::int8, *size * (parts ? ranks : 1), *time * 1e-6,
                       ranks, "IMB");
  }

  [[nodiscard]] std::optional<Collective> collective() const {
    return name_ == "Bcast" || name_ == "bcast" ? std::optional{Collective::broadcast} : parse_collective(name_);
  }

  LineReader lines_;
  PointMaker& points_;
  std::string name_;
  SharedText note_;
  int ranks_ = 0;
  std::size_t prefix_ = 0, columns_ = 0, time_ = 0;
};

}  // namespace

void read_imb(const std::filesystem::path& file, PointMaker& points) { ImbReader(file, points).read(); }

}  // namespace fabricost::io
