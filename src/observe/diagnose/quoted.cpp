/// Splits lines into "words: figure unit" and interprets the words.

#include "diagnose/quoted.hpp"

#include "readings/logs/line_fields.hpp"
#include "readings/logs/literals.hpp"
#include "readings/logs/log_text.hpp"
#include "text/csv.hpp"
#include "text/joined.hpp"

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/collective.hpp>
#include <fabricost/predict/compile.hpp>
#include <fabricost/price/protocol.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace fabricost::observe::diagnosis {

namespace {

bool is_alpha(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

struct UnitName {
  std::string_view names;
  double factor;
};
constexpr std::array<UnitName, 2> time_units{{{"us usec", 1e-6}, {"ms", 1e-3}}};
constexpr std::array<UnitName, 4> size_units{{{"B", 1}, {"KB KiB", 1024}, {"MB MiB M", 1048576}, {"GB GiB G", 1073741824}}};

template <class Unit, std::size_t N>
double factor_in(const std::array<Unit, N>& units, std::string_view name) {
  constexpr std::string_view ends = ",.);:";
  while (!name.empty() && ends.find(name.back()) != std::string_view::npos) name.remove_suffix(1);
  for (const Unit& unit : units)
    if (has_word(unit.names, name)) return unit.factor;
  return 0;
}

/// "~58", "365-370" (the first), "830+": a number and its suffix. Nothing for "2.19.3", "0x1d", "mlx5_0".
struct Number {
  double value = 0;
  std::string_view rest;
};
std::optional<Number> number_in(std::string_view token) {
  while (!token.empty() && (token.front() == '~' || token.front() == '(' || token.front() == '=')) token.remove_prefix(1);
  if (token.empty() || !is_digit(token.front())) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  std::string_view rest = token.substr(static_cast<std::size_t>(end - token.data()));
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '/') && rest.size() > 1 && is_digit(rest[1])) {  // a range
    std::size_t n = 1;
    while (n < rest.size() && (is_digit(rest[n]) || rest[n] == '.')) ++n;
    rest.remove_prefix(n);
  }
  if (!rest.empty() && (rest.front() == '+' || rest.front() == ',')) rest.remove_prefix(1);
  if (!rest.empty() && (is_digit(rest.front()) || rest.front() == '.' || rest.front() == '_' || rest.front() == ':')) return std::nullopt;
  return Number{value, rest};
}

/// "2.19.3", "v2.10.3-1": at least two points in digits.
std::string version_in(std::string_view token) {
  while (!token.empty() && (token.front() == 'v' || token.front() == '(')) token.remove_prefix(1);
  std::size_t end = 0;
  int points = 0;
  while (end < token.size() && (is_digit(token[end]) || (token[end] == '.' && end + 1 < token.size() && is_digit(token[end + 1])))) {
    points += token[end] == '.' ? 1 : 0;
    ++end;
  }
  return points == 2 && is_digit(token.front()) && token.substr(0, 2) != "0." ? std::string{token.substr(0, end)} : "";
}

bool is_variable(std::string_view token) {
  return token.find('=') != std::string_view::npos &&
         (token.starts_with("NCCL_") || token.starts_with("RCCL_") || token.starts_with("UCX_") || token.starts_with("FI_"));
}

/// A count as it is printed; 0 if it is not one.
int whole(double value) { return value >= 1 && value < 1e6 && value == std::floor(value) ? static_cast<int>(value) : 0; }

/// A number of nodes in words: "2 nodes", "4-5 nodes", "single node", "two nodes", "six-node".
int nodes_in(const Tokens& tokens) {
  static constexpr std::array<std::string_view, 9> spelled{"", "one", "two", "three", "four", "five", "six", "seven", "eight"};
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string token = lower(tokens[i]);
    if (!token.starts_with("node") || i == 0) continue;
    const std::string before = lower(tokens[i - 1]);
    if (before == "single") return 1;
    for (std::size_t n = 1; n < spelled.size(); ++n)
      if (before == spelled[n]) return static_cast<int>(n);
    if (const auto number = number_in(before); number && number->value == std::floor(number->value) && number->value < 1e6)
      return static_cast<int>(number->value);
  }
  return 0;
}

/// "default(tree)" -> "tree"; empty without brackets.
std::string_view in_brackets(std::string_view word) {
  const auto open = word.find('(');
  if (open == std::string_view::npos || word.back() != ')') return {};
  return word.substr(open + 1, word.size() - open - 2);
}

