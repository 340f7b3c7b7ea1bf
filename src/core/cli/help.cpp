/// Help: which commands answer which question, which options a command needs and which are common, and `fabricost help`.

#include "cli/help.hpp"

#include "cli/runner.hpp"
#include "fields/other_words.hpp"
#include "text/ascii.hpp"
#include "text/text_table.hpp"

#include <fabricost/fields/fields.hpp>
#include <fabricost/request_error.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace fabricost::cli {
namespace {

constexpr std::size_t help_width = 80, text_column = 26;

struct Named {
  std::string_view title, names;  ///< names are separated by a blank
};

/// Commands by question; the others are MORE.
constexpr auto command_groups = std::to_array<Named>({{"ASK", "predict plan compare cost"},
                                                 {"CHECK", "diagnose trace tune"},
                                                 {"MACHINE", "machine model measure calibrate"}});

/// The options that a command needs, and its common ones; of a command with several questions those of each, and of none selected.
struct Common {
  std::string_view command, needed, common;
};
constexpr auto common_options = std::to_array<Common>({
    {"predict", "OP --system --size",
     "--nodes --ranks --dtype --explain --launch --library --upgrade --algorithm --protocol --calibration --json"},
    {"explain", "OP --system --size", "--nodes --ranks --dtype --launch --library --upgrade --algorithm --protocol --calibration --json"},
    {"sweep", "OP --system --sizes", "--nodes --ranks --size --dtype --crossovers --algorithm --protocol --calibration --csv --json"},
    {"share", "--system --of", "--nodes --layout --balancing --minimal --calibration --json"},
    {"transfer", "WHAT --system", "--size --nodes --read-rate --store-rate --sizes --senders --calibration --json"},
    {"validate", "FILES", "--system --nodes --ranks --launch --library --raw --calibration --out --json"},
    {"calibrate", "--from --system", "--only --leave-out --hold --list --launch --library --out --json"},
    {"measure", "", "--quick --budget --only --gpus --sizes --system --out --json"},
    {"plan train", "--system --model --gpus --global-batch",
     "--sequence --precision --stack --tp --pp --recompute --top --explain --find --vary --json"},
    {"plan serve", "--system --model --gpus",
     "--isl --osl --ttft --tpot --concurrency --request-rate --precision --stack --top --find --vary --json"},
    {"plan rl", "--system --model --gpus --prompts --osl --max-osl",
     "--samples --isl --colocated --overlap --stack --rollout-stack --json"},
    {"plan", "--train --serve --rl --system --model --gpus", "--global-batch --sequence --isl --osl --ttft --tpot --find --vary"},
    {"compare", "SYSTEMS --train --serve --model --gpus", "--global-batch --sequence --isl --osl --ttft --tpot --precision --price"},
    {"need", "UNKNOWN --train --serve --system --model", "--gpus --global-batch --over --within --step --mfu --tokens-per-second --json"},
    {"explore", "--train --serve --system --model --vary", "--gpus --global-batch --objective --limit --ttft --tpot --csv --json"},
    {"project", "--system --model --tokens --global-batch", "--gpus --in --done-by --sequence --precision --stack --fleet --price --json"},
    {"tune", "--system", "--nodes --ranks --op --dtype --calibration --json"},
    {"diagnose", "LOG", "--system --nodes --ranks --expected --against --launch --library --check --json"},
    {"trace", "FILES", "--system --on --without --against --calls --perfetto --html --json"},
    {"pipeline", "--schedule --stages --microbatches --forward", "--backward --weight --chunks --exchange --json"},
    {"goodput", "--gpus", "--system --fleet --mttf-node --checkpoint --interval --async --restart --spares --json"},
    {"stragglers", "--ranks", "FILE --mean --deviation --p50 --p99 --slow --barriers --json"},
    {"cost", "--system", "--gpus --hours --tokens --model --mfu --plan --price-kind --price-gpu-hour --upgrade --json"},
});

/// Headings for the other options, whatever the command.
constexpr auto option_groups = std::to_array<Named>({
    {"Layout", "--max-tp --tp --pp --vp --cp --ep --expert-tp --dp --zero --shard --microbatch --schedule --recompute --recompute-modules "
               "--recompute-num-layers --sequence-parallel --placing --cp-comm-type --batch-within --decoder-first-pipeline-num-layers "
               "--decoder-last-pipeline-num-layers --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split "
               "--reshard-after-forward --prefetch-layers"},
    {"Memory", "--headroom --cpu-offloading-num-layers --optimizer-offload-fraction --main-params-dtype --exp-avg-dtype --exp-avg-sq-dtype "
               "--store-param-remainders --grad-reduce-in-fp32 --fp8-param-gather --activation-func-fp8-input-store --load-in-4bit"},
    {"Kernels and overlap", "--precision --stack --stack-scale --measured-step --cuda-graphs --fp8-recipe --fp8-attention --attention --tp-comm-overlap "
                            "--overlap-grad-reduce"},
    {"Model", "--lora-rank --lora-modules --document --mtp-num-layers --frozen-model --data-time --evaluation-share"},
    {"Mixture of experts", "--routing --capacity --moe-dispatcher --overlap-moe-comm"},
    {"NCCL", "--algorithm --protocol --choice --library --launch --upgrade --nvls --symmetric --barrier-free --ctas --copy-engine --redop "
             "--registered --no-pxn --fused-norm"},
    {"Network", "--lost-rails --relay --nic-block --balancing --minimal"},
    {"Point to point", "--path --put --gin"},
    {"Failures", "--fleet --mttf-node --failures-per-node-day --failures-per-1000-node-days --checkpoint --interval --async --drain "
                 "--restart --reload --storage --spares --repair --replaced --flaps-per-link-year --flap-stall --links --flap-fatal"},
    {"Money and power", "--price --price-kind --prices --price-gpu-hour --price-server --price-kwh --price-site --pue --years --interest "
                        "--storage-share --network"},
    {"Machine", "--set --calibration"},
    {"Answer", "--top --sensitivity --pareto --explain --trace --threads --out --csv --plot --perfetto --html --json"},
});

[[nodiscard]] std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

/// The options of that name, those of the command alone.
[[nodiscard]] std::vector<const CLI::Option*> options_of(const CLI::App& app, std::string_view names) {
  std::vector<const CLI::Option*> out;
  for (const std::string& name : words_in(names))
    if (const CLI::Option* option = app.get_option_no_throw(name)) out.push_back(option);
  return out;
}

/// The row of the command; of one with several questions that of the selected one.
[[nodiscard]] const Common* common_of(const CLI::App& app) {
  for (const Common& one : common_options) {
    const std::vector<std::string> words = words_in(one.command);
    const CLI::Option* question = words.size() > 1 ? app.get_option_no_throw("--" + words[1]) : nullptr;
    if (words.front() == app.get_name() && (words.size() == 1 || (question != nullptr && question->count() > 0))) return &one;
  }
  return nullptr;
}

/// `first`, and the text in its column, broken at the margin.
[[nodiscard]] std::string two_columns(const std::string& first, std::string_view text) {
  const std::string indent(text_column, ' ');
  if (first.size() + 2 > text_column) return first + "\n" + (text.empty() ? "" : wrapped(indent, text, help_width));
  return wrapped(first + indent.substr(first.size()), text, help_width);
}

/// The beginning of a description, of so many characters.
[[nodiscard]] std::string brief(const std::string& text, std::size_t most) {
  std::string line = text.substr(0, text.find(';'));
  std::replace(line.begin(), line.end(), '\n', ' ');
  if (line.size() <= most) return line;
  line.resize(line.rfind(' ', most - 4));
  return line + " ...";
}

/// What a question says of the option; nullptr: it does not claim it.
[[nodiscard]] const Runner::Claim* claim_of(const CLI::Option& option, std::string_view question) {
  const std::span<const Runner::Claim> all = Runner::claims_of(option);
  const auto at = std::find_if(all.begin(), all.end(), [&](const Runner::Claim& one) { return one.question == question; });
  return at == all.end() ? nullptr : &*at;
}

/// Whether the option belongs to the question; those that no question claims belong to all.
[[nodiscard]] bool is_of(const CLI::Option& option, std::string_view question) {
  return question.empty() || Runner::claims_of(option).empty() || claim_of(option, question) != nullptr;
}

[[nodiscard]] std::string option_entry(const CLI::Option& option, bool whole, std::string_view question) {
  const bool positional = option.get_positional();
  std::string first = "  " + option.get_name(positional, !positional);
  if (!option.get_option_text().empty() && option.get_option_text() != " ") first += " " + option.get_option_text();
  const Runner::Claim* const claim = claim_of(option, question);
  const std::string words = claim == nullptr || claim->words.empty() ? option.get_description() : claim->words;
  if (whole) return two_columns(first, words);
  first.resize(std::max(first.size() + 2, text_column), ' ');
  return first + brief(words, help_width - first.size()) + "\n";
}

[[nodiscard]] std::string group_text(std::string_view title, const std::vector<const CLI::Option*>& options, bool whole, std::string_view question = {}) {
  std::string out;
  for (const CLI::Option* option : options) out += option_entry(*option, whole, question);
  return out.empty() ? out : fmt::format("\n{}:\n{}", title, out);
}

/// The selected question of a command with several, as in "train"; empty: none is selected, or there is one.
[[nodiscard]] std::string question_of(const Common* common) {
  const std::vector<std::string> words = words_in(common != nullptr ? common->command : "");
  return words.size() > 1 ? words[1] : "";
}

/// "plan train"; "plan train|serve|rl" where none is selected.
[[nodiscard]] std::string name_of(const CLI::App& app, const Common* common) {
  if (const std::string question = question_of(common); !question.empty()) return app.get_name() + " " + question;
  std::vector<std::string> questions;
  for (const Common& one : common_options)
    if (words_in(one.command).front() == app.get_name() && !question_of(&one).empty()) questions.push_back(question_of(&one));
  return app.get_name() + (questions.empty() ? "" : " " + joined(questions, "|"));
}

[[nodiscard]] std::string usage_of(const CLI::App& app, const Common* common) {
  std::string out = "Usage: fabricost " + name_of(app, common);
  const std::vector<std::string> needed = words_in(common != nullptr ? common->needed : "");
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_positional(); })) {
    const std::string name = option->get_name(true, false);
    out += std::find(needed.begin(), needed.end(), name) != needed.end() ? " " + name : " [" + name + "]";
  }
  return out + " [OPTIONS]\n";
}

