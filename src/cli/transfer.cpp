/// \file transfer.cpp
/// fabricost transfer: what moves outside of collectives. Storage into GPUs, loads and stores against RDMA, many senders at one port.

#include "transfer.hpp"

#include "text/units.hpp"
#include "names.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/error.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <memory>

namespace fabricost::cli {
namespace {

using Answer = TransferAnswer (*)(const System&, const TransferOptions&);
struct Kind {
  std::string_view name;
  Answer answer;
};
constexpr std::array<Kind, 3> kinds{{{"storage", transfer_storage}, {"access", transfer_access}, {"incast", transfer_incast}}};

[[nodiscard]] double quantity_of(const std::string& text, std::string_view option, io::QuantityKind kind) {
  const io::Parsed parsed = io::parse_quantity(text, kind);
  if (const double* value = std::get_if<double>(&parsed)) return *value;
  const auto& refusal = std::get<io::Refusal>(parsed);
  throw RequestError(fmt::format("{}: {}; {}", option, refusal.message, refusal.remedy));
}

void add_storage_options(CLI::App& sub, TransferOptions& o) {
  sub.add_option("--per-gpu", o.per_gpu, "storage: bytes for each GPU, instead of --size")->option_text("SIZE");
  sub.add_option("--gpus", o.gpus, "storage: GPUs of a node that read; default all")->option_text("N");
  sub.add_option("--client", o.client, "storage: link a node reads by, as ethernet-100")->option_text("LINK");
  sub.add_option("--ports", o.ports, "storage: client ports of a node; default 1")->option_text("N");
  sub.add_option("--read-rate", o.read_rate, "storage: what a node's drives deliver, as \"50 GB/s\"")->option_text("RATE");
  sub.add_option("--store-rate", o.store_rate, "storage: what the store gives all nodes together")->option_text("RATE");
  sub.add_option("--latency", o.latency, "storage: until the first byte, as \"500 us\"")->option_text("TIME");
  sub.add_option("--host-memory", o.host_memory, "storage: rate of a node's memory, reads and writes")->option_text("RATE");
  sub.add_flag("--behind-host", o.behind_host, "storage: drives or ports do not hang on the GPUs' switches");
}

void add_access_options(CLI::App& sub, TransferOptions& o) {
  sub.add_option("--sizes", o.sizes, "access: default 64B:64KiB:x2")->option_text("SIZES");
  sub.add_option("--warps", o.warps, "access: warps that load or store; default 1, 2 KiB in flight each")->option_text("N");
  sub.add_option("--in-flight", o.in_flight, "access: bytes in flight, or unbounded (DMA engines)")->option_text("SIZE");
  sub.add_option("--hops", o.hops, "access: between the two, on a torus; default 1")->option_text("N");
  sub.add_option("--start", o.start, "access: what posting an RDMA message adds, as \"2 us\"")->option_text("TIME");
}

}  // namespace

double read_rate_of(const std::string& text, std::string_view option) {
  const bool directed = text.find("direction") != std::string::npos;
  return quantity_of(directed ? text : text + " per direction", option, io::QuantityKind::link_rate);
}
double memory_rate_of(const std::string& text, std::string_view option) { return quantity_of(text, option, io::QuantityKind::memory_rate); }
double seconds_of(const std::string& text, std::string_view option) { return quantity_of(text, option, io::QuantityKind::time); }

void only_for(const std::string& value, std::string_view option, std::string_view what) {
  if (!value.empty()) throw RequestError(fmt::format("{} belongs to transfer {}; leave it out", option, what));
}

void add_transfer(CLI::App& app, Runner& runner) {
  const auto options = std::make_shared<TransferOptions>();
  CLI::App& sub = *app.add_subcommand("transfer", "Storage into GPUs, loads and stores against RDMA, incast");
  sub.add_option("WHAT", options->what,
                 "storage (into GPUs, through the host and direct)\n"
                 "access (loads and stores against RDMA)\n"
                 "incast (many senders, one port)")
      ->option_text(" ");
  sub.add_option("--system", options->system, "A name (see fabricost systems) or a YAML file")->option_text("NAME");
  sub.add_option("--nodes", options->nodes, "storage: nodes that load; default 1")->option_text("N");
  sub.add_option("--size", options->size, "storage: all of the weights; incast: of each sender")->option_text("SIZE");
  add_storage_options(sub, *options);
  add_access_options(sub, *options);
  sub.add_option("--senders", options->senders, "incast: how many write at once")->option_text("N");
  sub.add_option("--calibration", options->calibration, "none or a file; default the shipped one")->option_text("FILE");
  sub.add_option("--set", options->overrides, "Override one value of the system, repeatable")
      ->option_text("PATH=VALUE")
      ->allow_extra_args(false);
  sub.add_flag("--explain", options->explain, "Show the arithmetic behind every time");
  sub.add_flag("--json", options->json, "Print JSON");
  sub.footer("Example: fabricost transfer storage --system dgx-h100 --nodes 16 --size 810GB --client ethernet-100");
  runner.add(sub, [options](const Terminal& terminal) {
    std::vector<std::string> names;
    names.reserve(kinds.size());
    for (const Kind& kind : kinds) names.emplace_back(kind.name);
    if (options->what.empty()) throw RequestError("transfer of what? One of: " + joined(names));
    for (const Kind& kind : kinds) {
      if (detail::folded(options->what) != kind.name) continue;
      if (options->system.empty()) throw RequestError("which machine? Add --system NAME; fabricost systems lists the names");
      const TransferAnswer answer = kind.answer(load_system(options->system, options->overrides, options->calibration), *options);
      if (options->json) return printed(answer.json);
      return terminal.strong(answer.heading) + "\n" + answer.text + (options->explain ? "\n" + answer.arithmetic : "");
    }
    throw_unknown(options->what, "a transfer", names);
  });
}

}  // namespace fabricost::cli
