#pragma once
/// predict answers one request, sweep the same at many sizes. Neither `predict`, but for a slice of
/// a pod, nor a compiled Curve allocates. The price begins in predict-inl.hpp: fabric_of, picked_at, price, complete.

#include <fabricost/predict/curve.hpp>
#include <fabricost/predict/prediction.hpp>

#include <span>
#include <vector>

namespace fabricost::core {

/// Time of one operation with the terms it consists of. With `choice.inference` an all-reduce runs as in that
/// engine, from Python if requested. \throws RequestError when the ranks do not fit the machine, the size is
/// negative or not a number, nothing allowed can run, or the machine's numbers give no time (check).
[[nodiscard]] Prediction predict(const System& system, const Operation& op, const Choice& choice = {});

/// The same request at many sizes. \throws as predict
[[nodiscard]] std::vector<Prediction> sweep(const System& system, const Operation& op, std::span<const Bytes> sizes,
                                            const Choice& choice = {});

/// Sizes from `first` to `last`, both included, each twice the previous one. \throws RequestError unless 0 <
/// first and last is finite
[[nodiscard]] std::vector<Bytes> powers_of_two(Bytes first, Bytes last);

}  // namespace fabricost::core

namespace fabricost {
using core::powers_of_two;
using core::predict;
using core::sweep;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/predict/predict-inl.hpp>
#endif