/// The examples, or the first of one question; a long one goes on below.
[[nodiscard]] std::string examples(const CLI::App& app, bool all, std::string_view question = {}) {
  const std::string text = app.get_footer();
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.find(question) == std::string::npos || (!all && !out.empty())) continue;
    const std::size_t begin = line.find("fabricost");
    const std::string first = begin == std::string::npos ? "" : out.empty() ? "Example: " : "         ";
    out += wrapped_command(first, line.substr(std::min(begin, line.size())), help_width);
  }
  return out;
}

[[nodiscard]] std::string command_help(const CLI::App& app, bool whole) {
  const Common* const common = common_of(app);
  const std::string question = question_of(common);
  std::string out = wrapped("", app.get_description(), help_width) + (whole || common == nullptr ? "\n" : "") + usage_of(app, common);
  const std::vector<const CLI::Option*> needed = options_of(app, common != nullptr ? common->needed : ""),
                                        often = options_of(app, common != nullptr ? common->common : "");
  out += group_text("Needed", needed, whole, question) + group_text(common != nullptr ? "Common" : "Options", often, whole, question);
  const std::string example = examples(app, whole || common == nullptr, question);
  if (!whole && common != nullptr)
    return out + example +
           fmt::format("All {} options: fabricost {} --help\n", app.get_options([&](const CLI::Option* o) { return is_of(*o, question); }).size() - 2,
                       question.empty() ? app.get_name() : name_of(app, common));
  std::vector<const CLI::Option*> shown = needed;
  shown.insert(shown.end(), often.begin(), often.end());
  const auto others = [&](std::vector<const CLI::Option*> all) {
    std::erase_if(all, [&](const CLI::Option* o) {
      return o->get_group().empty() || !is_of(*o, question) || std::find(shown.begin(), shown.end(), o) != shown.end();
    });
    shown.insert(shown.end(), all.begin(), all.end());
    return all;
  };
  if (common != nullptr) {
    std::vector<std::pair<std::string, std::vector<const CLI::Option*>>> own;  // groups that the command made itself
    for (const std::string& group : app.get_groups())
      if (group != "Options" && !group.empty())
        own.emplace_back(group, others(app.get_options([&](const CLI::Option* o) { return o->get_group() == group; })));
    for (const Named& one : option_groups) out += group_text(one.title, others(options_of(app, one.names)), true, question);
    for (const auto& [group, options] : own) out += group_text(group, options, true, question);
  }
  const std::vector<const CLI::Option*> rest = others(app.get_options({}));
  return out + group_text(common != nullptr ? "More" : "Options", rest, true, question) + (example.empty() ? "" : "\n") + example;
}

