/// Model shapes and quantities that follow from them, and software stacks.

#include "arguments.hpp"
#include "bindings.hpp"
#include "question.hpp"
#include "plain.hpp"

#include <fabricost/plan/answers/models.hpp>
#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/model/flops.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/serving.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <text/amounts.hpp>

#include <pybind11/numpy.h>
#include <pybind11/stl/filesystem.h>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::plan {

[[nodiscard]] static constexpr auto words_of(FlopConvention) { return EnumWords{flop_convention_names, "a convention"}; }
[[nodiscard]] static constexpr auto words_of(Scores) { return EnumWords{scores_names, "a way to count scores"}; }

}  // namespace fabricost::plan

namespace fabricost::python {

/// All fields, those included that Python does not show. (A structured binding must name each of them.)
static void pass_fields(FieldStream& stream, Model& model) {
  auto& [name, title, kind, layers, hidden, heads, kv_heads, head_dim, vocab, ffn, gated, tied, positions, biases, experts, top_k,
         expert_ffn, fp8_block, expert_hidden, shared_experts, shared_ffn, first_dense, expert_every, expert_groups, group_limit, q_rank,
         kv_rank, rope_dim, nope_dim, value_dim, output_rank, output_groups, gated_attention, shared_kv, index_heads, index_dim,
         index_tokens, head_norm, window, window_layers, window_heads, window_kv_heads, window_head_dim, predict_layers, head_share,
         cross_tokens, modulation, patch_pixels, patch_frames, recommender, vision, images, image_tokens, mixer, single_block, dense_blocks,
         expert_blocks, stated_parameters, stated_active, stated_other, stated_source, stated_precision, partial, unread, notes, source,
         confidence, aliases, frozen] = model;
  pass(stream, name, title, kind, layers, hidden, heads, kv_heads, head_dim, vocab, ffn, gated, tied, positions, biases, experts, top_k,
       expert_ffn, fp8_block, expert_hidden, shared_experts, shared_ffn, first_dense, expert_every, expert_groups, group_limit, q_rank,
       kv_rank, rope_dim, nope_dim, value_dim, output_rank, output_groups, gated_attention, shared_kv, index_heads, index_dim, index_tokens,
       head_norm, window, window_layers, window_heads, window_kv_heads, window_head_dim, predict_layers, head_share, cross_tokens,
       modulation, patch_pixels, patch_frames, recommender, vision, images, image_tokens, mixer, single_block, dense_blocks, expert_blocks,
       stated_parameters, stated_active, stated_other, stated_source, stated_precision, partial, unread, notes, source, confidence, aliases,
       frozen);
}
template <>
inline constexpr bool is_kept_whole<Model> = true;
template <>
inline constexpr bool is_kept_whole<ModelAnswer> = true;

namespace {

constexpr double max_tokens = 1e9;

void add_parameters(py::module_& module) {
  add_answer<ParameterFields, ParameterCount>(module, "ParameterCount",
                                              "Parameters of a model by where they stand: counts of numbers, not bytes.")
      .def("__repr__", [](const ParameterCount& n) {
        return fmt::format("{} parameters, {} active per token", count_text(n.total), count_text(n.active));
      });
}

template <class E>
[[nodiscard]] E word_from(py::handle value, std::string_view name) {
  E out{};
  read_object(value, name, out);
  return out;
}
[[nodiscard]] double tokens_from(py::handle value, const char* name) { return real(value, name, 1, max_tokens); }
[[nodiscard]] double width_from(py::handle value) { return real(value, "bytes_per_value", 0, 16); }

void add_figures(PyClass<Model>& type) {
  type.property(
      "parameters", [](const Model& m) { return parameters_of(m); }, "Numbers of parameters by where they stand, a ParameterCount.");
  type.property("mixture", &Model::mixture, "Whether it has routed experts.");
  type.def(
      "training_flops_per_token",
      [](const Model& m, const py::object& sequence, const py::object& convention, const py::object& scores) {
        return training_flops_per_token(m, tokens_from(sequence, "sequence"), word_from<FlopConvention>(convention, "convention"),
                                        word_from<Scores>(scores, "scores"));
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
        return forward_flops(m, tokens_from(sequence, "sequence"), word_from<Scores>(scores, "scores"));
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
  add_answer<MixerFields, Mixer>(module, "Mixer",
                                 "Layers that carry a state of fixed size instead of keys and values (Mamba-2, gated delta rule).")
      .def("__repr__", [](const Mixer& x) { return fmt::format("{} layers, inner {}, state {}", x.layers, x.inner, x.state); });
  using M = Model;
  auto type = add_answer<ModelFields, M>(module, "Model", "The shape of a model, of a language model if its kind is decoder. Made by load_model.");
  add_figures(type);
  type.def("__repr__", [](const M& m) {
    const ParameterCount n = parameters_of(m);
    return fmt::format("{}: {} parameters{}, {} layers, hidden {}{}", m.name, count_text(n.total),
                       m.mixture() ? fmt::format(" ({} active)", count_text(n.active)) : "", m.layers, m.hidden,
                       m.mixture() ? fmt::format(", {} experts top {}", m.experts, m.top_k) : "");
  });
}

void add_stack(py::module_& module) {
  PyClass<Stack> type(module, "Stack", "The software a training job runs on, as far as it changes times. Made by load_stack.");
  type.property("name", &Stack::name, "Its name, as in `megatron-core`.")
      .property("title", &Stack::title, "What a person calls it.")
      .property("tensor_exposed", &Stack::tensor_exposed, "Share of tensor-parallel communication that hides behind nothing, 0 to 1.")
      .property("data_exposed", &Stack::data_exposed, "Share of the gradient exchange that could hide and does not, 0 to 1.")
      .property("expert_exposed", &Stack::expert_exposed, "Share of the token exchange that hides behind nothing, 0 to 1.")
      .property("scale", &Stack::scale, "Factor on kernels and launches; exchanges have none.")
      .property("spread", &Stack::spread, "Standard deviation, in log, of what is left of this stack's steps.")
      .property(
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

/// Of fabricost/_export: single kernels of a GPU, whose times tables of other programs have. Arrays are broadcast.
void add_kernels(py::module_& module) {
  using Numbers = py::array_t<double>;
  module.def(
      "_gpu_facts",
      [](const System& s) {
        return py::dict("arch"_a = s.gpu.arch, "clock_hz"_a = s.gpu.clock_hz, "watts"_a = s.gpu.power.value.value());
      },
      "system"_a);
  module.def(
      "_product_seconds",
      [](const System& s, const std::string& precision, const Numbers& rows, const Numbers& columns, const Numbers& depth, const Numbers& count) {
        const Processor gpu = Processor::of(s);
        const Precision p = precision == "fp8" ? Precision::fp8 : Precision::bf16;
        return py::vectorize([&](double M, double N, double K, double each) { return product_seconds(gpu, p, M, N, K, each); })(
            rows, columns, depth, count);
      },
      "system"_a, "precision"_a, "rows"_a, "columns"_a, "depth"_a, "count"_a);
  module.def(
      "_attention_seconds",
      [](const System& s, const Numbers& flops, const Numbers& cached) {
        const Processor gpu = Processor::of(s);
        const double rate = load_serving_table().constants(s.gpu.generation).kv * gpu.memory_rate;
        return py::vectorize([&](double work, double bytes) {
          return gpu.constants.gemm_start + p_norm(work / attention_rate(gpu), bytes / rate, gpu.constants.gemm_overlap);
        })(flops, cached);
      },
      "system"_a, "flops"_a, "cached_bytes"_a);
}

}  // namespace

void add_models(py::module_& module) {
  add_kernels(module);
  add_parameters(module);
  add_model(module);
  add_stack(module);
  module.def(
      "load_model", [](const py::object& name) { return load_model(path_of(name, "name_or_path")); }, "name_or_path"_a,
      R"(load_model(name_or_path)
--

The shape of a model.

Parameters
----------
name_or_path : path
    A name (see model_names; case, dashes and the publisher's name do not matter), or a YAML file.

Raises SpecError with every fault of the file, RequestError for a name that does not exist.

>>> import fabricost as fc
>>> fc.load_model("llama3-70b")
llama3-70b: 70.55 B parameters, 80 layers, hidden 8192
>>> fc.load_model("deepseek-v3").parameters
671 B parameters, 37.55 B active per token
)");
  module.def("model_names", &model_names, "model_names()\n--\n\nNames of all models that load_model knows, sorted.");
  module.def(
      "load_stack", [](const py::object& name) { return load_stack(path_of(name, "name_or_path")); }, "name_or_path"_a = unfitted_stack,
      R"(load_stack(name_or_path='megatron-core')
--

A training stack. Raises as load_model.

Parameters
----------
name_or_path : path, default 'megatron-core'
    A name (see stack_names), or a YAML file.

>>> import fabricost as fc
>>> fc.load_stack("megatron-core").name
'megatron-core'
)");
  add_answer<ListedModel>(module, "ListedModel", "A model that has a name. Made by models.").def("__repr__", [](const ListedModel& m) {
    return fmt::format("{}: {} parameters", m.name, count_text(m.parameters));
  });
  add_answer<ModelAnswer>(module, "ModelFigures", "A model and what follows from its shape. Made by models.")
      .def("__repr__", [](const ModelAnswer& a) { return fmt::format("{} at sequences of {:.0f}", a.model.name, a.sequence); });
  add_question<ModelsRequest>(module, "models", 1, "The models that have a name, a list of ListedModel; of one, a ModelFigures.",
                          R"(>>> import fabricost as fc
>>> fc.models("llama3-70b").kv_bytes_per_token
327680.0
)");
  module.def("stack_names", &stack_names, "stack_names()\n--\n\nNames of all training stacks that load_stack knows, sorted.");
}

}  // namespace fabricost::python
