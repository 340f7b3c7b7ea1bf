/// Writes the known properties; unknown ones have no key.

#include "measure/measure.hpp"

#include "measure/sample.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

namespace fabricost::probes::measure {

namespace {

/// Writes keys in order and leaves out empty ones. Texts are quoted, since a version is not a YAML number.
class Writer {
 public:
  void open(const char* key) { out_ << YAML::Key << key << YAML::Value << YAML::BeginMap; }
  void close() { out_ << YAML::EndMap; }
  void text(const char* key, const std::string& value) {
    if (!value.empty()) out_ << YAML::Key << key << YAML::Value << YAML::DoubleQuoted << value;
  }
  void number(const char* key, double value) {
    if (value > 0) out_ << YAML::Key << key << YAML::Value << fmt::format("{:.10g}", value);
  }
  void count(const char* key, std::uint64_t value) {
    if (value > 0) out_ << YAML::Key << key << YAML::Value << std::to_string(value);
  }
  void count(const char* key, int value) { count(key, static_cast<std::uint64_t>(value > 0 ? value : 0)); }
  void flag(const char* key, std::optional<bool> value) {
    if (value) out_ << YAML::Key << key << YAML::Value << (*value ? "true" : "false");
  }
  YAML::Emitter& stream() { return out_; }

