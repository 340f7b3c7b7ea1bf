#pragma once
/// A step of a recommendation model (DLRM, arXiv 1906.00091; DCNv2, arXiv 2008.13535): rows of its tables are looked up where they are,
/// summed by table and exchanged, and dense layers that every rank has a copy of take them in.
///
///   tables    R rows of w values, spread evenly over n ranks. Of B samples a rank looks up B L / n rows and sums them to B T / n vectors;
///             the backward reads the vectors' gradients and updates the rows with their states, read and written in `value_bytes`
///   exchange  two all-to-alls of B T w / n values of 16 bit, vectors to the ranks of their samples and gradients back; nothing hides them
///   dense     B / n samples through the layers before and after the interaction. Dot: all pairs of T + 1 vectors. Cross: layers of D = (T + 1) w
///             inputs through rank r and back. The backward has twice the products and traffic; floors of launches as in layer.hpp, a quarter
///             of a layer's a product
///   data      one all-reduce of the dense layers' gradients, of which the stack exposes its share
///   optimizer the update of the dense layers, which each rank has whole

#include <fabricost/plan/training/step.hpp>

#include <span>

namespace fabricost::plan::detail {

/// The parts of that step on one rank.
struct RecommenderStep {
  const Model& m;
  const Layout& l;
  const Stack& stack;
  const Processor& gpu;  ///< as the stack drives it
  GroupCosts& costs;

  /// Dense kernels of a forward pass.
  struct Dense {
    double products = 0, traffic = 0;
    int count = 0;
  };
  void layer(Dense& out, double inputs, double outputs) const {
    out.products += product_seconds(gpu, l.precision, l.microbatch, outputs, inputs);
    out.traffic += block_traffic(l.microbatch, outputs);
    ++out.count;
  }
  void layers(Dense& out, double inputs, std::span<const int> widths) const {
    for (const int width : widths) {
      layer(out, inputs, width);
      inputs = width;
    }
  }
  [[nodiscard]] Dense dense() const;
  [[nodiscard]] double floor(const Dense& d) const {
    return l.cuda_graphs ? 0 : stack.launches * gpu.constants.layer_floor * d.count * 0.5 * 0.5;
  }

  /// Bytes that a rank's lookups, sums and updates move.
  [[nodiscard]] double table_bytes() const {
    const Recommender& r = m.recommender;
    const double samples = double(l.global_batch) / l.dp, vectors = 2 * samples * r.tables * r.width;
    return samples * r.lookups * r.width * (r.value_bytes + 2 * (r.value_bytes + r.state_bytes)) + 2 * vectors;
  }
  [[nodiscard]] Placement everyone() const { return place(l.dp, 1, costs.system().domain); }
  [[nodiscard]] double exchanged_bytes() const { return 2.0 * l.global_batch / l.dp * m.recommender.tables * m.recommender.width; }
  [[nodiscard]] double gradient_bytes() const { return stack.gradient_bytes * parameters_of(m).multiplied; }
};

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

[[nodiscard]] StepTime recommender_step(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
                                        GroupCosts& costs);

}  // namespace fabricost::plan
