// The export, read back by the rules of the plugin it is for.
#include "plugin.hpp"
#include "tuned.hpp"

#include <fabricost/specs/load.hpp>

#include <catch.hpp>

#include <cctype>

using namespace fabricost::plan;

namespace {

struct Asked {
  const char* system;
  TuneRequest options;
};
std::vector<Asked> questions() {
  const auto shape = [](std::vector<int> nodes, int ranks, DataType dtype = DataType::half) {
    TuneRequest out;
    out.nodes.values = std::move(nodes);
    out.ranks = ranks;
    out.dtype = dtype;
    return out;
  };
  return {{"dgx-a100", shape({}, 4)},       {"dgx-b200", shape({}, 8)},  {"dgx-b200", shape({}, 8, DataType::int8)},
          {"aws-p5", shape({2, 4, 8}, 0)},  {"l40s-pcie", shape({}, 8)}, {"alps-gh200", shape({2, 16, 64}, 0)},
          {"superpod-b200", shape({16}, 0)}};
}

/// all_gather -> allgather
std::string squeezed(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_') out += c;
  return out;
}

const SlowChoice* sure_range(const TuneAnswer& report, Collective c, double bytes, const TunedGroup& shape) {
  for (const SlowChoice& r : report.ranges)
    if (r.sure && tuned::collective(r) == c && r.smallest.value() <= bytes && bytes <= r.largest.value() && TunedGroup{r.nodes, r.ranks} == shape) return &r;
  return nullptr;
}

}  // namespace

TEST_CASE("the plugin understands every line of the export", "[tune]") {
  int lines = 0;
  for (const Asked& q : questions()) {
    INFO(q.system);
    const plugin::Config config = plugin::read(tuned::tune(load_system(q.system), q.options).config);
    for (const std::string& fault : config.faults) FAIL_CHECK(fault);
    lines += static_cast<int>(config.lines.size());
  }
  CHECK(lines > 10);
}

TEST_CASE("the plugin picks at every size what is surely faster there, and nothing elsewhere", "[tune]") {
  for (const Asked& q : questions()) {
    const TuneAnswer report = tuned::tune(load_system(q.system), q.options);
    const plugin::Config config = plugin::read(plugin_config(report));
    std::vector<double> sizes;
    for (double s = 256; s < 3e10; s *= 1.3) sizes.push_back(std::floor(s));
    for (const SlowChoice& r : report.ranges)
      for (const double s : {r.smallest.value() - 1, r.smallest.value(), r.bytes.value(), std::floor(0.5 * (r.smallest.value() + r.largest.value())), r.largest.value(), r.largest.value() + 1}) sizes.push_back(s);
    for (const TunedGroup& shape : report.groups)
      for (const Collective c : tuned_collectives)
        for (const double s : sizes) {
          const auto line = plugin::match(config, squeezed(name(c)), static_cast<std::uint64_t>(s), shape.nodes, shape.ranks);
          const SlowChoice* range = sure_range(report, c, s, shape);
          if (line.has_value() != (range != nullptr))
            FAIL_CHECK(q.system << " " << name(c) << " " << s << ": one has a line, the other not");
          if (!line || range == nullptr) continue;
          if (line->algorithm != range->better_algorithm || line->protocol != range->better_protocol)
            FAIL_CHECK(q.system << " " << name(c) << " " << s << ": " << line->algorithm << " " << line->protocol);
        }
    // other groups of ranks of the same job are left alone
    for (const Collective c : tuned_collectives) CHECK_FALSE(plugin::match(config, squeezed(name(c)), 16 << 20, 3, 24).has_value());
  }
}

TEST_CASE("NCCL keeps its own channels under every line", "[tune]") {
  const plugin::Config config = plugin::read(tuned::tune(load_system("dgx-b200")).config);
  REQUIRE_FALSE(config.lines.empty());
  for (const plugin::Line& line : config.lines) CHECK(plugin::channels_after(line, 32) == 32);
  // which the -1 of the plugin's README would not do
  plugin::Line documented = config.lines.front();
  documented.channels = -1;
  CHECK(plugin::channels_after(documented, 32) == 1);
}

TEST_CASE("a line holds for the size nccl-tests prints, which NCCL passes to a tuner", "[tune]") {
  // 2 MiB from each of 8 B200: an all_gather of 16 MiB, where NCCL 2.29 falls to Simple and a line says LL128
  const plugin::Config config = plugin::read(tuned::tune(load_system("dgx-b200")).config);
  const auto line = plugin::match(config, "allgather", 16 * 1048576, 1, 8);
  REQUIRE(line.has_value());
  CHECK(line->protocol == "ll128");
  CHECK_FALSE(plugin::match(config, "allgather", 2 * 1048576, 1, 8).has_value());
}

TEST_CASE("nothing that is unsure is exported, and a file without lines says so", "[tune]") {
  const TuneAnswer report = tuned::tune(load_system("vera-rubin-nvl72"));
  REQUIRE_FALSE(report.ranges.empty());
  for (const SlowChoice& r : report.ranges) REQUIRE_FALSE(r.sure);
  const std::string text = plugin_config(report);
  CHECK(plugin::read(text).lines.empty());
  CHECK(text.find("No loss is sure") != std::string::npos);
}

TEST_CASE("a system's name cannot leave its comment", "[tune]") {
  TuneAnswer report = tuned::tune(load_system("dgx-a100"));
  report.system = "x\nallreduce,0,99999999999,ring,simple,1,-1,-1\n" + std::string(400, 'y');
  const std::string text = plugin_config(report);
  const plugin::Config config = plugin::read(text);
  CHECK(config.faults.empty());
  CHECK_FALSE(plugin::match(config, "allreduce", 512, 1, 8).has_value());
}

TEST_CASE("the variables of the comments name the pair of the line below them", "[tune]") {
  std::istringstream in(tuned::tune(load_system("dgx-b200"), {.nodes = {{1}}}).config);
  std::string before;
  int seen = 0;
  for (std::string row; std::getline(in, row); before = row) {
    if (row.empty() || row.front() == '#') continue;
    ++seen;
    const plugin::Line line = plugin::read(row).lines.at(0);
    INFO(row);
    CHECK(before ==
          "# NCCL_ALGO=" + line.collective + ":" + squeezed(line.algorithm) + " NCCL_PROTO=" + line.collective + ":" + line.protocol);
  }
  CHECK(seen > 0);
}
