#include "fields/other_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace fabricost::core {
namespace {

/// A word used here, and those that people know from other tools, separated by blanks.
struct OtherWords {
  std::string_view ours, theirs;
};
constexpr OtherWords other_commands[] = {{"plan train", "train training layout parallelism"},
                                         {"plan serve", "serve serving inference deploy"},
                                         {"plan rl", "rl"},
                                         {"plan", "search optimize optimise"},
                                         {"machine", "list machines clusters gpus hardware"},
                                         {"predict", "simulate estimate latency"},
                                         {"diagnose", "check analyze analyse debug slow log"},
                                         {"trace", "profile"},
                                         {"explore", "what-if whatif vary"},
                                         {"calibrate", "fit"},
                                         {"cost", "price prices money budget tco dollars"},
                                         {"compare", "buy"},
                                         {"need", "capacity sizing"},
                                         {"measure", "benchmark bench"},
                                         {"topo", "topology"}};
/// In this order: of two that a command has, the first is meant.
constexpr OtherWords other_options[] = {
    {"--nodes", "num-nodes nnodes n node-count"},
    {"--gpus", "num-gpus ngpus n-gpus gpu-count num-ranks nranks np world-size ranks nodes num-nodes nnodes devices num-devices g"},
    {"--ranks", "num-gpus ngpus gpus world-size g"},
    {"--nodes, as many as hold them", "num-gpus ngpus gpus num-ranks nranks ranks np world-size"},
    {"--of \"all_reduce 1GiB\"", "collective operation op size message-size"},
    {"--size, as in --size 8:8GiB:x2", "b e f minbytes maxbytes stepfactor"},
    {"--size", "bytes message-size msg-size data-size buffer-size"},
    {"--system", "machine cluster hardware gpu gpu-type systems accelerator device"},
    {"--model", "m model-name model-path"},
    {"--hidden, --experts and --top-k, as fabricost model NAME prints them", "model"},
    {"--isl", "input-length input-len prompt prompt-length prompt-len prompt-tokens input-tokens random-input-len"},
    {"--osl", "output-length output-len answer completion-tokens output-tokens max-tokens max-new-tokens random-output-len"},
    {"--global-batch", "batch-size gbs bs batch train-batch-size"},
    {"--batch", "batch-size bs max-num-seqs max-batch-size"},
    {"--concurrency", "users clients num-users"},
    {"--microbatch", "micro-batch-size micro-batch mbs per-device-train-batch-size"},
    {"--sequence", "seq seq-len seq-length seqlen sequence-length context context-length max-seq-len"},
    {"--tp", "tensor-parallel tensor-parallel-size tensor-model-parallel-size tp-size"},
    {"--pp", "pipeline-parallel pipeline-parallel-size pipeline-model-parallel-size pp-size stages"},
    {"--cp", "context-parallel context-parallel-size cp-size"},
    {"--ep", "expert-parallel expert-parallel-size expert-model-parallel-size enable-expert-parallel ep-size"},
    {"--dp", "data-parallel data-parallel-size dp-size replicas"},
    {"--vp", "virtual-pipeline num-layers-per-virtual-pipeline-stage"},
    {"--zero 3", "fsdp fsdp2"},
    {"--lora-rank R --load-in-4bit", "qlora load-in-4-bit bnb nf4"},
    {"--lora-rank", "lora lora-r peft adapter adapters"},
    {"--frozen-model", "dpo reference-model ref-model teacher"},
    {"--zero", "zero-stage use-distributed-optimizer"},
    {"--recompute", "activation-checkpointing gradient-checkpointing checkpoint-activations recompute-granularity remat"},
    {"--precision", "dtype quantization quant data-type fp8 bf16"},
    {"--dtype", "precision data-type datatype d"},
    {"--kv-precision", "kv-cache-dtype kv-dtype"},
    {"--stack", "framework engine backend software"},
    {"--headroom", "gpu-memory-utilization memory-margin"},
    {"--disaggregated", "disagg disaggregate"},
    {"--request-rate", "rate qps rps requests-per-second arrival-rate"},
    {"--tpot", "itl inter-token-latency"},
    {"--ttft", "time-to-first-token"},
    {"--draft-tokens",
     "drafts num-speculative-tokens speculative-config speculative-num-draft-tokens speculative-algorithm speculative-num-steps eagle mtp "
     "speculative"},
    {"--prefix", "prefix-cache prefix-caching enable-prefix-caching"},
    {"--percentile", "p99 p95 p90 p50"},
    {"--isl and --osl, tokens of a prompt and of its answer", "max-model-len max-seq-len context-length max-context"},
    {"--library, as in --library nccl-2.27", "nccl nccl-version version"},
    {"--top", "num-results limit"},
    {"--tokens", "train-tokens num-tokens"},
    {"--price", "price-gpu-hour gpu-price gpu-hour-price"},
    {"--price-gpu-hour", "price gpu-price gpu-hour-price"},
    {"--choice fastest", "fastest"},
    {"--set nic.sharp=true", "sharp collnet collnet-enable"},
    {"--out", "output output-file outfile"},
    {"--in", "deadline days max-time time-limit"},
    {"--hours", "days duration"},
    {"--megawatts", "power mw"},
    {"--years", "depreciation lifetime amortization"},
    {"--mttf-node", "mtbf mtbf-node mttf node-mtbf"},
    {"--json", "output format output-format"}};

constexpr OtherWords other_values[] = {{"p2p", "ring"},
                                       {"a2a", "ulysses alltoall"},
                                       {"fp8 (training: with --fp8-recipe mxfp8)", "mxfp8"},
                                       {"fp4", "nvfp4 mxfp4"}};

/// What another command answers.
constexpr OtherWords other_ways[] = {
    {"pictures: fabricost report MACHINE OP --sizes 1KiB:8GiB:x2 -o page.html, or fabricost.plot in Python", "plot picture chart graph svg png"},
    {"ranks that are apart: fabricost share --of \"all_reduce 1GiB over 8 every 8\"", "stride every over"},
    {"a collective: fabricost predict all_reduce --system NAME --size 1GiB, a machine at a time", "collective operation op size message-size"}};

[[nodiscard]] bool is_one_of(std::string_view typed, std::string_view theirs) {
  return fmt::format(" {} ", theirs).find(fmt::format(" {} ", typed)) != std::string::npos;
}

/// The first word here for one of theirs that begins with one of `known`.
[[nodiscard]] std::string_view word_here(std::string_view typed, std::span<const OtherWords> words, const std::vector<std::string>& known) {
  for (const OtherWords& word : words) {
    const std::string_view first = word.ours.substr(0, word.ours.find_first_of(" ,"));
    if (is_one_of(typed, word.theirs) &&
        std::find(known.begin(), known.end(), first) != known.end())
      return word.ours;
  }
  return {};
}

}  // namespace

std::string_view command_meant(std::string_view typed, const std::vector<std::string>& known) {
  return word_here(typed, other_commands, known);
}
std::string_view option_meant(std::string_view typed, const std::vector<std::string>& known) {
  return word_here(typed, other_options, known);
}
std::string_view value_meant(std::string_view typed, std::span<const std::string_view> known) {
  return word_here(typed, other_values, {known.begin(), known.end()});
}
std::string_view way_elsewhere(std::string_view typed) {
  for (const OtherWords& way : other_ways)
    if (is_one_of(typed, way.theirs)) return way.ours;
  return {};
}

}  // namespace fabricost::core
