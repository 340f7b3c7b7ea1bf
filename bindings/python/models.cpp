/// \file models.cpp
/// Model shapes with what follows from them, and software stacks.

#include "asked.hpp"
#include "bindings.hpp"
#include "plain.hpp"
#include "record.hpp"

#include <fabricost/model/flops.hpp>
#include <fabricost/specs/load_model.hpp>
#include <fabricost/specs/stacks.hpp>

#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <limits>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost {

/// Equal in every field. Beside the type itself, where record.hpp finds it.
[[nodiscard]] static bool same(const Mixer& a, const Mixer& b) { return python::bytes_of(a) == python::bytes_of(b); }

namespace python {
namespace {

constexpr double most_tokens = 1e9;

[[nodiscard]] std::string count_text(double n) {
  for (const auto& [size, unit] : {std::pair{1e12, " T"}, {1e9, " B"}, {1e6, " M"}})
    if (n >= size) return fmt::format("{:.4g}{}", n / size, unit);
  return fmt::format("{:.4g}", n);
}

void add_parameters(py::module_& module) {
  using P = ParameterCount;
  add_record<P>(
      module, "ParameterCount", "Parameters of a model by where they stand: counts of numbers, not bytes.",
      field("attention", &P::attention,
            "Of one attention layer that sees the whole sequence: h a d + 2 h g d + a d h, or the latent form."),
      field("window", &P::window, "Of one attention layer with a window; 0: there are none."),
      field("mixer", &P::mixer, "Of one layer that mixes through a state; 0: there are none."),
      field("dense_ffn", &P::dense_ffn, "Of the feed-forward block of one layer without experts: 3 h f, or 2 h f without a gate."),
      field("expert", &P::expert, "Of one routed expert."), field("shared", &P::shared, "Of all shared experts of one layer."),
      field("router", &P::router, "Of the router of one layer: h E."), field("norms", &P::norms, "Of the norms of one layer."),
      field("embedding", &P::embedding, "Of the input table: h V."),
      field("head", &P::head, "Of the output table: h V, 0 when it is the input's."),
      field("total", &P::total, "Of the model, without prediction modules."),
      field("active", &P::active, "Touched by one token, both tables counted once."),
      field("multiplied", &P::multiplied, "A token is multiplied with: active without norms and input table."))
      .def("__repr__",
           [](const P& n) { return fmt::format("{} parameters, {} active per token", count_text(n.total), count_text(n.active)); });
}

[[nodiscard]] FlopConvention convention_from(py::handle value) {
  return word<FlopConvention>(value, "convention", "a convention", flop_convention_names);
}
[[nodiscard]] Scores scores_from(py::handle value) { return word<Scores>(value, "scores", "a way to count scores", scores_names); }
[[nodiscard]] double tokens_from(py::handle value, const char* name) { return real(value, name, 1, most_tokens); }
[[nodiscard]] double width_from(py::handle value) { return real(value, "bytes_per_value", 0, 16); }

void add_figures(py::class_<Model>& type) {
  type.def_property_readonly(
      "parameters", [](const Model& m) { return parameters_of(m); }, "Numbers of parameters by where they stand, a ParameterCount.");
  type.def_property_readonly("mixture", &Model::mixture, "Whether it has routed experts.");
  type.def_property_readonly("attention_layers", &Model::attention_layers, "Layers with attention.");
  type.def_property_readonly("dense_layers", &Model::dense_layers, "Layers whose feed-forward block has no experts.");
  type.def_property_readonly("expert_layers", &Model::expert_layers, "Layers with routed experts.");
  type.def(
      "training_flops_per_token",
      [](const Model& m, const py::object& sequence, const py::object& convention, const py::object& scores) {
        return training_flops_per_token(m, tokens_from(sequence, "sequence"), convention_from(convention), scores_from(scores));
      },
      "sequence"_a = 4096, py::kw_only(), "convention"_a = "matmul", "scores"_a = "full",
      R"(training_flops_per_token(self, sequence=4096, *, convention='matmul', scores='full')
--

FLOPs of forward and backward per token of sequences of so many tokens; a multiplication and an addition are two.

convention: matmul (3 x forward), kaplan 6 N (arXiv 2001.08361), palm (arXiv 2204.02311), megatron and megatron_recompute
(arXiv 2205.05198, 2104.04473), dgx_cloud, mosaic and mosaic_recompute.
scores: 'full' counts all pairs of tokens, 'causal' half of them.

Raises RequestError where the convention has no term for the model.

>>> import fabricost as fc
>>> m = fc.load_model("llama3-70b")
>>> round(m.training_flops_per_token(convention="kaplan") / m.parameters.active, 12)
6.0
)");
  type.def(
      "forward_flops",
      [](const Model& m, const py::object& sequence, const py::object& scores) {
        return forward_flops(m, tokens_from(sequence, "sequence"), scores_from(scores));
      },
      "sequence"_a, py::kw_only(), "scores"_a = "causal",
      "forward_flops(self, sequence, *, scores='causal')\n--\n\n"
      "FLOPs of the forward pass of one sequence: tokens x (2 x parameters multiplied + scores).");
  type.def(
      "decode_flops", [](const Model& m, const py::object& context) { return decode_flops(m, tokens_from(context, "context")); },
      "context"_a, "decode_flops(self, context)\n--\n\nFLOPs of one more token after `context` cached ones.");
  type.def(
      "kv_bytes_per_token", [](const Model& m, const py::object& width) { return kv_bytes_per_token(m, width_from(width)); },
      "bytes_per_value"_a = 2, R"(kv_bytes_per_token(self, bytes_per_value=2)
--

Bytes a cached token adds while no window is full, all layers: 2 l g d w, with latent attention l (kv_rank + rope) w.

>>> import fabricost as fc
>>> fc.load_model("llama3-70b").kv_bytes_per_token() == 2 * 80 * 8 * 128 * 2
True
)");
  type.def(
      "kv_bytes",
      [](const Model& m, const py::object& context, const py::object& width) {
        return kv_bytes(m, tokens_from(context, "context"), width_from(width));
      },
      "context"_a, "bytes_per_value"_a = 2,
      "kv_bytes(self, context, bytes_per_value=2)\n--\n\n"
      "Bytes of the cache of one sequence: windows keep no more than themselves, mixing layers a state of fixed size.");
}

void add_model(py::module_& module) {
  using X = Mixer;
  add_record<X>(module, "Mixer", "Layers that carry a state of fixed size instead of keys and values (Mamba-2, gated delta rule).",
                field("layers", &X::layers, "How many of the model's layers."),
                field("inner", &X::inner, "Width of the values, all heads."), field("keys", &X::keys, "Width of the keys, all heads."),
                field("heads", &X::heads, "Heads."),
                field("state", &X::state, "Keys per head: the state of a sequence is inner x state values."),
                field("gates", &X::gates, "Numbers per head and token that steer it."),
                field("kernel", &X::kernel, "Of the convolution over time in front."))
      .def("__repr__", [](const X& x) { return fmt::format("{} layers, inner {}, state {}", x.layers, x.inner, x.state); });
  using M = Model;
  auto type = add_record<M>(
      module, "Model", "The shape of a transformer language model. Made by load_model.",
      field("name", &M::name, "Its name, as in `llama3-70b`."), field("title", &M::title, "What a person calls it."),
      field("layers", &M::layers, "l, layers."), field("hidden", &M::hidden, "h, hidden size."),
      field("heads", &M::heads, "a, query heads."), field("kv_heads", &M::kv_heads, "g, key/value heads."),
      field("head_dim", &M::head_dim, "d, size of a head."), field("vocab", &M::vocab, "V, vocabulary."),
      field("ffn", &M::ffn, "f, width of a dense feed-forward block; 0: every layer has experts."),
      field("gated", &M::gated, "Three matrices (SwiGLU) rather than two."),
      field("tied", &M::tied, "Output table shared with the embedding."),
      field("positions", &M::positions, "Rows of a learned position embedding."), field("biases", &M::biases, "Matrices have biases."),
      field("experts", &M::experts, "E, routed experts of a layer; 0: none."), field("top_k", &M::top_k, "k, experts of one token."),
      field("expert_ffn", &M::expert_ffn, "Width of one routed expert."),
      field("expert_hidden", &M::expert_hidden, "Width routed experts read and write; 0: hidden."),
      field("shared_experts", &M::shared_experts, "Experts every token goes to."),
      field("shared_ffn", &M::shared_ffn, "Width of one shared expert."),
      field("first_dense", &M::first_dense, "Leading layers without experts."),
      field("expert_every", &M::expert_every, "Of the others, each n-th has experts."),
      field("expert_groups", &M::expert_groups, "Groups of experts for routing; 0: none."),
      field("group_limit", &M::group_limit, "Groups a token may go to."),
      field("q_rank", &M::q_rank, "Rank of compressed queries; 0: not compressed."),
      field("kv_rank", &M::kv_rank, "Rank of the key/value latent; 0: no latent attention."),
      field("rope_dim", &M::rope_dim, "Rotary part of a latent head."), field("nope_dim", &M::nope_dim, "The rest of a latent head."),
      field("value_dim", &M::value_dim, "Of a head's value; 0: head_dim."),
      field("output_rank", &M::output_rank, "Of an output matrix in two; 0: one matrix."),
      field("output_groups", &M::output_groups, "Groups of that matrix."),
      field("gated_attention", &M::gated_attention, "What attention returns is multiplied by a gate."),
      field("shared_kv", &M::shared_kv, "The keys serve as values, too."),
      field("index_heads", &M::index_heads, "Heads of an indexer; 0: none."), field("index_dim", &M::index_dim, "Size of its heads."),
      field("index_tokens", &M::index_tokens, "Tokens of the past it picks."),
      field("window", &M::window, "Tokens a sliding-window layer sees; 0: there are none."),
      field("window_layers", &M::window_layers, "Layers with the window."),
      field("window_heads", &M::window_heads, "Their heads where they differ; 0: as the others."),
      field("window_kv_heads", &M::window_kv_heads, "The same of key/value heads."),
      field("window_head_dim", &M::window_head_dim, "The same of a head's size."),
      field("predict_layers", &M::predict_layers, "Multi-token prediction modules, in no count."),
      field("mixer", &M::mixer, "Layers that carry a state, a Mixer."),
      field("single_block", &M::single_block, "Each layer is one block alone."),
      field("dense_blocks", &M::dense_blocks, "Of those, feed-forward blocks."),
      field("expert_blocks", &M::expert_blocks, "Of those, blocks of experts."),
      field("stated_parameters", &M::stated_parameters, "Parameters as published; 0: unknown."),
      field("stated_active", &M::stated_active, "Active parameters as published; 0: unknown."),
      field("stated_other", &M::stated_other, "Of the published, what is no part of this shape."),
      field("stated_source", &M::stated_source, "Where that was published."),
      field("partial", &M::partial, "What of the model this shape leaves out; empty: nothing that matters."),
      field("notes", &M::notes, "Remarks."), field("source", &M::source, "Where the shape comes from."),
      field("confidence", &M::confidence, "How far to trust it."), field("aliases", &M::aliases, "Other names in use."));
  add_figures(type);
  type.def("__repr__", [](const M& m) {
    const ParameterCount n = parameters_of(m);
    return fmt::format("{}: {} parameters{}, {} layers, hidden {}{}", m.name, count_text(n.total),
                       m.mixture() ? fmt::format(" ({} active)", count_text(n.active)) : "", m.layers, m.hidden,
                       m.mixture() ? fmt::format(", {} experts top {}", m.experts, m.top_k) : "");
  });
}

void add_stack(py::module_& module) {
  py::class_<Stack> type(module, "Stack", "The software a training job runs on, as far as it changes times. Made by load_stack.");
  type.def_readonly("name", &Stack::name, "Its name, as in `megatron-core`.")
      .def_readonly("title", &Stack::title, "What a person calls it.")
      .def_readonly("tensor_exposed", &Stack::tensor_exposed, "Share of tensor-parallel communication that hides behind nothing, 0 to 1.")
      .def_readonly("data_exposed", &Stack::data_exposed, "Share of the gradient exchange that could hide and does not, 0 to 1.")
      .def_readonly("expert_exposed", &Stack::expert_exposed, "Share of the token exchange that hides behind nothing, 0 to 1.")
      .def_readonly("scale", &Stack::scale, "Factor on the whole step.")
      .def_readonly("spread", &Stack::spread, "Standard deviation, in log, of what is left of this stack's steps.")
      .def_property_readonly(
          "schedules",
          [](const Stack& s) {
            std::vector<std::string> out;
            for (const PipelineSchedule one : s.schedules) out.emplace_back(name(one));
            return out;
          },
          "Pipeline schedules it can run.")
      .def("__repr__", [](const Stack& s) { return s.title.empty() ? s.name : fmt::format("{}: {}", s.name, s.title); });
  add_value_semantics(type);
}

[[nodiscard]] std::string path_from(const py::object& value) {
  if (PyUnicode_Check(value.ptr()) != 0) return text(value, "name_or_path");
  if (!py::hasattr(value, "__fspath__")) throw_type("name_or_path", "a text or a path", value);
  return text(value.attr("__fspath__")(), "name_or_path");
}

}  // namespace

void add_models(py::module_& module) {
  add_parameters(module);
  add_model(module);
  add_stack(module);
  module.def(
      "load_model", [](const py::object& name) { return load_model(path_from(name)); }, "name_or_path"_a, R"(load_model(name_or_path)
--

The shape of a model by name (see model_names; case, dashes and the publisher's name do not matter), or of a YAML file.

Raises SpecError with every fault of the file, RequestError for a name that does not exist.

>>> import fabricost as fc
>>> fc.load_model("llama3-70b")
llama3-70b: 70.55 B parameters, 80 layers, hidden 8192
>>> fc.load_model("deepseek-v3").parameters
671 B parameters, 37.55 B active per token
)");
  module.def("model_names", &model_names, "model_names()\n--\n\nNames of all models that load_model knows, sorted.");
  module.def(
      "load_stack", [](const py::object& name) { return load_stack(path_from(name)); }, "name_or_path"_a = default_stack,
      R"(load_stack(name_or_path='megatron-core')
--

A training stack by name (see stack_names), or a YAML file. Raises as load_model.

>>> import fabricost as fc
>>> fc.load_stack("megatron-core").name
'megatron-core'
)");
  module.def("stack_names", &stack_names, "stack_names()\n--\n\nNames of all training stacks that load_stack knows, sorted.");
}

}  // namespace python
}  // namespace fabricost
