/// `nvidia-smi topo -m`: a header of device names and a row per device (X on the diagonal; NV# bonded
/// NVLinks; PIX, PXB, PHB, NODE, SYS, in old versions SOC, where PCIe paths meet), then CPU and NUMA
/// affinities, a legend, the names behind NIC0, NIC1, ...
///
/// Tables come from terminals, chats and logs. Blanks, pipes and prefixes are ignored, and a row may continue
/// in the next line. Missing NIC columns, final rows and affinities give a warning; invalid cells, diagonals
/// or asymmetries are errors.

#include "readings/topology/topology_text.hpp"

#include "readings/logs/log_text.hpp"
#include "specs/parts/gpu_index.hpp"
#include "text/joined.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fabricost::observe {

namespace {

struct Word {
  std::string_view text;
  std::size_t line = 0;
};

class NvidiaSmi {
 public:
  explicit NvidiaSmi(const TopologyFile& file) : file_(file) {}

  DescribedTopology read() {
    clean();
    std::vector<DescribedTopology> found;
    for (std::size_t line = 0; line < words_.size();) {
      if (!is_header(line)) {
        note_free_row(line++);
        continue;
      }
      found.push_back(read_table(line));
    }
    if (found.empty()) refuse_without_table();
    DescribedTopology& t = found.front();
    for (std::size_t k = 1; k < found.size(); ++k)
      if (found[k].links != t.links || found[k].paths != t.paths)
        file_.fault(static_cast<std::size_t>(header_lines_[k]), 0,
                    fmt::format("a second table that differs from the one in line {}", header_lines_[0] + 1), "keep one machine's table");
    read_names(t, text_, words_);
    count_sockets(t);
    return t;
  }

 private:
  void clean() {
    text_ = file_.lines;
    words_.resize(text_.size());
    for (std::size_t i = 0; i < text_.size(); ++i) {
      for (char& c : text_[i])
        if (c == '|' || c == '`' || c == '"' || c == '\'' || c == '#' || c == '>') c = ' ';
      Tokens tokens;
      split(text_[i], tokens);
      words_[i] = tokens;
    }
  }
  [[noreturn]] void fault(const Word& word, std::string message, std::string remedy) const {
    const auto column = static_cast<std::size_t>(word.text.data() - text_[word.line].data());
    file_.fault(word.line, column, std::move(message), std::move(remedy));
  }

