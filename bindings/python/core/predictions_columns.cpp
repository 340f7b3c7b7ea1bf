/// fc.Predictions beyond its seconds: rates, pairs that run, intervals. On demand, and cached if expensive.

#include "core/predictions.hpp"

#include "arguments.hpp"
#include "bindings.hpp"
#include "core/grid.hpp"
#include "text/joined.hpp"

#include <fabricost/explain/assumptions.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

/// Calls each(stretch, curve, operation) with the GIL released.
template <class Each>
void for_each_curve(const Predictions& p, Each&& each) {
  const Grid grid = grid_of(p.operation, p.shape);
  const System& system = p.machine();
  const py::gil_scoped_release released;
  PerShape<Curve> curves;
  for_each_stretch(grid, p.operation, p.shape,
                   [&](const Stretch& stretch, const Operation& op) { each(stretch, curve_of(curves, p, system, op, stretch), op); });
}

/// The cached result of this name, or that of `make()`, which is then cached.
template <class Make>
[[nodiscard]] py::object kept(Predictions& p, const char* name, Make&& make) {
  if (!p.kept.contains(name)) p.kept[name] = make();
  return p.kept[name];
}

/// A column of a few words, stored as an index per element.
class Words {
 public:
  explicit Words(const Predictions& p) : code_(static_cast<std::size_t>(p.size())) {}

  void set(std::int64_t at, std::string_view word) {
    auto found = std::find(words_.begin(), words_.end(), word);
    if (found == words_.end()) found = words_.insert(found, std::string{word});
    code_[static_cast<std::size_t>(at)] = static_cast<unsigned char>(found - words_.begin());
  }
  [[nodiscard]] py::array array(const std::vector<py::ssize_t>& shape) const {
    const py::array_t<unsigned char> codes(shape, code_.data());
    return sealed(py::array(numpy().attr("array")(words_, "dtype"_a = "U").attr("take")(codes)));
  }

 private:
  std::vector<unsigned char> code_;
  std::vector<std::string> words_;
};

/// A column of words that depend only on the pair that runs. \param word_of maps the pair to a word
template <class WordOf>
[[nodiscard]] py::object ran_column(Predictions& p, const char* name, WordOf&& word_of) {
  return kept(p, name, [&] {
    Words words{p};
    for_each_curve(p, [&](const Stretch& stretch, const Curve& curve, const Operation&) {
      for (std::int64_t i = 0; i < stretch.count; ++i) words.set(stretch.place(i), word_of(curve.ran_at(stretch.size(i))));
    });
    return words.array(p.shape);
  });
}

[[nodiscard]] std::size_t code_of(const Extrapolated& e) { return (e.sizes ? 1U : 0U) + (e.ranks ? 2U : 0U) + (e.nodes ? 4U : 0U); }

/// "sizes nodes" of each code.
[[nodiscard]] std::array<std::string, 8> words_of_codes() {
  std::array<std::string, 8> out;
  for (const bool sizes : {false, true})
    for (const bool ranks : {false, true})
      for (const bool nodes : {false, true}) {
        const Extrapolated one{.sizes = sizes, .ranks = ranks, .nodes = nodes};
        out[code_of(one)] = joined(names_of(one), " ");
      }
  return out;
}

/// A field of the complete answers, which are computed once for all of these fields.
[[nodiscard]] py::object whole_answers(Predictions& p, const char* field) {
  const py::object all = kept(p, "answers", [&] {
    py::array_t<double> low(p.shape), high(p.shape), least(p.shape);
    double *to_low = low.mutable_data(), *to_high = high.mutable_data(), *to_least = least.mutable_data();
    Words tiers{p}, bases{p}, beyond{p};
    const std::array<std::string, 8> beyond_words = words_of_codes();
    const System& system = p.machine();
    for_each_curve(p, [&](const Stretch& stretch, const Curve& curve, const Operation& op) {
      for (std::int64_t i = 0; i < stretch.count; ++i) {
        const std::int64_t at = stretch.place(i);
        const Prediction one = answer_at(system, op, p.choice, curve, stretch.size(i));
        to_low[at] = one.low;
        to_high[at] = one.high;
        to_least[at] = one.min;
        tiers.set(at, one.bottleneck().tier.view());
        bases.set(at, name(one.basis));
        beyond.set(at, beyond_words[code_of(one.extrapolated)]);
      }
    });
    py::dict out;
    out["low_seconds"] = sealed(low);
    out["high_seconds"] = sealed(high);
    out["least_seconds"] = sealed(least);
    out["bottleneck"] = tiers.array(p.shape);
    out["basis"] = bases.array(p.shape);
    out["extrapolated"] = beyond.array(p.shape);
    return out;
  });
  return all[field];
}

/// A count of participants, the same for all sizes of a shape. \param count_of maps a prediction to a number
template <class CountOf>
[[nodiscard]] py::object counts(Predictions& p, const char* name, CountOf&& count_of) {
  return kept(p, name, [&]() -> py::object {
    const bool one = !p.operation.ranks && !p.operation.nodes;  // they then differ nowhere
    py::array_t<std::int64_t> out(one ? std::vector<py::ssize_t>{} : p.shape);
    std::int64_t* const to = out.mutable_data();
    if (one) *to = 0;  // of no elements
    const System& system = p.machine();
    for_each_curve(p, [&](const Stretch& stretch, const Curve& curve, const Operation& op) {
      const std::int64_t count = count_of(answer_at(system, op, p.choice, curve, stretch.size(0)));
      for (std::int64_t i = 0; i < (one ? 1 : stretch.count); ++i) to[one ? 0 : stretch.place(i)] = count;
    });
    return one ? stretched(out, p) : py::object(sealed(out));
  });
}

