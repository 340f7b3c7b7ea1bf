#pragma once
/// \file tables.hpp
/// The tables of five source texts about GPU interconnects, recomputed. Every function returns one table: what a text says, what
/// the shipped specs and the library's arithmetic say, and whether the two agree. Nothing here knows how a page looks (page.hpp).

#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace seed_tables {

/// The result of comparing a text's figure with ours.
enum class Verdict : unsigned char {
  reproduced,    ///< the figure follows from the specs, counted as the text counts it
  qualified,     ///< the figure exists, but means something else or holds only in part; the row says what
  corrected,     ///< it does not follow; ours stands beside it
  unverifiable,  ///< nobody has published what it would take to check it
  added          ///< not in the texts; here for completeness
};
[[nodiscard]] std::string_view name(Verdict verdict);

/// Reproduced when `ours`, counted the way the text counts, lies within `tolerance` of the text's range; corrected otherwise.
[[nodiscard]] Verdict judge(double said_low, double said_high, double ours, double tolerance = 0.03);

/// A computed number and how to print it.
struct Figure {
  double value = std::numeric_limits<double>::quiet_NaN();  ///< NaN: there is none
  std::string unit{};
  int decimals = -1;                 ///< -1: three significant digits, all digits of a whole number
  double low = value, high = value;  ///< nine in ten measurements; equal when the number is no prediction
  std::string note{};                ///< printed after it, in brackets

  /// "450 GB/s", "17.0 us (16.2 to 17.8)"; a dash when there is no number.
  [[nodiscard]] std::string text() const;
};

/// One line of a table.
struct Row {
  std::string label;
  std::string said;              ///< the text's figure, as short as it can be quoted
  std::vector<Figure> beside{};  ///< one for each of the table's middle columns
  Figure ours;
  Verdict verdict = Verdict::reproduced;
  std::string shown;  ///< the arithmetic with numbers put in
};

struct Table {
  std::string title;
  std::string about;                  ///< what it shows and which text it comes from
  std::vector<std::string> beside{};  ///< headings of the middle columns
  std::string ours = "here";          ///< heading of our column
  std::vector<Row> rows;
  std::string remark{};  ///< what a reader should take away

  /// \throws std::out_of_range naming the label
  [[nodiscard]] const Row& row(std::string_view label) const;
};

// tiers.cpp: the hierarchy of tiers, one way
[[nodiscard]] Table dgx_h100_hierarchy();
[[nodiscard]] Table b200_hierarchy();
[[nodiscard]] Table ratios();
[[nodiscard]] Table nvlink_against_pcie();
[[nodiscard]] Table latencies();

// domains.cpp: the GPUs that one fabric joins, and its rates
[[nodiscard]] Table domain_sizes();
[[nodiscard]] Table aggregates();
[[nodiscard]] Table switch_ports();
[[nodiscard]] Table rack_against_node();

// links.cpp: one link, one port
[[nodiscard]] Table nvlink_generations();
[[nodiscard]] Table nvlink_lanes();
[[nodiscard]] Table pcie_generations();
[[nodiscard]] Table infiniband_ports();
[[nodiscard]] Table ualink();

// all_reduce.cpp: one collective by size
[[nodiscard]] Table ring_volume();
[[nodiscard]] Table message_of_a_layer();
[[nodiscard]] Table all_reduce_per_layer(int batch);
[[nodiscard]] Table gradient_sync();

// bus_bandwidth.cpp: the same, measured
/// The nccl-tests log of 8 H100s in data/measurements; it need not exist.
[[nodiscard]] std::filesystem::path shipped_log();
/// \param measured an nccl-tests log or point CSV of 8 H100s; without that file the table says so
[[nodiscard]] Table bus_bandwidth(const std::filesystem::path& measured = shipped_log());

// tensor_parallel.cpp: its share of a step
[[nodiscard]] Table decode_overhead();
[[nodiscard]] Table decode_overhead_by_link(int batch);
[[nodiscard]] Table training_overhead();

// tensor_messages.cpp: its messages, and the step of a large model
[[nodiscard]] Table tensor_messages();
[[nodiscard]] Table large_model_step();

// point_to_point.cpp: two ends
[[nodiscard]] Table pair_rates();
[[nodiscard]] Table kv_offload();

// memory.cpp, strategy.cpp, money.cpp: arithmetic that later stages of fabricost take over
[[nodiscard]] Table memory_fit();
[[nodiscard]] Table strategies();
[[nodiscard]] Table pipelining();
[[nodiscard]] Table cost();
[[nodiscard]] Table energy();
[[nodiscard]] Table scaling_efficiency();

// reliability.cpp: waiting for the slowest, and failing
[[nodiscard]] Table tails_and_failures();

/// Small-message and bandwidth constants of an earlier additive fit, kept because the reference figures in the tests were
/// computed with them: t = start + step x 2(n-1) + 2(n-1)/n S / rate. The library prices with constants of its own.
struct AdditiveRing {
  double start = 0, step = 0;   ///< seconds
  double bytes_per_second = 0;  ///< one way
  /// Seconds of one all-reduce of `bytes` over `ranks`.
  [[nodiscard]] double operator()(double bytes, int ranks) const;
};
/// \param link one of "pcie-4", "pcie-5", "nvlink-3", "nvlink-4", "nvlink-5"
[[nodiscard]] AdditiveRing additive_ring(std::string_view link);

}  // namespace seed_tables