 private:
  YAML::Emitter out_;
};

void write_state(Writer& w, const char* key, const std::vector<State>& states, std::size_t unit) {
  if (unit >= states.size()) return;
  const State& s = states[unit];
  if (s.clock <= 0 && s.temperature <= 0 && s.power <= 0 && s.throttled.empty()) return;
  w.stream() << YAML::Key << key << YAML::Value << YAML::Flow << YAML::BeginMap;
  w.number("clock_mhz", s.clock / 1e6);
  w.number("memory_clock_mhz", s.memory_clock / 1e6);
  w.number("temperature_c", s.temperature);
  w.number("power_w", s.power);
  w.text("throttled", s.throttled);
  w.close();
}

void write_unit(Writer& w, const Unit& u, const Measured& measured, std::size_t index) {
  w.stream() << YAML::BeginMap;
  w.text("name", u.name);
  w.text("host", u.host);
  w.text("uuid", u.uuid);
  w.text("bus", u.bus);
  w.text("vbios", u.vbios);
  w.count("compute", u.compute);
  w.count("multiprocessors", u.multiprocessors);
  w.count("memory_bytes", u.memory);
  w.count("free_memory_bytes", u.free_memory);
  w.count("l2_bytes", u.l2);
  if (u.numa_node >= 0) w.stream() << YAML::Key << "numa_node" << YAML::Value << u.numa_node;
  if (u.pcie_lanes > 0 || u.pcie_lanes_max > 0) {
    w.stream() << YAML::Key << "pcie" << YAML::Value << YAML::Flow << YAML::BeginMap;
    w.count("generation", u.pcie_generation);
    w.count("lanes", u.pcie_lanes);
    w.count("generation_most", u.pcie_generation_max);
    w.count("lanes_most", u.pcie_lanes_max);
    w.close();
  }
  if (u.compute > 0) w.stream() << YAML::Key << "nvlinks" << YAML::Value << u.nvlinks;
  w.number("clock_mhz", u.clock / 1e6);
  w.number("clock_most_mhz", u.clock_max / 1e6);
  w.number("memory_clock_mhz", u.memory_clock / 1e6);
  w.number("power_limit_w", u.power_limit);
  w.flag("ecc", u.ecc);
  w.flag("mig", u.mig);
  if (u.compute > 0) w.flag("mig_instance", u.mig_instance);
  write_state(w, "before", measured.before, index);
  write_state(w, "after", measured.after, index);
  w.close();
}

void write_run(Writer& w, const Measured& measured, const RunText& run) {
  w.open("measured");
  w.text("date", run.date);
  w.text("version", run.version);
  w.text("points", run.points);
  w.stream() << YAML::Key << "rows" << YAML::Value << measured.rows.size();
  w.text("system", run.system);
  w.text("system_because", run.system_because);
  w.stream() << YAML::Key << "seconds" << YAML::Value << fmt::format("{:.1f}", measured.seconds);
  w.number("budget_seconds", run.budget);
  w.flag("complete", measured.complete);
  w.text("ended", measured.ended);
  w.close();
}

void write_method(Writer& w) {
  const SampleRules rules{};
  w.open("method");
  w.text("value", "time of one repetition by the device's clock (of kernel_sync: by the host's), median of the batches that were kept");
  w.text("spread", "(p75 - p25) / median of the batches that were kept");
  w.text("outliers", fmt::format("batches further than {} x {} MAD, and {} of the median, from the median: set aside and counted",
                                 outlier_deviations, normal_deviation, min_deviation));
  w.text("warm_up", fmt::format("at least {:.0f} ms, and batches until two in a row agree within {:.0f} %, or {}", 1e3 * rules.min_warm_up,
                                100 * rules.steady, rules.max_warm_up));
  w.text("clocks", fmt::format("refused where the device says {:.0f} % more than the host waited; the host's time is noted where it "
                               "waited longer than launches explain",
                               100 * device_over_host));
  w.text("sizes", "a coarse grid, then where log time over log bytes bends");
  w.close();
}

}  // namespace

std::string machine_yaml(const Machine& machine, const Measured& measured, const RunText& run) {
  Writer w;
  w.stream() << YAML::BeginMap;
  write_run(w, measured, run);
  w.open("runtime");
  w.text("name", machine.runtime);
  w.text("version", machine.runtime_version);
  w.text("driver", machine.driver);
  w.text("library", machine.library);
  w.text("library_version", machine.library_version);
  w.close();
  w.open("host");
  w.text("name", machine.host);
  w.text("processor", machine.processor);
  w.text("kernel", machine.kernel);
  w.count("sockets", machine.sockets);
  w.close();
  w.count("processes", run.processes);
  w.count("nodes", run.nodes);
  w.stream() << YAML::Key << "gpus" << YAML::Value << YAML::BeginSeq;
  for (std::size_t i = 0; i < machine.units.size(); ++i) write_unit(w, machine.units[i], measured, i);
  w.stream() << YAML::EndSeq;
  if (machine.peer_access.size() > 1) {
    w.stream() << YAML::Key << "peer_access" << YAML::Value << YAML::BeginSeq;
    for (const std::vector<bool>& row : machine.peer_access) {
      w.stream() << YAML::Flow << YAML::BeginSeq;
      for (const bool yes : row) w.stream() << (yes ? 1 : 0);
      w.stream() << YAML::EndSeq;
    }
    w.stream() << YAML::EndSeq;
  }
  write_method(w);
  w.stream() << YAML::Key << "remarks" << YAML::Value;
  if (machine.remarks.empty()) w.stream() << YAML::Flow;
  w.stream() << YAML::BeginSeq;
  for (const std::string& remark : machine.remarks) w.stream() << YAML::DoubleQuoted << remark;
  w.stream() << YAML::EndSeq;
  w.stream() << YAML::Key << "not_measured" << YAML::Value;
  if (measured.not_measured.empty()) w.stream() << YAML::Flow;
  w.stream() << YAML::BeginSeq;
  for (const NotMeasured& one : measured.not_measured) {
    w.stream() << YAML::Flow << YAML::BeginMap;
    w.text("what", one.what);
    if (one.bytes) w.count("bytes", *one.bytes);
    w.text("reason", one.reason);
    w.close();
  }
  w.stream() << YAML::EndSeq << YAML::EndMap;
  return fmt::format("# The machine of {}, written by fabricost measure.\n{}\n", run.points, w.stream().c_str());
}

}  // namespace fabricost::probes::measure
