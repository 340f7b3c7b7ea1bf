/// \file imb.cpp
/// The Intel MPI benchmarks: `# Benchmarking NAME`, `# #processes = N`, column names, rows. PingPong prints
/// half a round trip; for collectives the average over ranks is used. Sizes are as in OSU: one rank's
/// contribution (Allgather), the part for each rank (Alltoall), otherwise the whole vector (Intel MPI
/// Benchmarks User Guide, "Benchmark Definitions"). PingPing, Sendrecv and Exchange send several messages at
/// once.

#include "readings/logs/pair_points.hpp"
#include "text/csv.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::core {

namespace {

class ImbReader : LogReader {
 public:
  using LogReader::LogReader;

  void read() {
    each_line([this](const std::string&, const Tokens& tokens) { take(tokens); });
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
        if (const auto ranks = whole_number(tokens[i + 2], 7)) ranks_ = *ranks;
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
    const auto first = row_start(tokens, 3, 2);
    if (!first) return;
    if (time_ == 0) return points_.skip(fmt::format("not modelled: IMB {}", name_));
    if (cut(tokens, *first + time_ + 1)) return points_.skip(row_cut_short);
    const auto size = parse_number(tokens[*first]), time = parse_number(tokens[*first + time_]);
    if (!time) return points_.skip("IMB row broken by other output");
    const int line = lines_.number();
    if (name_ == "PingPong") {
      const bool here = points_.nodes_given() == 1;
      return points_.transfer(line, *size, *time * 1e-6, here ? Path::gpu_gpu : Path::nic, false,
                              note(here ? "IMB PingPong" : "IMB PingPong; taken as between nodes: nodes = 1 says otherwise"));
    }
    const bool uneven = name_.back() == 'v';  // Allgatherv: each rank has its own count
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

  std::string name_;
  int ranks_ = 0;
  std::size_t columns_ = 0, time_ = 0;
};

}  // namespace

void read_imb(const std::filesystem::path& file, PointMaker& points) { ImbReader(file, points).read(); }

}  // namespace fabricost::core
