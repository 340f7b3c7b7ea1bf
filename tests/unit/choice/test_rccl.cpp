// Inside a node RCCL changes algorithm and protocol at sizes of its own, as public runs on 8 MI300X do.
#include "catch.hpp"

#include <fabricost/fabricost.hpp>
#include <fabricost/specs/load.hpp>

#include <vector>

using namespace fabricost;

namespace {

Candidate chosen(const System& system, Operation op, double bytes, const Choice& choice = {}) {
  op.bytes = Bytes::from_value(bytes);
  const Prediction p = predict(system, op, choice);
  CHECK(compile(system, op, choice).ran(bytes) == p.ran);  // the same rows, walked
  return p.ran;
}
constexpr Candidate plain_ll{Algorithm::ring, Protocol::ll}, plain_simple{Algorithm::ring, Protocol::simple};

}  // namespace

TEST_CASE("RCCL's all_reduce of eight GPUs in a mesh takes two steps in between", "[choice]") {
  const System s = load_system("mi300x-8");
  const ScaleUpForm& form = s.constants.scale_up.form;
  const Operation op = AllReduce{.ranks = 8};
  CHECK(chosen(s, op, form.rccl_ring_until) == plain_ll);
  CHECK(chosen(s, op, 2 * form.rccl_ring_until) == Candidate{Algorithm::two_shot, Protocol::ll});
  CHECK(chosen(s, op, form.rccl_ll_until) == Candidate{Algorithm::two_shot, Protocol::ll});
  CHECK(chosen(s, op, 2 * form.rccl_ll_until) == Candidate{Algorithm::ring, Protocol::ll128});
  CHECK(chosen(s, op, form.rccl_ll128_until) == Candidate{Algorithm::ring, Protocol::ll128});
  CHECK(chosen(s, op, 2 * form.rccl_ll128_until) == plain_simple);
  for (const double bytes : {8.0, 1e5, 1e9}) CHECK(chosen(s, op, bytes, {.algorithm = Algorithm::ring}).algorithm == Algorithm::ring);
}

TEST_CASE("fewer GPUs and other operations run rings under LL, then Simple", "[choice]") {
  for (const char* name : {"mi300x-8", "mi350x-8", "mi250x-16gcd"}) {
    const System s = load_system(name);
    const double until = s.constants.scale_up.form.rccl_ll_until;
    for (const Operation& op : std::vector<Operation>{AllReduce{.ranks = 4}, AllReduce{.ranks = 2}, AllGather{.ranks = 8},
                                                      ReduceScatter{.ranks = 2}, Broadcast{.ranks = 8}}) {
      CHECK(chosen(s, op, 8) == plain_ll);
      CHECK(chosen(s, op, until) == plain_ll);
      CHECK(chosen(s, op, 2 * until) == plain_simple);
    }
  }
  // between nodes as before
  CHECK(chosen(load_system("mi300x-8"), AllReduce{.ranks = 16, .nodes = 2}, 64 * 1024).algorithm != Algorithm::two_shot);
}

TEST_CASE("two steps cost two hops and the links' bytes", "[choice][price]") {
  const System s = load_system("mi300x-8");
  const ScaleUpConstants& c = s.constants.scale_up;
  const Prediction p = predict(s, Operation{.collective = Collective::all_reduce, .bytes = Bytes::from_value(65536), .ranks = 8});
  const double rate = 448e9 * std::min(c.simple.rate_share / 2, c.ll.channel_share);
  CHECK(p.seconds == Approx(c.launch + c.form.rccl_call + 2 * c.ll.hop + 14.0 / 8 * 65536 / rate));
  CHECK(p.basis == Basis::calibrated);
}
