/// GPU, link and switch files: the parts systems are made of.

#include "specs/parts/identities.hpp"
#include "specs/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::core {

namespace {

constexpr std::array<std::string_view, 7> vendors{"nvidia", "amd", "google", "intel", "aws", "huawei", "other"};
constexpr std::array<std::string_view, 14> families{"nvlink", "c2c",  "pcie", "infiniband", "ethernet",   "efa",      "slingshot",
                                                    "ualink", "xgmi", "ici",  "ub",         "neuronlink", "omnipath", "memory"};

/// Keys that every document may have and no part stores.
void common_keys(MapReader& in) {
  in.take("extends");
  in.text("notes");
}

}  // namespace

Gpu read_gpu(const SpecNode& tree, Faults& faults) {
  MapReader in(tree, "", faults);
  common_keys(in);
  Gpu gpu;
  gpu.name = in.name("name", true);
  gpu.title = in.text("title");
  gpu.vendor = in.one_of("vendor", vendors, true);
  gpu.generation = in.choice("generation", generation_names, Generation::other, true);
  in.quantity("memory", QuantityKind::size, gpu.memory, true);
  gpu.dataflow = in.flag("dataflow", false);
  gpu.units = in.count("units", 0, 1, 100000);
  if (const auto clock = in.quantity("clock", QuantityKind::clock)) gpu.clock_hz = clock->number;
  in.quantity("power", QuantityKind::power, gpu.power);
  in.quantity("price", QuantityKind::rent, gpu.price);
  if (const SpecNode* identity = in.take("identity")) gpu.arch = read_identity(*identity, gpu.name, gpu.vendor, faults).arch;
  in.needed_section("hbm", [&](MapReader& at) {
    at.quantity("bandwidth", QuantityKind::memory_rate, gpu.hbm_bandwidth, true);
    at.quantity("latency", QuantityKind::time, gpu.hbm_latency);
  });
  in.section("l2", [&](MapReader& at) {
    at.quantity("size", QuantityKind::size, gpu.l2_size);
    at.quantity("bandwidth", QuantityKind::memory_rate, gpu.l2_bandwidth, true);
    at.quantity("latency", QuantityKind::time, gpu.l2_latency);
  });
  in.section("compute", [&](MapReader& at) {
    at.quantity("fp32", QuantityKind::flop_rate, gpu.fp32);
    at.quantity("tf32", QuantityKind::flop_rate, gpu.tf32);
    at.quantity("fp16", QuantityKind::flop_rate, gpu.fp16, true);
    if (!at.quantity("bf16", QuantityKind::flop_rate, gpu.bf16)) gpu.bf16 = gpu.fp16;
    at.quantity("fp8", QuantityKind::flop_rate, gpu.fp8);
    at.quantity("int8", QuantityKind::flop_rate, gpu.int8);
    at.quantity("fp4", QuantityKind::flop_rate, gpu.fp4);
  });
  const auto attachment = [&](std::string_view key, std::string_view count_key, std::string& link, bool* bridge = nullptr) {
    int count = 0;
    in.section(key, [&](MapReader& at) {
      link = at.reference("link", true);
      count = at.count(count_key, 1, 1, 1000, true);
      if (bridge != nullptr) *bridge = at.flag("bridge", false);
    });
    return count;
  };
  gpu.scale_up_links = attachment("scale_up", "links", gpu.scale_up_link, &gpu.scale_up_bridge);
  attachment("host", "lanes", gpu.host_link);
  attachment("c2c", "links", gpu.c2c_link);
  in.finish();
  return gpu;
}

Link read_link(const SpecNode& tree, Faults& faults) {
  MapReader in(tree, "", faults);
  common_keys(in);
  Link link;
  link.name = in.name("name", true);
  link.title = in.text("title");
  link.family = in.one_of("family", families, true);
  link.lanes = in.count("lanes", 1, 1, 1024, true);
  in.quantity("lane_rate", QuantityKind::line_rate, link.lane_rate, true);
  link.encoding = in.fraction("encoding", 1);
  const double derived = link.lanes * link.lane_rate.value.value() * link.encoding / 8;
  const auto given = in.quantity("bandwidth", QuantityKind::link_rate);
  if (given) {
    link.bandwidth = {Bandwidth::from_value(given->number), given->provenance};
    if (derived > 0 && std::fabs(given->number / derived - 1) > 0.05)
      in.fault(*given->node, "bandwidth",
               fmt::format("{:.4g} GB/s per direction, but {} lanes x {:.4g} Gbit/s x {:.4g} / 8 = {:.4g} GB/s", given->number * 1e-9,
                           link.lanes, link.lane_rate.value.value() * 1e-9, link.encoding, derived * 1e-9),
               "correct the lanes, the lane rate or the bandwidth");
  } else {
    if (link.lane_rate.value.value() > 0 && !(derived >= 1 && derived <= 1e15))
      in.fault(*tree.find("lane_rate"), "lane_rate",
               fmt::format("{} lanes x {:.4g} Gbit/s x {:.4g} / 8 = {:.4g} GB/s is impossible", link.lanes,
                           link.lane_rate.value.value() * 1e-9, link.encoding, derived * 1e-9),
               "a rate is above zero and below 10^15 B/s");
    link.bandwidth = {Bandwidth::from_value(derived),
                      {fmt::format("{} lanes x {:.4g} Gbit/s x {:.4g} / 8", link.lanes, link.lane_rate.value.value() * 1e-9, link.encoding),
                       Confidence::derived}};
  }
  if (const auto usable = in.quantity("usable", QuantityKind::link_rate)) {
    link.usable = {Bandwidth::from_value(usable->number), usable->provenance};
    if (link.bandwidth.value.value() > 0 && usable->number > link.bandwidth.value.value() * 1.001)
      in.fault(*usable->node, "usable", fmt::format("\"{}\" is more than the link carries", usable->node->text),
               fmt::format("at most {:.5g} GB/s per direction", link.bandwidth.value.value() * 1e-9));
  }
  in.section("packet", [&](MapReader& at) {
    Sourced<Bytes> payload, header;
    at.quantity("payload", QuantityKind::size, payload, true);
    at.quantity("header", QuantityKind::size, header, true);
    link.packet_payload = payload.value;
    link.packet_header = header.value;
  });
  in.quantity("latency", QuantityKind::time, link.latency);
  for (const SpecNode* one : in.texts("usual_beside"))
    if (std::find(generation_names.begin(), generation_names.end(), one->text) == generation_names.end())
      in.fault(*one, "usual_beside", fmt::format("\"{}\" is no generation of GPUs", clipped(one->text)), "write one as in data/gpus");
  in.finish();
  return link;
}

SwitchSpec read_switch(const SpecNode& tree, Faults& faults) {
  MapReader in(tree, "", faults);
  common_keys(in);
  SwitchSpec spec;
  spec.name = in.name("name", true);
  spec.title = in.text("title");
  spec.link = in.reference("link", true);
  spec.ports = in.count("ports", 0, 1, 100000, true);
  spec.per_board = in.count("per_board", 0, 1, 1000);
  in.quantity("latency", QuantityKind::time, spec.latency);
  for (const SpecNode* item : in.texts("in_network")) {
    if (item->text == "reduction")
      spec.reduces = true;
    else if (item->text == "multicast")
      spec.multicasts = true;
    else
      in.fault(*item, "in_network", fmt::format("\"{}\" is not known", item->text), "write reduction or multicast");
  }
  in.finish();
  return spec;
}

}  // namespace fabricost::core