/// Reads the words before a figure.
void read_label(std::string_view label, Quoted& out) {
  out.label = std::string{label};
  const Tokens tokens = words(label);
  const std::string folded = lower(label);
  if (out.nodes == 0) out.nodes = nodes_in(tokens);
  out.perftest = folded.find("ib_write") != std::string::npos || folded.find("ib_read") != std::string::npos ||
                 folded.find("ib_send") != std::string::npos || folded.find("perftest") != std::string::npos;
  out.by_default = folded.find("default") != std::string::npos;
  const auto says = [&](const char* word) { return folded.find(word) != std::string::npos; };
  const bool place = says("leaf") || says("rack") || says("spine") || says("tor") || says("switch") || says("pod");
  out.near = place && (says("same") || says("within") || says("intra") || says("single"));
  out.far = place && !out.near &&
            (says("across") || says("cross") || says("different") || says("inter") || says("spine") || says("double") || says("two "));
  out.this_run = says("this run");
  out.sibling = says("base setting") || says("baseline") || says("reference") || says("sibling") || says("other runs");
  out.whole = folded.find("all ") != std::string::npos && folded.find("nic") != std::string::npos;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::string_view token = tokens[i];
    while (!token.empty() && (token.back() == ':' || token.back() == ',')) token.remove_suffix(1);
    if (token.empty()) continue;
    if (is_variable(token)) {
      const auto equal = token.find('=');
      const std::string name{token.substr(0, equal)}, value{token.substr(equal + 1)};
      out.settings.emplace_back(name, value);
      if (name == "NCCL_ALGO") out.algorithm = lower(value);
      if (name == "NCCL_PROTO") out.protocol = lower(value);
      continue;
    }
    const bool after_driver = i > 0 && lower(tokens[i - 1]) == "driver";
    if (const std::string version = version_in(token); !version.empty()) (after_driver ? out.driver : out.version) = version;
    if (i > 0 && out.version.empty() && is_digit(token.front()) && token.find('.') != std::string_view::npos && number_in(token)) {
      const std::string before = lower(tokens[i - 1]);  // "NCCL 2.18"
      if (before == "nccl" || before == "rccl" || before == "rocm" || before == "version") out.version = std::string{token};
    }
    const std::string word = lower(token);
    if (i > 0 && (word == "on" || word == "off" || word == "enabled" || word == "disabled"))  // "NVLS off": a setting without a variable
      for (const std::string_view feature : {"NVLS", "P2P", "GDR", "GDRDMA", "ACS", "IOMMU", "SHARP", "LL128", "PXN"})
        if (tokens[i - 1] == feature) out.settings.emplace_back(feature, word == "on" || word == "enabled" ? "ON" : "OFF");
    const bool machine = !is_variable(token) && is_alpha(token.front()) && is_digit(token.back());
    if (i > 0 && machine && (lower(tokens[i - 1]) == "without" || lower(tokens[i - 1]) == "excluding")) out.left_out = std::string{token};
    for (const std::string_view algorithm : {"ring", "tree", "nvls", "nvlstree", "collnet"})
      if (word == algorithm || in_brackets(word) == algorithm) out.algorithm = algorithm;
    for (const std::string_view protocol : {"ll", "ll128", "simple"})
      if (word == protocol) out.protocol = protocol;
    // a pair of nodes: "se02gn644,se02gn699", "pair 1+2", "nodes a-b"
    const auto cut = token.find_first_of(",+");
    if (cut != std::string_view::npos && cut > 0 && cut + 1 < token.size() && out.pair.first.empty()) {
      const std::string_view a = token.substr(0, cut), b = token.substr(cut + 1);
      const bool named = is_alpha(a.front()) && is_alpha(b.front()) && a.size() > 1 && a.find('=') == std::string_view::npos &&
                         std::any_of(a.begin(), a.end(), is_digit);
      const bool said = i > 0 && (lower(tokens[i - 1]).starts_with("pair") || lower(tokens[i - 1]).starts_with("node"));
      if (named || said) out.pair = {std::string{a}, std::string{b}};
    }
    if (const auto arrow = token.find("<->"); arrow != std::string_view::npos) {
      const std::string_view a = token.substr(0, arrow), b = token.substr(arrow + 3);
      if (lower(a).starts_with("gpu")) {
        out.gpus = {std::string{a}, std::string{b}};
      } else if (!a.empty() && !b.empty() && out.pair.first.empty()) {
        out.pair = {std::string{a}, std::string{b}};
      }
    }
    if (const auto number = number_in(token)) {  // a size: "1 GB", "512KB"
      const double own = factor_in(size_units, number->rest);
      const double next = number->rest.empty() && i + 1 < tokens.size() ? factor_in(size_units, tokens[i + 1]) : 0;
      if (own > 0 || next > 0) out.bytes = number->value * (own > 0 ? own : next);
      if (i + 1 < tokens.size() && lower(tokens[i + 1]).starts_with("gpu")) out.ranks = whole(number->value);
    }
  }
}

