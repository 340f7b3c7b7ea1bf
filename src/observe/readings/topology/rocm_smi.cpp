/// `rocm-smi --showtopo` (or --showtopoweight, --showtopohops, --showtopotype, --showtoponuma): matrices under headings, then the NUMA node
/// of each GPU.
///
///   Weight between two GPUs     sum of the links' NUMA distances: 15 for XGMI in one hop, 40 and more over PCIe
///   Hops between two GPUs       2 over PCIe through one processor, 3 when the path crosses to another one
///   Link Type between two GPUs  XGMI or PCIE
///
/// The number of XGMI links of a pair and the NICs are not printed: one link is assumed, with a remark.

#include "readings/topology/topology_text.hpp"

#include "readings/logs/log_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fabricost::observe {

namespace {

enum class Section : unsigned char { none, weight, hops, type, numa, other };

class RocmSmi {
 public:
  explicit RocmSmi(const TopologyFile& file) : file_(file) {}

  DescribedTopology read() {
    DescribedTopology t;
    t.file = file_.name;
    t.format = "rocm-smi --showtopo";
    t.vendor = "amd";
    Section section = Section::none;
    for (std::size_t line = 0; line < file_.lines.size(); ++line) {
      const std::string& text = file_.lines[line];
      split(text, words_);
      if (words_.empty()) continue;
      if (const auto heading = heading_of(text)) {
        close(section, line);
        section = *heading;
        opened_[section] = line;
        columns_ = 0;
        next_row_ = 0;
        continue;
      }
      if (text.find("(Topology)") != std::string::npos) {
        read_numa(line);
        continue;
      }
      if (section == Section::weight || section == Section::hops || section == Section::type) read_matrix_line(section, line);
    }
    close(section, file_.lines.size());
    build(t);
    return t;
  }

 private:
  [[nodiscard]] static std::optional<Section> heading_of(const std::string& text) {
    if (text.find("===") == std::string::npos && text.find("between two GPUs") == std::string::npos) return std::nullopt;
    const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
    if (has("Weight between")) return Section::weight;
    if (has("Hops between")) return Section::hops;
    if (has("Link Type between")) return Section::type;
    if (has("Numa Nodes")) return Section::numa;
    return Section::other;
  }

  void read_matrix_line(Section section, std::size_t line) {
    // words before the first GPU belong to a launcher or log
    words_.erase(words_.begin(), std::find_if(words_.begin(), words_.end(), [](std::string_view word) { return gpu(word) >= 0; }));
    std::erase(words_, "|");
    if (words_.empty()) return;
    const bool header = words_.size() > 1 ? gpu(words_[0]) == 0 && gpu(words_[1]) == 1 : columns_ == 0 && gpu(words_[0]) == 0;
    if (header) {
      for (std::size_t k = 0; k < words_.size(); ++k)
        if (gpu(words_[k]) != static_cast<int>(k))
          file_.fault_at(line, words_[k], fmt::format("\"{}\" stands where GPU{} belongs", words_[k], k), "give the whole table");
      columns_ = words_.size();
      if (columns_ > max_devices) file_.fault(line, 0, fmt::format("{} GPUs in one node", columns_), "give one node's table");
      if (count_ != 0 && count_ != columns_)
        file_.fault(line, 0, fmt::format("{} GPUs here and {} above", columns_, count_), "give one node's tables");
      count_ = columns_;
      return;
    }
    const int row = gpu(words_[0]);
    if (row < 0) return;
    if (columns_ == 0) file_.fault(line, 0, "a row without a header of GPUs above it", "give the whole table");
    if (row != static_cast<int>(next_row_))
      file_.fault_at(line, words_[0], fmt::format("{} stands where GPU{} belongs", words_[0], next_row_), "give the whole table");
    if (words_.size() != columns_ + 1)
      file_.fault(line, 0, fmt::format("GPU{}'s row has {} of {} cells", row, words_.size() - 1, columns_),
                  "the row is cut: give the whole table");
    ++next_row_;
    std::vector<std::string> cells;
    for (std::size_t k = 1; k < words_.size(); ++k) {
      check_cell(section, line, words_[k], static_cast<std::size_t>(row), k - 1);
      cells.emplace_back(words_[k]);
    }
    std::vector<std::vector<std::string>>& matrix = matrices_[section];
    if (matrix.size() != static_cast<std::size_t>(row)) file_.fault(line, 0, "a second table of the same kind", "give one node's tables");
    for (std::size_t k = 0; k < static_cast<std::size_t>(row); ++k)
      if (matrix[k][static_cast<std::size_t>(row)] != cells[k])
        file_.fault_at(
            line, words_[k + 1],
            fmt::format("GPU{}-GPU{} is {} here and {} in GPU{}'s row", row, k, cells[k], matrix[k][static_cast<std::size_t>(row)], k),
            "what joins two GPUs is the same both ways; the table was edited or damaged");
    matrix.push_back(std::move(cells));
    lines_[static_cast<std::size_t>(row)] = line;
  }