/// Commands by question, MORE by name alone; or all with their descriptions.
[[nodiscard]] std::string app_help(const CLI::App& app, bool whole) {
  constexpr std::size_t second = 22;
  const auto named = [&](const std::string& name) { return app.get_subcommands([&](const CLI::App* one) { return one->get_name() == name; }); };
  std::string out = app.get_description() + "\n\nUsage: fabricost COMMAND [OPTIONS]\n\n", more, every;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    const auto has = [&](const Named& of) {
      const std::vector<std::string> names = words_in(of.names);
      return std::find(names.begin(), names.end(), sub->get_name()) != names.end();
    };
    if (std::none_of(command_groups.begin(), command_groups.end(), has)) more += (more.empty() ? "" : " ") + sub->get_name();
    every += two_columns("  " + sub->get_name(), sub->get_description());
  }
  if (whole) return out + "Commands:\n" + every + group_text("Options", app.get_options(), true) + "\n" + app.get_footer() + "\n";
  for (const Named& group : command_groups) {
    std::string_view title = group.title;
    for (const std::string& name : words_in(group.names))
      for (const CLI::App* sub : named(name)) {
        const std::string first = fmt::format("{:<9}{}", std::exchange(title, ""), name);
        out += first + std::string(second - first.size(), ' ') + brief(sub->get_description(), help_width - second) + "\n";
      }
  }
  return out + wrapped("MORE     ", more, help_width) + "\n" + app.get_footer() + "\n";
}