/// A label that distinguishes its figure: enough to believe a number without a unit.
bool telling(const Quoted& q) {
  return !q.version.empty() || !q.driver.empty() || !q.algorithm.empty() || !q.pair.first.empty() || q.nodes > 0 || !q.settings.empty();
}

/// A number without a unit is GB/s if its label distinguishes it and its place marks it as a result: last of
/// its piece under a heading or word of bandwidth, after "version:", or after "algorithm:" ("NVLS: 365-370
/// for 2..4 GPUs").
bool means_a_rate(const Quoted& q, bool last, bool under_heading, bool glued) {
  const bool colon = q.label.ends_with(":");
  if (!q.algorithm.empty() && (colon || q.label.empty())) return true;
  const std::string folded = lower(q.label);
  const bool of_algorithm = (q.near || q.far) && !q.algorithm.empty() && folded.ends_with(q.algorithm);
  if (telling(q) && (folded.ends_with("busbw") || of_algorithm)) return true;
  if (!last || !telling(q)) return false;
  return under_heading || !q.pair.first.empty() || folded.find("bandwidth") != std::string::npos ||
         folded.find("busbw") != std::string::npos || (!q.version.empty() && (colon || glued));
}

/// Pieces of a line between ';', ", ", and three blanks.
std::vector<std::string_view> pieces_of(std::string_view line) {
  std::vector<std::string_view> out;
  std::size_t first = 0;
  for (std::size_t at = 0; at <= line.size(); ++at) {
    const bool end = at == line.size();
    const auto blank = [&](std::size_t i) { return i < line.size() && line[i] == ' '; };
    const bool comma = !end && line[at] == ',' && blank(at + 1);
    const bool gap = blank(at) && blank(at + 1) && blank(at + 2);
    if (!end && line[at] != ';' && !comma && !gap) continue;
    if (at > first) out.push_back(line.substr(first, at - first));
    first = at + 1;
  }
  return out;
}

/// Whether a line can hold a figure with a unit of `rate_units` or `time_units`: "B/s", "bit/s", "bps", "us" and "ms" are
/// in them all.
bool may_have_unit(std::string_view line) {
  for (std::size_t at = line.find('s', 1); at != std::string_view::npos; at = line.find('s', at + 1)) {
    const char before = line[at - 1], first = at > 1 ? line[at - 2] : ' ';
    const bool bits = before == '/' && line.substr(0, at - 1).find("bit", at < 6 ? 0 : at - 6) != std::string_view::npos;
    const bool rate = bits || ((before == '/' || before == 'p') && (first == 'B' || first == 'b'));
    if (rate || ((before == 'u' || before == 'm') && !is_alpha(first))) return true;
  }
  return false;
}