  void check_cell(Section section, std::size_t line, std::string_view cell, std::size_t row, std::size_t column) const {
    const bool self = row == column;
    const bool absent = is_absent(cell);
    if (absent) return;
    if (self) {
      if (cell != "0" && cell != "X")
        file_.fault_at(line, cell, fmt::format("{} in GPU{}'s own column, where 0 belongs", cell, row), "the columns have moved");
      return;
    }
    if (section == Section::type) {
      if (cell != "XGMI" && cell != "PCIE") file_.fault_at(line, cell, fmt::format("\"{}\" is no link type", cell), "XGMI or PCIE");
    } else if (!all_digits(cell) || cell.size() > 6) {
      file_.fault_at(line, cell, fmt::format("\"{}\" is no {}", cell, section == Section::hops ? "number of hops" : "weight"),
                     "a whole number");
    }
  }

  void close(Section section, std::size_t line) {
    if (section != Section::weight && section != Section::hops && section != Section::type) return;
    if (next_row_ == columns_) return;
    if (columns_ == 0) return;
    file_.fault(std::min(line, file_.lines.size()) - 1, 0, fmt::format("the table ends after {} of {} rows", next_row_, columns_),
                "give the whole table");
  }

  void read_numa(std::size_t line) {
    const std::string& text = file_.lines[line];
    const std::size_t open = text.find("GPU["), close = text.find(']');
    const std::size_t colon = text.rfind(':');
    if (open == std::string::npos || close == std::string::npos || close < open) return;
    const std::string_view index = std::string_view{text}.substr(open + 4, close - open - 4);
    std::string_view value = std::string_view{text}.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    if (text.find("Numa Node") == std::string::npos) return;
    const auto gpu_number = whole_number(index, 4), node = whole_number(value, 4);
    if (!gpu_number) file_.fault(line, open, fmt::format("\"{}\" is no GPU number", index), "write GPU[0]");
    if (is_absent(value) || value == "-1") return;
    if (!node) file_.fault(line, colon, fmt::format("\"{}\" is no NUMA node", value), "a whole number");
    numa_[*gpu_number] = *node;
  }

  void build(DescribedTopology& t) {
    if (count_ == 0) throw fault_of_file(file_.name, "holds no table of two GPUs", "give the output of rocm-smi --showtopo");
    for (std::size_t i = 0; i < count_; ++i) {
      TopologyDevice d;
      d.name = fmt::format("GPU{}", i);
      d.line = static_cast<int>(lines_[i]) + 1;
      if (const auto node = numa_.find(static_cast<int>(i)); node != numa_.end()) d.numa = {node->second};
      t.gpus.push_back(std::move(d));
    }
    for (const auto& [index, node] : numa_)
      if (index >= static_cast<int>(count_))
        file_.fault(file_.lines.size() - 1, 0, fmt::format("GPU[{}] has a NUMA node, but the tables have {} GPUs", index, count_),
                    "give the whole output");
    size_matrices(t);
    const auto& type = matrices_[Section::type];
    const auto& hops = matrices_[Section::hops];
    t.links_stated = !type.empty();
    if (type.empty())
      t.warnings.push_back(file_.warning(file_.lines.size() - 1, "there is no table of link types: what joins the GPUs is not said"));
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t j = 0; j < count_; ++j) {
        if (i == j) continue;
        const int steps = hops.empty() || !all_digits(hops[i][j]) ? 0 : std::stoi(hops[i][j]);
        const bool direct = !type.empty() && type[i][j] == "XGMI" && steps <= 1;
        if (direct) {
          t.links[i][j] = 1;
          ++t.links_of[i];
        } else if (!type.empty() && type[i][j] == "PCIE") {
          t.paths[i][j] = steps >= 3 ? NicPath::sys : NicPath::phb;
        }
      }
    if (numa_.size() < count_)
      t.warnings.push_back(file_.warning(file_.lines.size() - 1,
                                         fmt::format("the NUMA nodes of {} of {} GPUs are missing: the file is cut, or an old version "
                                                     "wrote it",
                                                     count_ - numa_.size(), count_)));
    if (t.links_per_gpu() > 0) t.doubts.push_back("one XGMI link for each pair: rocm-smi does not print how many");
    check_paths(t, file_);
    count_sockets(t);
  }

  /// 7 for the word GPU7; -1: another word.
  [[nodiscard]] static int gpu(std::string_view word) {
    return word.starts_with("GPU") ? whole_number(word.substr(3), 4).value_or(-1) : -1;
  }

  const TopologyFile& file_;
  Tokens words_;
  std::size_t columns_ = 0, next_row_ = 0, count_ = 0;
  std::map<Section, std::size_t> opened_;
  std::map<Section, std::vector<std::vector<std::string>>> matrices_;
  std::map<std::size_t, std::size_t> lines_;
  std::map<int, int> numa_;
};

}  // namespace

DescribedTopology read_rocm_smi(const TopologyFile& file) { return RocmSmi(file).read(); }

}  // namespace fabricost::observe