struct Topic {
  std::string_view name, text;
};
constexpr auto topics = std::to_array<Topic>({
    {"units",
     "Sizes: KiB MiB GiB TiB are powers of two, kB MB GB TB powers of ten; a plain number is bytes. Times: us, ms, s, min, h, d. Rates of "
     "links say their direction: \"450 GB/s per direction\" or \"900 GB/s both directions\"; bits are Gbit/s. Counts of tokens take k, "
     "M, G, T. Several values: 1KiB:8GiB:x2 multiplies, 8:64:+8 adds, 4,16,64 lists."},
    {"accuracy",
     "Every answer has a range that should contain nine of ten measurements, and says on what it rests. calibrated: this machine was measured. "
     "sibling: a machine built like it was, or other operations on it. datasheet: neither; the range is wide. One measured log of your own "
     "makes it narrower: fabricost calibrate --system NAME --from my.log -o mine.yaml, then add --calibration mine.yaml."},
    {"layout",
     "tp: GPUs that share the matrices of a layer (tensor parallel). pp: stages of layers (pipeline). vp: chunks of layers per stage. cp: GPUs "
     "that share a sequence (context). ep: GPUs that share the experts. dp: replicas; zero says what they shard: 1 optimizer states, 2 "
     "gradients too, 3 weights too. GPUs = tp x pp x cp x dp. What is not given is searched."},
    {"machines",
     "A machine is a name from fabricost machine or a YAML file, which may extend a named one. --set changes one value, as in --set "
     "tiers.nic.bandwidth=\"25 GB/s per direction\"; fabricost machine NAME prints what there is. fabricost topo reads nvidia-smi topo -m; "
     "fabricost measure measures a machine of your own."},
    {"metrics",
     "algbw: bytes / time. busbw: algbw times the factor of the operation, which makes it the rate of a link, as nccl-tests prints it. MFU: the "
     "model's operations over the peak of the GPUs in the time. exposed: communication that no computation hides. TTFT: time to the first "
     "token. TPOT: time per further token. goodput: the share of the time that is not lost to failures and checkpoints."},
    {"exit",
     "Exit status: 0 an answer; 1 a finding that --check asked for (the run failed or is slow); 2 the input cannot be processed, with a "
     "message on stderr and nothing on stdout; 70 an error in fabricost. NO_COLOR turns bold headings off; COLUMNS sets the width of tables "
     "where the output is no terminal (default 80)."},
    {"json",
     "--json prints one object: schema (raised by a change that a reader of the one before would not understand), question (the command), "
     "then the answer's keys, which carry their units: time_us, busbw_GBps, memory_GiB. fabricost COMMAND --help names the command's options; "
     "the same answer in Python has to_dict()."},
    {"causes", "diagnose names causes; fabricost help lists them all, and fabricost help CAUSE says what one is, as in fabricost help gdr_off."},
});
/// Words of tables and verdicts that are not plain English. A blank is written as a dash.
constexpr auto words = std::to_array<Topic>({
    {"algbw", "Bytes over time, whatever the operation. See busbw."},
    {"busbw",
     "algbw times the operation's factor (an all-reduce of n ranks: 2(n-1)/n), which makes it the rate of a link, as nccl-tests prints it."},
    {"launch", "From the call until its kernel runs on all GPUs; no bytes move yet. It is what the smallest message takes."},
    {"serial-steps", "Latency of the hops that follow one another: a ring of n ranks has 2(n-1) of them in an all-reduce."},
    {"protocol-floor", "The time below which a protocol's transfer does not fall, however few the bytes."},
    {"latency-growth", "What more bytes add before bandwidth counts: threads and channels that small messages leave idle."},
    {"wire", "The bytes over the links, at the rate that large messages reach."},
    {"local-copies", "Copies inside the GPU before the first and after the last step."},
    {"sends-to-peers", "What a GPU and its processor do for every peer that they send to, as in an all-to-all; on Slingshot three times as long for a message of 128 B or less, but not for one of 256 B."},
    {"kernels", "In a collective the transfer where NCCL's channels carry less than the links; in a step the launches of kernels."},
    {"bottleneck", "The term that takes most of the time, and the tier it is spent on."},
    {"calibrated", "This machine was measured, and the constants were fitted to it. See accuracy."},
    {"sibling", "A machine built like this one was measured, or other operations on this one. See accuracy."},
    {"datasheet", "Neither this machine nor one like it was measured: rates of the datasheet, and a wide range. See accuracy."},
    {"extrapolated", "The size, the ranks or the nodes lie beyond what was measured; the range is wider for it."},
    {"interval", "The range that nine of ten measurements should fall into. See accuracy."},
    {"ring", "Each rank sends to the next, around: the fewest bytes on each link, and the most steps."},
    {"tree", "Up to a root and down again, two trees with half of the data each: few steps between nodes."},
    {"nvls",
     "The NVLink switches add and multiply: each GPU sends its data once. nvls_tree does so in each node and takes trees between them."},
    {"nvls-tree", "NVLS in each node and trees between the nodes; nvls_tree in tables."},
    {"direct", "Every rank sends to every other at once, as in an all-to-all."},
    {"exchange", "Bytes between ranks that all send to all: of experts in a step, of all-to-all in a collective."},
    {"ll",
     "NCCL's protocol for small messages: a flag in every 8 bytes, low latency, half of the bandwidth. ll128: flags in 8 of 128 bytes."},
    {"ll128",
     "NCCL's protocol with flags in 8 of every 128 bytes: low latency at nearly the full rate, where the links keep 128 bytes together."},
    {"simple", "NCCL's protocol for large messages: whole chunks, then a flag. Full bandwidth, most latency."},
    {"tier", "One level of the machine: l2, hbm, nvlink, xgmi, pcie, nic, leaf, spine, core."},
    {"domain", "GPUs that the scale-up links join: 8 in a DGX, 72 in an NVL72."},
    {"rank", "One GPU that takes part. node: what nccl-tests counts as one, a server or a tray."},
    {"tp", "GPUs that share the matrices of a layer (tensor parallel). See layout."},
    {"pp", "Stages of layers, one after another (pipeline parallel). See layout."},
    {"vp", "Chunks of layers of each pipeline stage: more of them, a smaller bubble and more hand-overs. See layout."},
    {"cp", "GPUs that share a sequence (context parallel). See layout."},
    {"ep", "GPUs that share the experts (expert parallel). See layout."},
    {"dp", "Replicas that share the batch (data parallel). See layout."},
    {"zero", "What data ranks split: 0 nothing, 1 the optimizer's states, 2 gradients too, 3 weights too. See layout."},
    {"mb", "Sequences of a microbatch, which passes through the pipeline as one."},
    {"recompute", "Activations that are dropped in the forward pass and computed again in the backward pass: none, selective or full."},
    {"schedule", "The order of a pipeline's work: gpipe, 1f1b, interleaved (vp chunks), zero_bubble, dualpipe."},
    {"interleaved", "A 1f1b pipeline whose stages hold several chunks of layers each (vp)."},
    {"causal", "Without the half of the attention scores that a causal mask leaves out."},
    {"layer-floor", "What the launches of a layer's kernels take where the kernels are shorter than their launches."},
    {"weights-and-products", "Reading the weights and multiplying by them, whichever takes longer."},
    {"mfu",
     "Model FLOP utilisation: the model's operations over what the GPUs could do in the time. causal: without the masked half of the scores."},
    {"exposed", "Communication that no computation hides, as a share of the time."},
    {"pruned", "Layouts that cannot be better than those found, and were not priced in full."},
    {"bubble", "Time that the stages of a pipeline wait for each other, in every step; no rank is at fault."},
    {"waiting", "Time in a collective before its last rank has come."},
    {"idle", "Time in which a GPU neither computes nor communicates."},
    {"straggler", "A rank or node that others wait for."},
    {"slow_or_waiting", "Longer than predicted, but not all ranks were traced: the time may be waiting for one of them."},
    {"sound", "As predicted: within the range that nine of ten measurements fall into."},
    {"upper", "Seen on some of its ranks alone: the time contains waiting and is an upper bound. exact: seen on all."},
    {"engine", "An inference server's copy of the model: vLLM, SGLang, TensorRT-LLM. 2 x tp 4: two of them, on four GPUs each."},
    {"prefill", "Reading prompts, before the first token. disaggregated: on GPUs of their own. decode: writing the answer."},
    {"drafts",
     "Tokens that a small model or a module of the model's own (MTP, EAGLE) proposes; one pass verifies them. --draft-tokens 0 turns them off."},
    {"batch", "Of serving: sequences of an engine, of all its replicas of attention together. Of training: sequences of a step."},
    {"running", "Sequences that an engine decodes on average, of all its replicas of attention together."},
    {"up-to", "Requests per second up to which a deployment meets the limits, whatever rate is asked for."},
    {"ttft", "Time to the first token, from the request's arrival."},
    {"tpot", "Time per output token after the first. tokens/s/user is 1 / TPOT."},
    {"within", "Share of the requests that meet all limits asked for."},
    {"saturates", "Requests per second that are answered where more arrive: beyond it queues grow for ever."},
    {"kv", "The cache of keys and values that a running request holds, in GiB of a GPU."},
    {"hand-over", "Activations from one stage of a pipeline to the next, or a prompt's cache from prefill to decode."},
    {"dcn", "Of a step on several sites: the exchange between them that no step hides. See sites."},
    {"outer-update", "Once a round the outer optimizer moves the weights that all sites start from. See sites."},
    {"sites", "Places that train one model apart and exchange once a round of steps (DiLoCo): --sites."},
    {"stack", "The training software whose overlaps, fused kernels and memory a plan assumes: --stack, a file of data/stacks."},
    {"lora", "Low-rank adapters, which are trained beside frozen weights: --lora-rank."},
    {"fsdp", "Fully sharded data parallelism: --zero 3; among N replicas only (HSDP) --shard N."},
    {"tail", "Of plan rl: time that draining adds, as few long answers decode alone at the end of a batch."},
    {"log_probs", "Of plan rl: forward passes over the answers before the update, of the policy and of a reference or a critic."},
    {"sync", "Of plan rl: the new weights, gathered from the GPUs that train, on their way into the engines."},
    {"offloaded", "Of plan rl: the trainer's weights and optimizer wait in host memory while the same GPUs generate; reload moves them."},
    {"framework", "Of plan rl: what published frameworks took beyond generation and training as predicted; --rl-scale replaces their factor."},
    {"hidden", "Of plan rl: the shorter of generation and training, which overlap lets run beside the other."},
    {"dpo", "Training on preferences beside a frozen reference model: --frozen-model."},
    {"placing", "What is nearest in the order of ranks: replicas (data_inside) or stages (stages_inside)."},
    {"prompts-of-others", "Time that an answer waits because prompts of other requests are read in the same step."},
    {"knee", "The point where the Pareto front bends: better in one thing costs much of another on both sides."},
    {"pareto", "No other point is as good in everything and better in one thing. front: all such points."},
    {"oversubscription", "The rate that enters a network tier over the rate that leaves it: 2 halves what crosses it."},
    {"dragonfly",
     "A network of groups of switches, each two joined by wires of their own. adaptive: what those do not carry crosses a third group; "
     "minimal: it waits (share --minimal)."},
    {"rail", "The NICs of equal number in all nodes, and the switches they share."},
    {"sharp",
     "Reduction in InfiniBand's switches (SHARP, NCCL's CollNet), between nodes. Machines are taken without it: add --set nic.sharp=true where "
     "the switches reduce and jobs run with NCCL_COLLNET_ENABLE=1. NCCL then chooses collnet_direct; --algorithm sharp, or collnet_chain, forces the other."},
    {"spares", "Nodes that stand by and take over when one fails."},
});