/// Whether a line is no comment, no line of nccl-tests' head, and holds no figure with a unit.
bool says_no_figure(std::string_view line) {
  if (line.empty() || line.front() == '#') return false;
  const auto first = line.find_first_not_of("# ");
  if (first == std::string_view::npos) return false;
  line.remove_prefix(first);
  if (line.front() == '|' || line.front() == ':' || line.starts_with("Rank") || line.starts_with("nThread") || line.starts_with("Using")) return false;
  return !may_have_unit(line);
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : lines_(file) {}

  std::vector<Quoted> read() {
    std::string line;
    while (lines_.next(line) && out_.size() < max) {
      if (line.starts_with("#source") || line.starts_with("#repo file") || line.size() > 2000) continue;
      unprefix(line);
      if (!osu_row(line)) take(line);
    }
    end_of_osu();
    return std::move(out_);
  }

 private:
  static constexpr std::size_t max = 4096;

  [[nodiscard]] LogLine quote(std::string_view line) const {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    return {lines_.number(), plain_text(std::string{line.substr(0, 200)})};
  }

  void take(std::string_view whole) {
    if (whole.find("NCCL INFO") != std::string_view::npos || whole.find("NCCL WARN") != std::string_view::npos) return;
    if (table_row(whole)) return;
    if (says_no_figure(whole)) {
      about_heading_ = false;
      return;
    }
    std::string close{whole};  // "bandwidth    : 24" is one piece
    if (close.find('|') != std::string::npos) {
      const bool page = close.front() == '|';  // of a document: what its columns mean is not said beside them
      std::replace(close.begin(), close.end(), '|', ' ');
      if (!page) squeeze(close);  // the cells of a row belong together, however wide they are
    }
    for (std::size_t at = close.find(" :"); at != std::string::npos; at = close.find(" :", at)) {
      close.erase(at, 1);
      if (at > 0) --at;
    }
    std::string_view line = close;
    const bool comment = !line.empty() && line.front() == '#';
    while (!line.empty() && (line.front() == '#' || line.front() == ' ')) line.remove_prefix(1);
    if (line.starts_with("Rank ") || line.starts_with("nThread") || line.starts_with("Using ") || line.empty()) return;
    const std::size_t before = out_.size();
    const std::string folded = lower(line);
    const bool about_rates = folded.find("busbw") != std::string::npos || folded.find("bandwidth") != std::string::npos ||
                             folded.find("gb/s") != std::string::npos;
    const bool average = folded.starts_with("avg bus bandwidth");  // nccl-tests' own line, read elsewhere
    const auto pieces = pieces_of(line);
    const bool unit_at_end = about_rates && pieces.size() > 1;
    for (const std::string_view piece : pieces)
      if (!average) figure(piece, whole, unit_at_end || about_heading_, comment);
    about_heading_ = comment && about_rates && out_.size() == before;
    if (comment && out_.size() == before) heading(line);
  }

  /// A table of OSU's bandwidth below a line that names the release of a library: its best rate is a figure of that release.
  /// \return whether the line is a row of it
  bool osu_row(std::string_view line) {
    constexpr int lines_above = 8;  // a command, its settings, the end of the table before
    if (line.find("# OSU ") != std::string_view::npos) {
      end_of_osu();
      osu_open_ = line.find("Bandwidth") != std::string_view::npos && release_.line.number > 0 &&
                  lines_.number() - release_.line.number <= lines_above;
      return false;
    }
    static const LiteralFilter named{"UCX ", "ucx ", "fabric ", "MPI ", "mpi ", "PCX ", "pcx ", "PC-X ", "PICH"};
    if ((!osu_open_ && !named.may_hold(line)) || line.find("# ") == 0) return false;
    split(line, tokens_);
    const auto size = tokens_.size() < 2 ? std::nullopt : number_in(tokens_[0]), rate = size ? number_in(tokens_[1]) : std::nullopt;
    if (osu_open_ && rate && size->rest.empty() && rate->rest.empty() && size->value == std::floor(size->value)) {
      release_.rate = std::max(release_.rate, rate->value * 1e6);
      return true;
    }
    for (std::size_t i = 1; i < tokens_.size(); ++i)
      for (const std::string_view library : {"ucx", "hpcx", "hpc-x", "libfabric", "openmpi", "open-mpi", "mpi", "mpich", "mvapich2"})
        if (lower(tokens_[i - 1]) == library && is_digit(tokens_[i].front()) && tokens_[i].find('.') != std::string_view::npos) {
          end_of_osu();
          release_ = Quoted{};
          release_.label = library;
          release_.version = tokens_[i].substr(0, tokens_[i].find_first_not_of("0123456789."));
          release_.line = quote(line);
        }
    return false;
  }
  void end_of_osu() {
    if (!osu_open_) return;
    constexpr int most_tables = 64;  // each is compared with each other one
    if (release_.rate > 0 && ++osu_tables_ <= most_tables) out_.push_back(release_);
    osu_open_ = false;
    release_ = Quoted{};
  }

  /// A comment without a figure is the heading of the lines below it.
  void heading(std::string_view line) {
    heading_ = Quoted{};
    read_label(line, heading_);
    if (!version_in(line).empty()) heading_.version = version_in(line);
  }

  /// "33554432 float sum 127.38 TREE LL128 64", "NVL8 24 tree 17179869184 253.40 485.68 ...", or a row of nccl-tests under a heading.
  bool table_row(std::string_view line) {
    Tokens& tokens = tokens_;
    split(line, tokens);
    if (tokens.size() < 4 || tokens.size() > 24 || line.front() == '#') return false;
    for (std::size_t i = 0; i < tokens.size() && i < 8; ++i) {
      const auto size = number_in(tokens[i]);
      if (!size || !size->rest.empty() || size->value < 1024 || size->value != std::floor(size->value)) continue;
      std::vector<double> numbers;
      Quoted q;
      for (std::size_t j = i + 1; j < tokens.size(); ++j) {
        const auto number = number_in(tokens[j]);
        const std::string word = lower(tokens[j]);
        if (number && number->rest.empty())
          numbers.push_back(number->value);
        else if (word == "ring" || word == "tree" || word == "nvls")
          q.algorithm = word;
        else if (word == "ll" || word == "ll128" || word == "simple")
          q.protocol = word;
      }
      const std::string label = joined({tokens.data(), i}, " ");
      if (!q.algorithm.empty() && !numbers.empty()) {
        q.rate = numbers.front() * 1e9;
        q.label = label;
      } else if (i > 0 && numbers.size() >= 2 && numbers[1] >= numbers[0] && numbers[1] <= 2 * numbers[0]) {
        read_label(label, q);
        if (q.algorithm.empty()) return false;
        q.rate = numbers[1] * 1e9;
      } else if (i == 0 && numbers.size() >= 4 && telling(heading_)) {
        // count, [root], time, algbw, busbw: the first three that fit bytes / time = algbw
        q = heading_;
        for (std::size_t k = 1; k + 2 < numbers.size() && q.rate == 0; ++k) {
          const double implied = numbers[k] > 0 ? size->value / (numbers[k] * 1e-6) / 1e9 : 0;
          if (std::fabs(implied - numbers[k + 1]) < 0.02 * numbers[k + 1] + 0.01) q.rate = numbers[k + 2] * 1e9;
        }
        if (q.rate == 0) return true;
      } else {
        return i == 0 && numbers.size() >= 4;
      }
      q.bytes = size->value;
      q.line = quote(line);
      out_.push_back(std::move(q));
      return true;
    }
    return false;
  }

  void figure(std::string_view piece, std::string_view whole, bool bare, bool comment) {
    const Tokens tokens = words(piece);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string_view token = tokens[i];
      std::string_view glued;
      if (const auto colon = token.rfind(':'); colon != std::string_view::npos && colon + 1 < token.size() && is_digit(token[colon + 1])) {
        glued = token.substr(0, colon);
        token = token.substr(colon + 1);
      }
      const auto number = number_in(token);
      if (!number || !(number->value > 0)) continue;
      const std::string_view unit = !number->rest.empty() ? number->rest : i + 1 < tokens.size() ? tokens[i + 1] : std::string_view{};
      const double rate = factor_in(rate_units, unit), time = factor_in(time_units, unit);
      if (!(rate > 0) && !(time > 0) && !(number->rest.empty() && comment)) continue;  // of no quantity, as most numbers of a training log
      std::string label = joined({tokens.data(), i}, " ");
      if (!glued.empty()) {
        if (!label.empty()) label += ' ';
        label += glued;
      }
      Quoted q;
      q.line = quote(whole);
      read_label(label, q);
      if (label.empty() && comment && !out_.empty() && out_.back().line.number == q.line.number)
        q = out_.back();  // "..., 420 (5), 440 (6)"
      const bool last = i + 1 == tokens.size() || tokens[i + 1].front() == '(';
      if (rate > 0)
        q.rate = number->value * rate;
      else if (time > 0)
        q.seconds = number->value * time;
      else if (number->rest.empty() && comment && last && (q.this_run || q.sibling) && whole.find("time_us") != std::string_view::npos)
        q.seconds = number->value * factor_in(time_units, "us");
      else if (number->rest.empty() && comment && means_a_rate(q, last, bare, !glued.empty()))
        q.rate = number->value * 1e9;
      else
        continue;
      const bool bus = lower(label).find("busbw") != std::string::npos;
      if ((lower(piece).find("algbw") != std::string::npos && !bus) || q.rate > 1e15) return;  // another quantity
      out_.push_back(std::move(q));
      return;
    }
  }

  LineReader lines_;
  Tokens tokens_;  ///< of a row
  std::vector<Quoted> out_;
  Quoted heading_;
  Quoted release_;  ///< the last one named, for the table of OSU below it
  bool osu_open_ = false;
  int osu_tables_ = 0;
  bool about_heading_ = false;
};

}  // namespace

std::vector<Quoted> quoted_figures(const std::filesystem::path& file) { return Reader(file).read(); }

}  // namespace fabricost::observe::diagnosis
