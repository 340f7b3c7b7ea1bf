/// Reads measured.machine.yaml as written by `fabricost measure`. Unknown keys are ignored, since the file is
/// also written for people.

#include "specs/reader.hpp"

#include <fabricost/probes/machine/this_machine.hpp>

#include <fmt/format.h>

namespace fabricost::probes {

namespace {

constexpr double max = 1e18;

double positive(MapReader& in, std::string_view key) { return in.number(key, 0, 0, max); }

/// An optional text; lists are refused.
std::string text_of(MapReader& in, std::string_view key) { return in.has(key) ? in.text(key) : std::string{}; }

std::optional<bool> yes_or_no(MapReader& in, std::string_view key) {
  return in.has(key) ? std::optional{in.flag(key, false)} : std::nullopt;
}

MeasuredGpu gpu_of(const SpecNode& node, const std::string& path, Faults& faults) {
  MapReader in(node, path, faults);
  MeasuredGpu gpu;
  gpu.name = in.text("name", true);
  gpu.multiprocessors = in.count("multiprocessors", 0, 1, 100000);
  gpu.memory = positive(in, "memory_bytes");
  gpu.l2 = positive(in, "l2_bytes");
  if (const SpecNode* link = in.take("pcie")) {
    MapReader pcie(*link, in.path_of("pcie"), faults);
    gpu.pcie_generation = pcie.count("generation", 0, 1, 9);
    gpu.pcie_lanes = pcie.count("lanes", 0, 1, 64);
    gpu.pcie_generation_max = pcie.count("generation_most", 0, 1, 9);
    gpu.pcie_lanes_max = pcie.count("lanes_most", 0, 1, 64);
  }
  if (const int links = in.count("nvlinks", 0, 0, 1000); links > 0) gpu.nvlinks = links;  // 0: none, or unknown
  gpu.clock = 1e6 * positive(in, "clock_mhz");
  gpu.clock_max = 1e6 * positive(in, "clock_most_mhz");
  gpu.ecc = yes_or_no(in, "ecc");
  gpu.mig = yes_or_no(in, "mig");
  gpu.mig_instance = in.flag("mig_instance", false);
  const auto state = [&](std::string_view key, bool last) {
    const SpecNode* read = in.take(key);
    if (read == nullptr) return;
    MapReader at(*read, in.path_of(key), faults);
    const double clock = 1e6 * positive(at, "clock_mhz");
    const std::string throttled = text_of(at, "throttled");
    const bool held = last && !throttled.empty() && throttled.find("idle") == std::string::npos;
    if (held) gpu.throttled = throttled;
    gpu.clock = held && clock > 0 ? clock : std::max(gpu.clock, clock);
  };
  state("before", false);
  state("after", true);
  return gpu;
}

std::vector<std::vector<bool>> peers_of(MapReader& in, std::size_t gpus) {
  std::vector<std::vector<bool>> out;
  const SpecNode* rows = in.take("peer_access");
  if (rows == nullptr) return out;
  bool fine = rows->kind == SpecNode::Kind::list && rows->items.size() == gpus;
  for (const SpecNode& row : rows->items) {
    fine = fine && row.kind == SpecNode::Kind::list && row.items.size() == gpus;
    out.emplace_back();
    for (const SpecNode& cell : row.items) {
      const bool known = cell.text == "0" || cell.text == "1";
      if (!known)
        in.fault(cell, "peer_access", fmt::format("\"{}\" is neither 0 nor 1", clipped(cell.text)), "write 1 for access, 0 for none");
      out.back().push_back(cell.text == "1");
    }
  }
  if (!fine)
    in.fault(*rows, "peer_access", fmt::format("is not a row of {0} for each of {0} GPUs", gpus), "write [from][to], or leave it out");
  return out;
}

}  // namespace

std::filesystem::path machine_file_of(const std::filesystem::path& points) {
  return std::filesystem::path{points}.replace_extension(".machine.yaml");
}

MeasuredMachine read_measured_machine(const std::filesystem::path& file) {
  const SpecNode tree = parse_spec(file);
  Faults faults;
  MapReader in(tree, "", faults);
  MeasuredMachine out;
  out.file = file.string();
  const auto section = [&](std::string_view key, auto&& read) {
    if (const SpecNode* node = in.take(key)) {
      MapReader inner(*node, std::string{key}, faults);
      read(inner);
    }
  };
  section("measured", [&](MapReader& m) {
    out.date = text_of(m, "date");
    out.system = text_of(m, "system");
    out.complete = m.flag("complete", true);
    out.ended = text_of(m, "ended");
  });
  section("runtime", [&](MapReader& r) {
    out.runtime = text_of(r, "name");
    out.runtime_version = text_of(r, "version");
    out.driver = text_of(r, "driver");
    out.library = text_of(r, "library");
    out.library_version = text_of(r, "library_version");
  });
  section("host", [&](MapReader& h) { out.host = text_of(h, "name"); });
  if (const SpecNode* gpus = in.take("gpus", true)) {
    if (gpus->kind != SpecNode::Kind::list || gpus->items.empty())
      in.fault(*gpus, "gpus", "is not a list of GPUs", "write one `- name: ...` for each");
    for (std::size_t i = 0; i < gpus->items.size(); ++i) out.gpus.push_back(gpu_of(gpus->items[i], fmt::format("gpus[{}]", i), faults));
  }
  out.peer_access = peers_of(in, out.gpus.size());
  faults.raise();
  return out;
}

}  // namespace fabricost::probes
