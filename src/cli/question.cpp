/// \file question.cpp
/// From words to an Operation, a Choice and a System. Every name is refused with those near to it.

#include "question.hpp"

#include "face.hpp"
#include "names.hpp"

#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <array>
#include <charconv>

namespace fabricost::cli {
namespace {

constexpr std::array<std::string_view, 2> of_experts{"moe_dispatch", "moe_combine"};

[[nodiscard]] Collective collective_of(const std::string& text) {
  if (text.empty()) throw RequestError("which operation? One of: " + joined(operation_names()));
  if (const auto found = parse_collective(text)) return *found;
  for (const std::string_view name : of_experts)
    if (fabricost::detail::folded(text) == fabricost::detail::folded(name))
      throw RequestError(fmt::format("{} is answered by fabricost predict and fabricost explain alone", name));
  throw_unknown(text, "an operation", operation_names());
}

/// "vllm", "vllm=0.14.0", "vllm,python": a version, or a call from Python.
[[nodiscard]] Inference inference_of(const std::string& text) {
  constexpr std::string_view python = ",python";
  Inference out{.from_host = text.ends_with(python)};
  const std::string rest = out.from_host ? text.substr(0, text.size() - python.size()) : text;
  const auto equals = rest.find('=');
  const auto library = parse_inference_library(rest.substr(0, equals));
  if (!library)
    throw_unknown(rest.substr(0, equals), "an inference engine", listed(std::span{inference_library_names}.subspan<1>()), "--library");
  out.library = *library;
  if (equals == std::string::npos) return out;
  out.version = version_number(rest.substr(equals + 1));
  if (out.version == 0)
    throw RequestError(fmt::format("--library: \"{}\" is no version; write it as in {}=0.14.0", rest.substr(equals + 1), name(*library)));
  return out;
}

[[nodiscard]] Choice choice_of(const Question& q) {
  Choice out;
  if (const auto rule = one_of<Choice::Rule>(q.choice, rule_names, "a choice", "--choice")) out.rule = *rule;
  if (!q.algorithm.empty()) {
    out.algorithm = parse_algorithm(q.algorithm);
    if (!out.algorithm) throw_unknown(q.algorithm, "an algorithm", listed(algorithm_names), "--algorithm");
  }
  if (!q.protocol.empty()) {
    out.protocol = parse_protocol(q.protocol);
    if (!out.protocol) throw_unknown(q.protocol, "a protocol", listed(protocol_names), "--protocol");
  }
  if (!q.library.empty()) out.inference = inference_of(q.library);
  if (!q.launch.empty()) {
    constexpr std::array<std::string_view, 2> launches{"graph", "eager"};
    const auto at = std::find(launches.begin(), launches.end(), q.launch);
    if (at == launches.end()) throw_unknown(q.launch, "a way to launch", listed(launches), "--launch");
    if (q.launch == "graph" && out.inference.from_host)
      throw RequestError(fmt::format("--launch graph and --library {} contradict each other; leave one out", q.library));
    out.inference.from_host = q.launch == "eager" || out.inference.from_host;
  }
  return out;
}

/// The machine with NICs of one node gone: everybody waits for that node, so that all nodes count as it does.
[[nodiscard]] System without_rails(const Question& q, KernelSets kernels) {
  const int lost = count_of(q.lost_rails, "--lost-rails");
  const System whole = load_system(q.system, q.overrides, q.calibration, KernelSets::none());
  const Tier* nic = whole.tier(TierRole::nic);
  if (nic == nullptr) throw RequestError(fmt::format("--lost-rails: {} has no NICs", whole.name));
  if (lost >= nic->endpoints)
    throw RequestError(fmt::format("--lost-rails: {} of {} NICs of a {}; at least one has to be left", lost, nic->endpoints, whole.name));
  std::vector<std::string> overrides = q.overrides;
  overrides.push_back(fmt::format("tiers.{}.endpoints={}", nic->name.view(), nic->endpoints - lost));
  return load_system(q.system, overrides, q.calibration, kernels);
}

/// A send_recv is between two GPUs of a domain, a GPU and its host, two nodes; or, as nccl-tests does it on several nodes, from every
/// GPU to the next.
void check_pair(Operation& op, bool path_given) {
  if (op.collective != Collective::send_recv) {
    if (path_given) throw RequestError(fmt::format("--path is for send_recv; {} takes the paths its algorithm needs", name(op.collective)));
    return;
  }
  if (op.path == Path::nic) {
    if (op.nodes == 1) throw RequestError("--path nic leaves the node; leave --nodes out or take at least 2");
    if (op.nodes == 0) op.nodes = 2;
  } else if (path_given && op.nodes > 1) {
    throw RequestError(fmt::format("--path {} stays inside a node; use --path nic for {} nodes", name(op.path), op.nodes));
  }
}

/// A heading and words after it, in lines of at most `width` characters.
std::string in_lines(std::string heading, const std::vector<std::string>& words, std::size_t width) {
  std::size_t used = heading.size();
  for (const std::string& word : words) {
    const bool fits = used + 1 + word.size() <= width;
    heading += fits ? ' ' : '\n';
    heading += word;
    used = fits ? used + 1 + word.size() : word.size();
  }
  return heading;
}

}  // namespace

DataType data_type_of(const std::string& text, std::string_view option) {
  const auto type = parse_data_type(text);
  if (!type) throw_unknown(text, "a data type", listed(data_type_names), option);
  return *type;
}

void add_question(CLI::App& sub, Question& q) {
  sub.add_option("OP", q.operation,
                 "all_reduce all_gather reduce_scatter broadcast reduce\n"
                 "all_to_all send_recv (case, - and _ do not matter)")
      ->option_text(" ");
  sub.add_option("--system", q.system, "A name (see fabricost systems) or a YAML file")->option_text("NAME");
  sub.add_option("--nodes", q.nodes, "Nodes, as nccl-tests counts them")->option_text("N");
  sub.add_option("--ranks", q.ranks, "GPUs; default all of the nodes")->option_text("R");
  sub.add_option("--dtype", q.dtype, "int8 half bfloat16 fp8 float double; default half")->option_text("TYPE");
  sub.add_option("--algorithm", q.algorithm, in_lines("Force one:", listed(algorithm_names), 54))->option_text("A");
  sub.add_option("--protocol", q.protocol, "Force one: ll ll128 simple")->option_text("P");
  sub.add_option("--choice", q.choice, "nccl (as its tuner picks, default) or fastest")->option_text("RULE");
  sub.add_option("--calibration", q.calibration, "none or a file; default the shipped one")->option_text("FILE");
  sub.add_option("--set", q.overrides,
                 "Override one value of the system, repeatable:\n"
                 "--set tiers.nic.bandwidth=\"25 GB/s per direction\"")
      ->option_text("PATH=VALUE")
      ->allow_extra_args(false);
  sub.add_option("--path", q.path, "send_recv: gpu-gpu (default) gpu-host nic")->option_text("PATH");
}

void add_size(CLI::App& sub, Question& q) {
  sub.add_option("--size", q.size, "Message size as nccl-tests counts it: 256MiB, 1GB")->option_text("SIZE");
}

Asked ask(const Question& q, bool sized) {
  Operation op{.collective = collective_of(q.operation)};
  const Choice choice = choice_of(q);
  if (!q.dtype.empty()) op.dtype = data_type_of(q.dtype);
  if (!q.path.empty()) {
    const auto path = parse_path(q.path);
    if (!path) throw_unknown(q.path, "a path", listed(path_names), "--path");
    op.path = *path;
  }
  op.nodes = count_of(q.nodes, "--nodes");
  op.ranks = count_of(q.ranks, "--ranks");
  check_pair(op, !q.path.empty());
  if (q.system.empty()) throw RequestError("which machine? Add --system NAME; fabricost systems lists the names");
  if (sized) {
    if (q.size.empty()) throw RequestError("how much? Add --size, as in --size 256MiB");
    op.bytes = size_of(q.size, "--size");
  }
  if (choice.inference.from_host && op.collective != Collective::all_reduce)
    throw RequestError(fmt::format("--launch eager is known for all_reduce alone, not for {}", name(op.collective)));
  const KernelSets kernels{.compute = q.compute, .custom = !q.library.empty(), .moe = false};
  return {q.lost_rails.empty() ? load_system(q.system, q.overrides, q.calibration, kernels) : without_rails(q, kernels), op, choice};
}

std::string title(const Asked& asked, int ranks, int nodes, bool sized) {
  const Operation& op = asked.operation;
  std::string out{name(op.collective)};
  if (sized) out += " of " + size_text(op.bytes);
  out += fmt::format(" ({})", name(op.dtype));
  if (op.collective == Collective::send_recv && (op.path != Path::gpu_gpu || nodes <= 1))
    out += fmt::format(", {}", name(op.path));
  else
    out += fmt::format(", {} rank{} on {} node{}", ranks, ranks == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s");
  return fmt::format("{}, {}", out, asked.system.name);
}

}  // namespace fabricost::cli
