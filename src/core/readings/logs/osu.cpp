/// The OSU micro-benchmarks: `# OSU MPI Bandwidth Test v7.5`, a line of column names, rows of size and value.
/// MB/s are 10^6 bytes per second (osu_bw.c divides by 1e6). osu_bibw counts the bytes of both directions and
/// is halved. Latencies of osu_latency are one way (half of a round trip). Sizes of collectives are those of
/// one rank's message: per destination for alltoall, per contribution for allgather (nccl-tests counts n
/// times as much for both), the whole vector for allreduce, reduce, bcast and reduce_scatter. Sources:
/// mvapich's osu-micro-benchmarks, c/mpi/pt2pt and c/mpi/collective. The output does not state whether two
/// ranks of a pt2pt test share a node: two nodes are assumed unless --nodes 1 was given, or the log shows the
/// command with -N1 and device buffers, or two devices made visible.

#include "readings/logs/pair_points.hpp"
#include "text/ascii.hpp"
#include "text/csv.hpp"

#include <fmt/format.h>

#include <array>

namespace fabricost::core {

namespace {

enum class Test : unsigned char { none, bandwidth, sum_of_both, latency, collective, other };

/// `Allgather`, `All-to-All Personalized Exchange`: spellings of titles, the longest first.
struct Spelling {
  std::string_view title;
  Collective collective;
};
constexpr std::array<Spelling, 12> spellings{{{"reduce_scatter", Collective::reduce_scatter},
                                              {"reduce-scatter", Collective::reduce_scatter},
                                              {"reducescatter", Collective::reduce_scatter},
                                              {"all-reduce", Collective::all_reduce},
                                              {"allreduce", Collective::all_reduce},
                                              {"all-gather", Collective::all_gather},
                                              {"allgather", Collective::all_gather},
                                              {"all-to-all", Collective::all_to_all},
                                              {"alltoall", Collective::all_to_all},
                                              {"broadcast", Collective::broadcast},
                                              {"bcast", Collective::broadcast},
                                              {"reduce", Collective::reduce}}};

class OsuReader : LogReader {
 public:
  using LogReader::LogReader;

  void read() {
    each_line([this](const std::string& line, const Tokens& tokens) { take(line, tokens); });
  }

 private:
  void take(const std::string& line, const Tokens& tokens) {
    if (const auto at = line.find("# OSU "); at != std::string::npos) return title(line.substr(at + 2));
    if (const auto at = line.find("# Datatype: "); at != std::string::npos) {
      type_ = datatype(tokens.back());
      return;
    }
    visible_devices(line);
    command(line, tokens);
    if (columns(tokens)) return;
    if (value_ > 0) row(tokens);
  }

  /// `export HIP_VISIBLE_DEVICES=0,2`: two GPUs of one node, until another line contradicts it.
  void visible_devices(const std::string& line) {
    const auto at = line.find("VISIBLE_DEVICES=");
    if (at == std::string::npos) return;
    const std::string_view list = std::string_view{line}.substr(at + 16);
    const auto comma = list.find(',');
    pair_of_node_ =
        comma != std::string_view::npos && comma + 1 < list.size() && all_digits(list.substr(0, comma)) && is_digit(list[comma + 1]);
  }

  /// `srun -n2 -N1 .../osu_bw D D`: the number of nodes, and whether the buffers are on GPUs. Host buffers on
  /// one node are not interpreted: whether a library moves them through memory or the NIC is not printed.
  void command(const std::string& line, const Tokens& tokens) {
    const auto tool = line.rfind("osu_");
    if (tool == std::string::npos || line.find('#') == 0) return;
    named(std::string_view{line}.substr(tool + 4));
    command_nodes_ = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string_view count;
      if (tokens[i] == "-N" && i + 1 < tokens.size()) count = tokens[i + 1];
      if (tokens[i].starts_with("-N")) count = count.empty() ? tokens[i].substr(2) : count;
      if (tokens[i].starts_with("--nodes=")) count = tokens[i].substr(8);
      if (const auto nodes = whole_number(count)) command_nodes_ = *nodes;
    }
    const bool devices = tokens.size() > 2 && tokens.back() == "D" && tokens[tokens.size() - 2] == "D";
    if (command_nodes_ == 1 && !devices) command_nodes_ = 0;
  }

  /// `osu_bibw`: names the following test, in case its title is missing.
  void named(std::string_view tool) {
    std::size_t end = 0;
    while (end < tool.size() && ((tool[end] >= 'a' && tool[end] <= 'z') || tool[end] == '_')) ++end;
    tool = tool.substr(0, end);
    const auto operation = tool == "bcast" ? std::optional{Collective::broadcast} : parse_collective(tool);
    const Test test = tool == "bw"        ? Test::bandwidth
                      : tool == "bibw"    ? Test::sum_of_both
                      : tool == "latency" ? Test::latency
                      : operation         ? Test::collective
                                          : Test::none;
    if (test == Test::none) return;
    test_ = test;
    if (operation) collective_ = *operation;
    name_ = "osu_" + std::string{tool};
    value_ = 0;
    type_.reset();
  }

  static DataType datatype(std::string_view text) {
    if (has(text, "DOUBLE") || has(text, "LONG")) return DataType::double_precision;
    if (has(text, "FLOAT") || has(text, "INT")) return DataType::single;
    return DataType::int8;
  }