template <const auto& all>
constexpr auto names_of = [] {
  std::array<std::string_view, all.size()> out;
  for (std::size_t i = 0; i < all.size(); ++i) out[i] = all[i].name;
  return out;
}();
template <const auto& all>
[[nodiscard]] std::string text_of(std::string_view name) {
  const auto is = [&](const Topic& one) { return one.name == name; };
  return fmt::format("{}\n\n{}", name, wrapped("  ", std::find_if(all.begin(), all.end(), is)->text, help_width));
}

/// A word as it is listed: in small letters, with a dash for a blank or an underscore.
[[nodiscard]] std::string listed_word(std::string word) {
  for (char& c : word) c = c == ' ' || c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  constexpr std::pair<std::string_view, std::string_view> alike[] = {
      {"bus-bandwidth", "busbw"}, {"algorithm-bandwidth", "algbw"}, {"size", "units"},     {"sizes", "units"},
      {"status", "exit"},         {"parallelism", "layout"}, {"mtp", "drafts"}, {"eagle", "drafts"},        {"basis", "accuracy"}, {"nine-in-ten", "interval"},
      {"adaptive", "dragonfly"},  {"minimal", "dragonfly"}};
  const auto* const other = std::find_if(std::begin(alike), std::end(alike), [&](const auto& one) { return one.first == word; });
  return other == std::end(alike) ? word : std::string{other->second};
}

}  // namespace