  /// Index of the first device name if the line is a header, which does not start with a name and a cell.
  [[nodiscard]] std::optional<std::size_t> first_name(std::size_t line) const {
    const Tokens& words = words_[line];
    for (std::size_t k = 0; k < words.size(); ++k)
      if (is_gpu(words[k])) return k;
    return std::nullopt;
  }
  [[nodiscard]] bool is_header(std::size_t line) const {
    const auto k = first_name(line);
    if (!k) return false;
    const Tokens& words = words_[line];
    const std::size_t names = *k;
    if (upper(words[names]) != "GPU0") return false;
    const bool more = names + 1 < words.size();
    for (std::size_t next = names + 1; next < words.size() && !is_affinity_heading(words[next]); ++next)
      if (const auto cell = cell_of(words[next]); cell && !cell->unknown()) return false;  // row of GPU0
    if (more)
      return is_gpu(words[names + 1]) || is_nic_name(words[names + 1]) || (upper(words[names + 1]) == "CPU" && names + 2 < words.size());
    return line + 1 < words_.size() && is_row(line + 1);  // a single GPU
  }
  /// Index of a device name followed by a cell; `names`: those of the header, any name if empty.
  [[nodiscard]] std::optional<std::size_t> row_start(std::size_t line, const std::vector<std::string>& names = {}) const {
    const Tokens& words = words_[line];
    for (std::size_t k = 0; k + 1 < words.size(); ++k) {
      const bool known = std::find(names.begin(), names.end(), words[k]) != names.end();
      const auto cell = cell_of(words[k + 1]);
      if ((known || is_gpu(words[k]) || is_nic_name(words[k])) && cell && (!cell->unknown() || known)) return k;
      // a name of the header starts a row whatever its cell, so that a damaged cell is not taken for text
      if (known && !std::any_of(names.begin(), names.end(), [&](const std::string& n) { return n == words[k + 1]; }) &&
          words[k + 1].find(':') == std::string_view::npos && words[k + 1] != "=" && words[k].find(':') == std::string_view::npos)
        return k;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool is_row(std::size_t line) const { return row_start(line).has_value(); }

  void note_free_row(std::size_t line) {
    if (!orphan_ && is_row(line) && first_name(line)) orphan_ = line;
  }
  [[noreturn]] void refuse_without_table() const {
    if (orphan_)
      file_.fault(*orphan_, 0, "a row of a topology, but no header above it names the columns", "give the whole of nvidia-smi topo -m");
    throw fault_of_file(file_.name, "is no topology we know",
                        "give the output of nvidia-smi topo -m or rocm-smi --showtopo, or the XML that NCCL_TOPO_DUMP_FILE names");
  }

  DescribedTopology read_table(std::size_t& line) {
    names_.clear();
    columns_.clear();
    DescribedTopology t;
    t.file = file_.name;
    t.format = "nvidia-smi topo -m";
    t.vendor = "nvidia";
    header_lines_.push_back(static_cast<int>(line));
    read_header(line);
    std::vector<std::string> row_names;
    std::map<std::string, std::vector<Word>> rows;
    const std::size_t cells = names_.size();
    std::size_t last = line;
    std::size_t blank = 0;
    for (; line < words_.size(); ++line) {
      if (words_[line].empty()) {
        if (++blank > 1 || !rows.empty()) {
          if (rows.size() >= names_.size() || !next_is_row(line)) break;
        }
        continue;
      }
      if (is_header(line)) break;
      const auto start = row_start(line, names_);
      if (!start) {
        if (is_table_rule(line)) continue;
        if (!rows.empty()) break;
        continue;
      }
      const Word label{words_[line][*start], line};
      const std::string name{label.text};
      if (rows.contains(name)) {
        fault(label, fmt::format("a second row for {}", name), "keep one");
      }
      if (is_gpu(name) && std::find(names_.begin(), names_.end(), name) == names_.end())
        fault(label, fmt::format("{} has a row, but the header in line {} names no such column", name, header_lines_.back() + 1),
              "give the whole header");
      last = line;
      rows[name] = read_row(line, *start + 1, cells, name);
      row_names.push_back(name);
    }
    // devices: those of the header, then rows of NICs that it does not name
    std::vector<std::string> nics;
    for (const std::string& name : names_) {
      if (is_gpu(name))
        t.gpus.push_back({.name = name});
      else
        nics.push_back(name);
    }
    std::vector<std::string> unnamed;
    for (const std::string& name : row_names)
      if (std::find(names_.begin(), names_.end(), name) == names_.end()) unnamed.push_back(name);
    for (std::size_t i = 0; i < t.gpus.size(); ++i)
      if (t.gpus[i].name.substr(3) != std::to_string(i))
        file_.fault(static_cast<std::size_t>(header_lines_.back()), 0,
                    fmt::format("the header has {} where GPU{} belongs", t.gpus[i].name, i), "give the whole header, in order");
    const std::string free = unnamed.empty() ? "" : unnamed.front();
    const auto gone = std::find_if(names_.begin(), names_.end(), [&](const std::string& n) { return !rows.contains(n); });
    if (!free.empty() && (gone != names_.end() || !nics.empty()))
      fault(Word{words_[rows.at(free).front().line].front(), rows.at(free).front().line},
            fmt::format("a row for {}, which is no column of the header in line {}{}", free, header_lines_.back() + 1,
                        gone != names_.end() ? fmt::format(", and none for {}", *gone) : ""),
            "correct the name, or give the whole table");
    if (rows.empty())
      file_.fault(static_cast<std::size_t>(header_lines_.back()), 0,
                  fmt::format("a header of {} devices without a row below it", names_.size()), "give the whole of nvidia-smi topo -m");
    for (const std::string& name : nics) t.nics.push_back({.name = name});
    for (const std::string& name : unnamed) t.nics.push_back({.name = name});
    if (!unnamed.empty())
      t.warnings.push_back(
          file_.warning(static_cast<std::size_t>(header_lines_.back()),
                        fmt::format("the columns of {} are cut off; their rows say how far the GPUs are", joined_with_and(unnamed))));
    size_matrices(t);
    fill(t, rows, last);
    check_paths(t, file_, columns_);
    count_nvlinks(t, file_);
    return t;
  }

  /// A rule under a header: |---|---|, or +----+
  [[nodiscard]] bool is_table_rule(std::size_t line) const {
    return std::all_of(words_[line].begin(), words_[line].end(),
                       [](std::string_view w) { return w.find_first_not_of("-+:=") == std::string_view::npos; });
  }
  [[nodiscard]] bool next_is_row(std::size_t line) const {
    while (line < words_.size() && words_[line].empty()) ++line;
    return line < words_.size() && row_start(line, names_).has_value() && !is_header(line);
  }

  void read_header(std::size_t& line) {
    const std::size_t begin = line;
    std::size_t k = *first_name(line);
    bool ended = false;
    for (; !ended; ++line, k = 0) {
      if (line > begin && (line >= words_.size() || words_[line].empty() || row_start(line).has_value() || is_table_rule(line))) break;
      const Tokens& words = words_[line];
      if (line > begin && !(is_gpu(words.front()) || is_nic_name(words.front()) || is_affinity_heading(words.front()))) break;
      for (; k < words.size(); ++k) {
        if (is_affinity_heading(words[k])) {
          ended = true;
          break;
        }
        const Word word{words[k], line};
        if (!is_gpu(words[k]) && !is_nic_name(words[k]))
          fault(word, fmt::format("\"{}\" is no name of a GPU or a NIC", printable(words[k])), "a header names GPU0 GPU1 ... and NICs");
        const std::string name = is_gpu(words[k]) ? upper(words[k]) : std::string{words[k]};
        if (std::find(names_.begin(), names_.end(), name) != names_.end()) fault(word, fmt::format("a second column {}", name), "keep one");
        names_.push_back(name);
        if (names_.size() > max_devices)
          fault(word, fmt::format("more than {} devices", max_devices), "no node has as many GPUs and NICs; give one node's table");
      }
    }
    // headings that continue in their own line
    while (line < words_.size() && !words_[line].empty() && !row_start(line).has_value() &&
           std::all_of(words_[line].begin(), words_[line].end(), is_affinity_heading))
      ++line;
  }

  /// Parses the cells of one row, from word `k` on; the following words are kept for the affinities.
  std::vector<Word> read_row(std::size_t& line, std::size_t k, std::size_t cells, const std::string& name) {
    std::vector<Word> out;
    for (;; ++line, k = 0) {
      const Tokens& words = words_[line];
      for (; k < words.size(); ++k) {
        const Word word{words[k], line};
        if (out.size() < cells && !cell_of(words[k])) {
          // a NIC's row ends early if its own columns are missing, or if affinities follow
          if (!is_gpu(name) && out.size() >= gpu_columns()) return finish_row(line, out);
          fault(word, fmt::format("\"{}\" is no cell of {}'s row", printable(words[k]), name),
                fmt::format("a cell is X, NV1 to NV{}, PIX, PXB, PHB, NODE or SYS", known_->max_nvlinks()));
        }
        out.push_back(word);
      }
      if (out.size() >= cells) return finish_row(line, out);
      // the row continues in the next line if that begins with a cell
      const bool on = line + 1 < words_.size() && !words_[line + 1].empty() && cell_of(words_[line + 1].front()) && !is_header(line + 1) &&
                      !(words_[line + 1].size() > 1 && words_[line + 1][1] == "=");
      if (!on) return out;
    }
  }
  /// Adds an affinity that the terminal wrapped to its own line to the row above it.
  std::vector<Word> finish_row(std::size_t& line, std::vector<Word>& out) {
    if (line + 1 < words_.size() && !words_[line + 1].empty() && is_digit(words_[line + 1].front().front()) &&
        !row_start(line + 1, names_)) {
      ++line;
      for (const std::string_view word : words_[line]) out.push_back({word, line});
    }
    return out;
  }
  [[nodiscard]] std::size_t gpu_columns() const {
    return static_cast<std::size_t>(std::count_if(names_.begin(), names_.end(), [](const std::string& n) { return is_gpu(n); }));
  }
  void fill(DescribedTopology& t, const std::map<std::string, std::vector<Word>>& rows, std::size_t last) {
    const std::size_t all = t.paths.size();
    const auto device = [&](std::size_t i) -> TopologyDevice& { return i < t.gpus.size() ? t.gpus[i] : t.nics[i - t.gpus.size()]; };
    std::map<std::string, std::size_t> index;
    for (std::size_t i = 0; i < all; ++i) index[device(i).name] = i;
    std::vector<std::vector<std::optional<Cell>>> cell(all, std::vector<std::optional<Cell>>(all));
    std::vector<std::vector<Word>> where(all, std::vector<Word>(all));
    columns_.assign(all, std::vector<std::size_t>(all, 0));
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < all; ++i) {
      const auto row = rows.find(device(i).name);
      if (row == rows.end()) {
        missing.push_back(device(i).name);
        continue;
      }
      const std::vector<Word>& words = row->second;
      if (!words.empty()) device(i).line = static_cast<int>(words.front().line) + 1;
      const bool nic = i >= t.gpus.size();
      // an affinity wrapped to its own line may follow a row that ends early
      std::size_t have = 0;
      while (have < std::min(words.size(), names_.size()) && cell_of(words[have].text)) ++have;
      if (have < names_.size() && !(nic && have == gpu_columns()))
        fault(words.back(), fmt::format("{}'s row ends after {} of {} cells", device(i).name, have, names_.size()),
              "the row is cut: give the whole table");
      if (have < names_.size())
        t.warnings.push_back(file_.warning(words.back().line, fmt::format("{}'s row ends after the GPUs", device(i).name)));
      for (std::size_t k = 0; k < have; ++k) {
        const std::size_t j = index.at(names_[k]);
        cell[i][j] = cell_of(words[k].text);
        where[i][j] = words[k];
        columns_[i][j] = static_cast<std::size_t>(words[k].text.data() - text_[words[k].line].data());
        check_cell(t, *cell[i][j], i, j, words[k], device(i).name, device(j).name);
      }
      if (words.size() > names_.size() && cell_of(words[names_.size()].text) && !cell_of(words[names_.size()].text)->unknown())
        fault(words[names_.size()], fmt::format("{}'s row has more cells than the header's {}", device(i).name, names_.size()),
              "the header is cut: give the whole table");
      read_affinity(t, device(i), {words.begin() + static_cast<std::ptrdiff_t>(have), words.end()});
    }
    for (std::size_t i = 0; i < all; ++i)
      for (std::size_t j = i + 1; j < all; ++j) {
        if (cell[i][j] && cell[j][i] && *cell[i][j] != *cell[j][i])
          fault(where[j][i],
                fmt::format("{1}-{0} is {2} here and {3} in line {4}", device(i).name, device(j).name, where[j][i].text, where[i][j].text,
                            where[i][j].line + 1),
                "what joins two devices is the same both ways; the table was edited or damaged");
        const Cell known = cell[i][j] ? *cell[i][j] : cell[j][i] ? *cell[j][i] : Cell{};
        if (known.links > 0) t.links[i][j] = t.links[j][i] = known.links;
        if (known.kind == Cell::Kind::path) t.paths[i][j] = t.paths[j][i] = known.path;
      }
    for (std::size_t i = 0; i < t.gpus.size(); ++i) {
      TopologyDevice& gpu = t.gpus[i];
      const bool cut = !file_.ended && gpu.line == static_cast<int>(file_.lines.size()) && gpu.numa.empty() && !gpu.cpus.empty();
      const bool known =
          std::any_of(t.gpus.begin(), t.gpus.end(), [&](const TopologyDevice& d) { return &d != &gpu && d.cpus == gpu.cpus; });
      if (!cut || known) continue;
      t.warnings.push_back(file_.warning(
          last, fmt::format("the file ends in {}'s CPU affinity \"{}\", which no other GPU has; left out", gpu.name, gpu.cpus)));
      gpu.cpus.clear();
    }
    if (missing.empty()) return;
    t.warnings.push_back(file_.warning(
        last, fmt::format("the table ends here: the header names {} devices, and the row{} of {} {} missing; what is "
                          "known of them is what the other rows say",
                          names_.size(), missing.size() == 1 ? "" : "s", joined_with_and(missing), missing.size() == 1 ? "is" : "are")));
  }

  void check_cell(const DescribedTopology& t, const Cell& cell, std::size_t i, std::size_t j, const Word& word, const std::string& row,
                  const std::string& column) const {
    if ((i == j) != cell.self() && !cell.unknown())
      fault(word,
            i == j ? fmt::format("{} stands in {}'s own column, where X belongs", word.text, row)
                   : fmt::format("X stands in {}'s column of {}'s row", column, row),
            "the columns have moved or a cell is missing");
    if (cell.kind != Cell::Kind::links) return;
    if (i >= t.gpus.size() || j >= t.gpus.size())
      fault(word, fmt::format("{} between {} and {}: a NIC has no NVLinks", word.text, row, column),
            "the columns have moved or a cell is damaged");
    const std::vector<int>& announced = known_->announced_nvlinks();
    const bool whole = std::find(announced.begin(), announced.end(), cell.links) != announced.end();
    if (cell.links < 1 || (cell.links > known_->max_nvlinks() && !whole))
      fault(word, fmt::format("{} between {} and {}: no GPU has {} NVLinks", word.text, row, column, cell.links),
            fmt::format("write NV1 to NV{} (behind the switches of GPUs to come {})", known_->max_nvlinks(), joined(announced)));
  }

  /// Parses "0-23,48-71  0  N/A", or NUMA 0; an invalid list is reported.
  void read_affinity(DescribedTopology& t, TopologyDevice& device, const std::vector<Word>& words) {
    std::vector<Word> rest;
    for (const Word& word : words)
      if (!is_affinity_heading(word.text)) rest.push_back(word);
    const bool labelled = rest.size() != words.size();  // NUMA 0
    std::size_t at = 0;
    const auto damaged = [&](const Word& word, const char* what) {
      t.warnings.push_back(
          file_.warning(word.line, fmt::format("{}'s {} \"{}\" is damaged; left out", device.name, what, printable(word.text))));
    };
    if (!labelled && at < rest.size()) {
      std::vector<int> cpus;
      if (is_absent(rest[at].text)) {
      } else if (read_numbers(rest[at].text, cpus)) {
        device.cpus = rest[at].text;
      } else {
        damaged(rest[at], "CPU affinity");
      }
      ++at;
    }
    if (at < rest.size()) {
      if (!is_absent(rest[at].text) && !read_numbers(rest[at].text, device.numa)) {
        device.numa.clear();
        damaged(rest[at], "NUMA affinity");
      }
      if (device.numa.size() > 64) device.numa.clear();
      ++at;
    }
    if (at < rest.size()) device.own_memory_node = all_digits(rest[at].text);
  }

  const TopologyFile& file_;
  std::shared_ptr<const GpuIdentities> known_ = GpuIdentities::shipped();
  std::vector<std::string> text_;  ///< lines with decoration replaced by blanks
  std::vector<Tokens> words_;
  std::vector<std::string> names_;  ///< of the columns
  CellColumns columns_;
  std::vector<int> header_lines_;
  std::optional<std::size_t> orphan_;
};

}  // namespace

DescribedTopology read_nvidia_smi(const TopologyFile& file) { return NvidiaSmi(file).read(); }

}  // namespace fabricost::observe