  void title(const std::string& text) {
    const std::string t = lower(text);
    test_ = Test::other;
    value_ = 0;
    type_.reset();
    name_ = text.substr(0, text.find(" Test"));
    if (const auto at = text.rfind(" v"); at != std::string::npos && at + 2 < text.size() && is_digit(text[at + 2])) {
      std::string_view version = std::string_view{text}.substr(at + 2);
      points_.version(version.substr(0, version.find(' ')));
    }
    if (has(t, "multiple bandwidth") || has(t, "message rate")) return;
    if (has(t, "bi-directional bandwidth") || has(t, "bibw")) {
      test_ = Test::sum_of_both;
    } else if (has(t, "bandwidth")) {
      test_ = Test::bandwidth;
    } else if (has(t, "latency")) {
      const bool vector = has(t, "allgatherv") || has(t, "all-gatherv") || has(t, "alltoallv") || has(t, "all-to-allv") ||
                          has(t, "alltoallw") || has(t, "gatherv") || has(t, "scatterv") || has(t, "non-blocking") ||
                          has(t, "nonblocking") || has(t, "neighborhood") || has(t, "barrier");
      if (vector) return;
      for (const Spelling& s : spellings)
        if (has(t, s.title)) {
          test_ = Test::collective;
          collective_ = s.collective;
          return;
        }
      if (has(t, "gather") || has(t, "scatter")) return;
      test_ = Test::latency;
    }
  }

  /// `# Size   Avg Latency(us)   Min Latency(us)`: the value is in the column after the size.
  bool columns(const Tokens& tokens) {
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (tokens[i] != "#" || tokens[i + 1] != "Size") continue;
      prefix_ = i;
      value_ = 0;
      if (test_ == Test::none) {
        test_ = Test::other;
        name_ = "an OSU table without its title";
      }
      std::string rest;
      for (std::size_t j = i + 2; j < tokens.size(); ++j) rest += std::string{tokens[j]} + " ";
      if (test_ == Test::bandwidth || test_ == Test::sum_of_both) {
        if (rest.starts_with("Bandwidth (MB/s)") || rest.starts_with("Bandwidth(MB/s)") || rest.starts_with("MB/s")) value_ = 1;
      } else if (test_ == Test::latency || test_ == Test::collective) {
        if (rest.starts_with("Latency (us)") || rest.starts_with("Latency(us)") || rest.starts_with("Avg Latency(us)") ||
            rest.starts_with("Avg Latency (us)"))
          value_ = 1;
      }
      unknown_ = value_ == 0;
      if (unknown_) value_ = 1;
      return true;
    }
    return false;
  }

  void row(const Tokens& tokens) {
    const auto first = row_start(tokens, 2, 1);
    if (!first) return;
    const auto size = parse_number(tokens[*first]), value = parse_number(tokens[*first + 1]);
    if (!value) {
      if (is_digit(tokens[*first + 1].front())) points_.skip_broken("OSU", lines_.number());
      return;
    }
    if (cut(tokens, *first + 2)) return points_.skip(row_cut_short);
    if (tokens.size() > *first + 2 && tokens.back() == "Fail") return points_.skip("the benchmark's own validation failed");
    if (test_ == Test::other || unknown_) return points_.skip(fmt::format("not modelled: {}", name_));
    const int line = lines_.number();
    const int given = points_.nodes_given(), nodes = given > 0 ? given : command_nodes_ > 0 ? command_nodes_ : pair_of_node_ ? 1 : 0;
    const Path path = nodes == 1 ? Path::gpu_gpu : Path::nic;
    points_.assume_nodes(nodes == 0 && !(test_ == Test::collective && points_.ranks_given()));
    const char* where = path == Path::nic && nodes == 0 ? "; taken as between nodes: nodes = 1 says otherwise" : "";
    switch (test_) {
      case Test::bandwidth:
        points_.transfer(line, *size, *value > 0 ? *size / (*value * 1e6) : 0, path, false, note(name_ + where), true);
        break;
      case Test::sum_of_both:
        points_.transfer(line, *size, *value > 0 ? *size / (*value * 0.5e6) : 0, path, true,
                         note(name_ + "; sum of both directions, halved" + where), true);
        break;
      case Test::latency: points_.transfer(line, *size, *value * 1e-6, path, false, note(name_ + where)); break;
      case Test::collective: {
        if (*size == 0) return points_.skip("bytes is 0");
        const int ranks = points_.ranks_taking_part(line);
        const bool parts = collective_ == Collective::all_gather || collective_ == Collective::all_to_all;
        const DataType type = type_.value_or(reduces(collective_) ? DataType::single : DataType::int8);
        points_.collective(line, collective_, type, *size * (parts ? ranks : 1), *value * 1e-6, ranks, note(name_));
        break;
      }
      default: break;
    }
  }

  Test test_ = Test::none;
  Collective collective_ = Collective::all_reduce;
  std::optional<DataType> type_;
  std::string name_;
  std::size_t value_ = 0;  ///< columns from the size to the value; 0: no table yet
  int command_nodes_ = 0;  ///< of the command that printed the following output; 0: unknown
  bool pair_of_node_ = false;
  bool unknown_ = false;  ///< in a table with other columns
};

}  // namespace

void read_osu(const std::filesystem::path& file, PointMaker& points) { OsuReader(file, points).read(); }

}  // namespace fabricost::core