/// bytes / seconds, times the bus factor if `bus` is set.
[[nodiscard]] py::array rates(const Predictions& p, bool bus) {
  py::array_t<double> out(p.shape);
  double* const to = out.mutable_data();
  const auto* const seconds = static_cast<const double*>(p.seconds.data());
  const Grid grid = grid_of(p.operation, p.shape);
  const System& system = p.machine();
  {
    const py::gil_scoped_release released;
    for_each_stretch(grid, p.operation, p.shape, [&](const Stretch& stretch, const Operation& op) {
      const double factor = bus ? bus_factor(op.collective, static_cast<int>(fabric_of(system, op).ranks())) : 1;
      for (std::int64_t i = 0; i < stretch.count; ++i) {
        const std::int64_t at = stretch.place(i);
        to[at] = over(stretch.size(i), seconds[at]) * factor;
      }
    });
  }
  return sealed(out);
}

}  // namespace

void add_columns(PyClass<Predictions>& type) {
  const auto whole = [](const char* field) { return [field](Predictions& p) { return whole_answers(p, field); }; };
  type.property(
          "bytes", [](const Predictions& p) { return stretched(operation_object(p.operation).attr("bytes"), p); }, "Sizes, byte.",
          numbers_array)
      .property(
          "ranks", [](Predictions& p) { return counts(p, "ranks", [](const Prediction& one) { return one.ranks; }); },
          "GPUs that take part, also where the question left them to the machine.", counts_array)
      .property(
          "nodes", [](Predictions& p) { return counts(p, "nodes", [](const Prediction& one) { return one.nodes; }); },
          "Nodes they sit on, also where the question left them to the machine.", counts_array)
      .property(
          "algorithm_bytes_per_second", [](const Predictions& p) { return rates(p, false); }, "algbw = bytes / seconds, byte/s.",
          numbers_array)
      .property(
          "bus_bytes_per_second", [](const Predictions& p) { return rates(p, true); },
          "busbw, byte/s: algbw x 2(n-1)/n for all_reduce, x (n-1)/n for all_gather, reduce_scatter and all_to_all, x 1 for the rest.",
          numbers_array)
      .property("low_seconds", whole("low_seconds"), "Lower ends of the intervals, s.", numbers_array)
      .property("high_seconds", whole("high_seconds"), "Upper ends, s: nine in ten measurements fall between low and high.", numbers_array)
      .property("least_seconds", whole("least_seconds"), "What the bytes take over the links at their full rate, s: no answer is below.",
                numbers_array)
      .def(
          "sample",
          [](const py::object& self, const py::object& count, const py::object& seed) {
            return by_python("_sample", "sample", self, count, seed);
          },
          py::arg("count"), py::arg("seed") = 0,
          R"(sample(self, count, seed=0)
--

So many possible times of every prediction, s, an array of shape (count, *shape): errors are drawn once for all that shares them.

Constants of a machine, what a size is like on it, and the form of an algorithm are drawn by the seed and their name: samples of two
machines with one seed share what the machines share, so that `(a.sample(9999) < b.sample(9999)).mean()` is how likely a is faster.
Alone, nine in ten samples of a prediction are in its interval; none is below least_seconds.

>>> import fabricost as fc
>>> import numpy as np
>>> fc.predict(fc.load_system("dgx-h100"), fc.AllReduce(bytes=np.array([1e6, 1e9]))).sample(1000).shape
(1000, 2)
)")
      .property(
          "algorithm", [](Predictions& p) { return ran_column(p, "algorithm", [](const Candidate& ran) { return name(ran.algorithm); }); },
          "What runs, as in `ring`: an array of text.", texts_array)
      .property(
          "protocol", [](Predictions& p) { return ran_column(p, "protocol", [](const Candidate& ran) { return name(ran.protocol); }); },
          "What it runs under: ll, ll128 or simple.", texts_array)
      .property("bottleneck", whole("bottleneck"), "Name of the tier of the largest term.", texts_array)
      .property("basis", whole("basis"),
                "What the constants rest on: calibrated (runs on this machine), sibling (on one like it) or datasheet.", texts_array)
      .property("extrapolated", whole("extrapolated"),
                "Which of sizes, ranks, nodes lie outside what was measured, as in `sizes nodes`; empty: none.", texts_array)
      .def(
          "to_pandas", [](const py::object& self) { return by_python("_given", "frame", self); },
          "to_pandas(self)\n--\n\nA pandas.DataFrame with a row for each prediction in C order; columns are named as the fields here.\n"
          "ImportError without pandas (the extra pandas).")
      .def(
          "to_polars", [](const py::object& self) { return by_python("_given", "polars_frame", self); },
          "to_polars(self)\n--\n\nA polars.DataFrame with a row for each prediction in C order; columns are named as the fields here,\n"
          "which say their units. ImportError without polars (the extra polars).")
      .def(
          "to_xarray",
          [](const py::object& self) {
            const py::object axes = self.cast<const Predictions&>().operation.axes;
            return by_python("_given", "dataset", self, axes ? axes : py::none());
          },
          "to_xarray(self)\n--\n\nAn xarray.Dataset with a variable for each field, units in its attributes. Axes have the names and\n"
          "coordinates of the DataArrays that were asked with, else dim_0, dim_1, ... (of an indexed part, too). A field that has the "
          "name\n"
          "of an axis or a coordinate is left out. ImportError without xarray (the extra xarray).");
}

}  // namespace fabricost::python
