// Inside a node RCCL changes algorithm and protocol at sizes of its own, as public runs on 8 MI300X do.
#include "catch.hpp"

#include <fabricost/fabricost.hpp>
#include <fabricost/specs/load.hpp>

using namespace fabricost::core;

namespace {

Candidate chosen(const System& system, Operation op, double bytes, const Choice& choice = {}) {
  op.bytes = Bytes::from_value(bytes);
  const Prediction p = predict(system, op, choice);
  CHECK(compile(system, op, choice).ran_at(bytes) == p.ran);  // the same rows, walked
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
  CHECK(p.seconds == Approx(c.launch + 2 * c.ll.hop + 14.0 / 8 * 65536 / rate));
  CHECK(p.basis == Basis::calibrated);
}

TEST_CASE("machines of AMD that no measurement tells apart start the same calls in the same time", "[choice][price]") {
  const auto times = [](const char* name) {
    const System s = load_system(name);
    std::vector<double> out;
    for (int mode = 0; mode < static_cast<int>(launch_mode_names.size()); ++mode)
      for (const Operation& op : std::vector<Operation>{AllReduce{.ranks = 8}, AllReduce{.ranks = 2}, AllGather{.ranks = 4},
                                                        ReduceScatter{.ranks = 8}, AllToAll{.ranks = 8}})
        for (const double bytes : {8.0, 65536.0, 1e6}) {
          Operation question = op;
          question.bytes = Bytes::from_value(bytes);
          out.push_back(predict(s, question, {.launch = {.mode = static_cast<LaunchMode>(mode)}}).seconds);
        }
    return out;
  };
  CHECK(times("mi350x-8") == times("mi355x-8"));
  CHECK(times("mi300x-8") == times("mi325x-8"));
  // a kernel's start is RCCL's, not the GPU's: nothing but calls with their launch was measured on CDNA 4
  const ScaleUpConstants three = load_system("mi300x-8").constants.scale_up, four = load_system("mi355x-8").constants.scale_up;
  CHECK(four.launch == three.launch);
  CHECK(four.all_to_all.base == three.all_to_all.base);
  CHECK(four.form.rccl_call == three.form.rccl_call);
  CHECK(four.form.rccl_host_gpu == three.form.rccl_host_gpu);
}

TEST_CASE("two nodes take no less than one of them for the same message", "[choice][price]") {
  const auto compare = [](const char* name, Collective op) {
    const System s = load_system(name);
    for (double bytes = 8; bytes <= 64 * mebibyte; bytes *= 2) {
      CAPTURE(name, fabricost::core::name(op), bytes);
      const auto seconds = [&](int nodes) {
        return predict(s, Operation{.collective = op, .bytes = Bytes::from_value(bytes), .nodes = nodes}).seconds;
      };
      CHECK(seconds(2) >= seconds(1));
    }
  };
  for (const char* name : {"mi300x-8", "mi355x-8", "aac14-mi355x-pollara", "mi300x-ainic", "amd-ccs-mi308x", "oci-mi300x", "frontier"})
    compare(name, Collective::all_reduce);
  for (const Collective op : {Collective::all_gather, Collective::reduce_scatter, Collective::broadcast, Collective::all_to_all})
    for (const char* name : {"mi300x-8", "mi355x-8", "aac14-mi355x-pollara"}) compare(name, op);
}
