// Short texts: sizes, lists of sizes, durations, quantities with units, counts, layouts, expectations as typed.
#include "targets.hpp"

#include "answers/typed.hpp"
#include "specs/tree.hpp"
#include "text/amounts.hpp"
#include "text/csv.hpp"
#include "text/parse_quantity.hpp"
#include "text/plain_text.hpp"

#include <fabricost/plan/answers/share.hpp>
#include <fabricost/text/quantity.hpp>
#include <fabricost/validation/set_aside.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

namespace fuzz {

namespace {

using namespace fabricost::plan;

void size(std::string_view bytes) {
  tolerate([&] {
    const Bytes size = parse_size(bytes);
    require(std::isfinite(size.value()) && size.value() >= 0, "a size is finite and not negative");
    const Bytes again = parse_size(size_text(size));
    require(std::abs(again.value() - size.value()) <= 0.01 * size.value(), "a size as printed is read again");
  });
  tolerate([&] {
    const std::vector<Bytes> sizes = parse_sizes(bytes);
    require(!sizes.empty() && sizes.size() <= 1'000'000, "a list of sizes is neither empty nor endless");
    for (const Bytes& one : sizes) require(std::isfinite(one.value()) && one.value() >= 0, "sizes are finite and not negative");
  });
  tolerate([&] {
    Point point;
    point.source = "016_alps_ar";
    point.bytes = 4096;
    const LeaveOut term(bytes);
    require(term.term() == bytes, "what leaves points out keeps its words");
    (void)term.holds(point);
  });
}

/// The first byte says which kind.
void quantity(std::string_view bytes) {
  if (bytes.empty()) return;
  constexpr auto kinds = static_cast<unsigned>(QuantityKind::number) + 1;
  const auto kind = static_cast<QuantityKind>(static_cast<unsigned char>(bytes.front()) % kinds);
  bytes.remove_prefix(1);
  const ParsedQuantity parsed = parse_quantity(bytes, kind);
  if (const double* value = std::get_if<double>(&parsed)) {
    require(std::isfinite(*value), "a quantity is finite");
  } else {
    require(!std::get<QuantityFault>(parsed).message.empty(), "a refusal says why");
  }
  if (const auto seconds = parse_duration(bytes)) require(!std::isnan(*seconds), "a duration is a number");
  if (const auto number = parse_number(bytes)) require(std::isfinite(*number), "a number is finite");
}

void option_value(std::string_view bytes) {
  std::string text{bytes.substr(0, bytes.find('\0'))};  // an argument ends at a zero byte
  for (char& c : text)                                  // the runner keeps these from the terminal, whatever is said of them here
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  tolerate([&] { require(std::isfinite(duration_of(text, "--option")), "a duration is finite"); });
  tolerate([&] { require(std::isfinite(large_count_of(text, "--option")), "a count is finite"); });
  tolerate([&] { require(std::isfinite(storage_rate_of(text, "--option")), "a rate is finite"); });
  tolerate([&] {
    const double share = share_of(text, "--option");
    require(share >= 0 && share <= 1, "a share is from 0 to 1");
  });
  tolerate([&] {
    const int number = whole_number_from(text, "--option", 1, 1000);
    require(number >= 1 && number <= 1000, "a whole number keeps its bounds");
  });
  tolerate([&] {
    for (const int count : counts_of(text, "--option")) require(count > 0, "counts are above zero");
  });
  tolerate([&] {
    (void)layout_from(text, "--layout");
    (void)grouped_from(text);
  });
}

void yaml_text(std::string_view bytes) {
  tolerate([&] { (void)parse_spec_text(std::string{bytes}, "--set"); });
}

void csv_line(std::string_view bytes) {
  std::vector<CsvCell> cells;
  if (split_csv(bytes, cells)) return;
  std::string written;
  for (const CsvCell& cell : cells) written += (&cell == &cells.front() ? "" : ",") + csv_quoted(cell.text);
  std::vector<CsvCell> again;
  require(!split_csv(written, again) && again.size() == cells.size(), "a line as written is read again");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::string kept = plain_text(cells[i].text);
    std::replace(kept.begin(), kept.end(), '\n', ' ');
    require(again[i].text == kept, "a cell as written is read again, but for line ends and what acts on terminals");
  }
}

constexpr std::array<Target, 5> texts_list{
    {{"size", size}, {"quantity", quantity}, {"option_value", option_value}, {"yaml_text", yaml_text}, {"csv_line", csv_line}}};

}  // namespace

std::span<const Target> text_targets() { return texts_list; }

}  // namespace fuzz