std::string help_text(const CLI::App& app, bool whole) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (!chosen.empty()) return command_help(*chosen.front(), whole);
  return app.get_parent() == nullptr ? app_help(app, whole) : command_help(app, whole);
}

std::string question_name(const CLI::App& command) {
  const std::string question = question_of(common_of(command));
  return command.get_name() + (question.empty() ? "" : " " + question);
}

std::vector<std::string> options_asked(const CLI::App& command) {
  const std::string question = question_of(common_of(command));
  std::vector<std::string> out;
  for (const CLI::Option* option : command.get_options([&](const CLI::Option* o) { return is_of(*o, question); }))
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  return out;
}

std::vector<std::string> needed_beside(const CLI::App& command, std::string_view said) {
  const Common* const common = common_of(command);
  std::vector<std::string> out;
  bool said_by_place = said.find("--") == std::string_view::npos;  // what names no option asks for what has none, as a file
  for (const std::string& name : words_in(common != nullptr ? common->needed : "")) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    const bool question = option != nullptr && option->get_expected_max() == 0;  // --train or --serve
    if (option == nullptr || question || option->count() > 0 || said.find(name) != std::string_view::npos) continue;
    if (name.front() != '-' && std::exchange(said_by_place, false)) continue;
    out.push_back(name);
  }
  return out;
}

HelpTopics core_topics() { return {"TOPICS", names_of<topics>, text_of<topics>}; }
HelpTopics word_topics() { return {"WORDS", names_of<words>, text_of<words>}; }

void add_help(CLI::App& app, Runner& runner) {
  const auto topic = std::make_shared<std::string>();
  CLI::App& sub = *app.add_subcommand("help", "Help on a command, a topic, a word of the answers, or a cause that diagnose names");
  sub.add_option("TOPIC", *topic, "A command, a topic, a word or a cause; without one, all of them")->option_text(" ");
  sub.footer("Example: fabricost help predict\n         fabricost help units\n         fabricost help gdr_off");
  runner.add(sub, [topic, &app](const Terminal&) {
    std::vector<std::string> known;
    for (const CLI::App* one : app.get_subcommands({})) known.push_back(one->get_name());
    if (std::find(known.begin(), known.end(), *topic) != known.end()) return command_help(*app.get_subcommand(*topic), true);
    for (const HelpTopics& of : help_topics()) {
      for (const std::string& word : {*topic, listed_word(*topic)})
        if (std::find(of.names.begin(), of.names.end(), word) != of.names.end()) return of.text(word);
      for (const std::string_view name : of.names) known.emplace_back(name);
    }
    if (*topic == "more") return app_help(app, true);
    if (!topic->empty()) {
      if (const std::string_view here = command_meant(lowered(*topic), known); !here.empty())
        throw RequestError(fmt::format("\"{}\" is no word of the help; the command is fabricost {}", *topic, here));
      if (near_names(*topic, known).empty())
        throw RequestError(fmt::format("\"{}\" is not a command, a topic, a word or a cause; fabricost help lists them", *topic));
      throw RequestError(unknown_text(*topic, "a command, a topic, a word or a cause", known));
    }
    std::string out = app_help(app, false);
    for (const HelpTopics& of : help_topics()) out += "\n" + wrapped(fmt::format("{:<9}", of.title), joined(of.names, " "), help_width);
    return out;
  });
}

}  // namespace fabricost::cli
