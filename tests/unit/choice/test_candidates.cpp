// Which pairs can run where: every algorithm's collectives, written down once more as a table for each kind of machine.
#include <fabricost/choice/candidates.hpp>
#include <fabricost/choice/engine_kernels.hpp>
#include <fabricost/choice/pick.hpp>

#include "catch.hpp"
#include "support/fabrics.hpp"

using namespace fabricost::core;

namespace {

using C = Collective;
using Ops = std::set<Collective>;
const Ops none{}, gather{C::all_gather, C::reduce_scatter}, ring_like{C::all_reduce, C::all_gather, C::reduce_scatter}, sum{C::all_reduce};

Fabric box(int local, int domains) {
  Fabric f = support::fabric(local, domains);
  f.generation = Generation::hopper;
  f.in_switch = f.sharp = true;
  return f;
}

/// Those of these tables. A newer one says in its own test where it runs.
const std::set<Algorithm> tabled{Algorithm::ring,
                                 Algorithm::tree,
                                 Algorithm::nvls,
                                 Algorithm::nvls_tree,
                                 Algorithm::collnet_direct,
                                 Algorithm::collnet_chain,
                                 Algorithm::pat,
                                 Algorithm::halving_doubling,
                                 Algorithm::rabenseifner,
                                 Algorithm::bruck,
                                 Algorithm::pairwise,
                                 Algorithm::direct,
                                 Algorithm::torus_bucket,
                                 Algorithm::one_shot,
                                 Algorithm::two_shot,
                                 Algorithm::hierarchical,
                                 Algorithm::recursive_doubling};

/// Compares the operations of every algorithm; an algorithm that is not listed must have none.
void compare(const Fabric& f, const std::map<Algorithm, Ops>& expected, bool byte_wide = false) {
  for (const Algorithm algorithm : tabled) {
    const auto found = expected.find(algorithm);
    for (const C op : {C::all_reduce, C::all_gather, C::reduce_scatter, C::broadcast, C::reduce, C::all_to_all, C::send_recv}) {
      INFO(name(algorithm) << " " << name(op) << " on " << f.local() << " x " << f.domains());
      const bool can = found != expected.end() && found->second.contains(op);
      CHECK((why_not({algorithm, Protocol::simple}, op, f, byte_wide) == nullptr) == can);
    }
  }
}

const Ops rings{C::all_reduce, C::all_gather, C::reduce_scatter, C::broadcast, C::reduce}, trees{C::all_reduce, C::broadcast, C::reduce};
const Ops sent{C::all_to_all, C::send_recv, C::all_gather, C::reduce_scatter}, bruck{C::all_to_all, C::all_gather}, swap{C::all_to_all};
const Ops levels{C::all_reduce, C::all_gather, C::reduce_scatter, C::all_to_all};
const Ops buckets{C::all_reduce, C::all_gather, C::reduce_scatter, C::broadcast, C::reduce, C::all_to_all};

}  // namespace

TEST_CASE("one server runs what needs no second", "[choice]") {
  std::map<Algorithm, Ops> can{{Algorithm::ring, rings},
                               {Algorithm::tree, trees},
                               {Algorithm::nvls, ring_like},
                               {Algorithm::halving_doubling, ring_like},
                               {Algorithm::rabenseifner, ring_like},
                               {Algorithm::bruck, bruck},
                               {Algorithm::pairwise, swap},
                               {Algorithm::direct, sent},
                               {Algorithm::one_shot, sum},
                               {Algorithm::two_shot, sum},
                               {Algorithm::hierarchical, ring_like},
                               {Algorithm::recursive_doubling, sum}};
  compare(box(8, 1), can);
  can[Algorithm::nvls] = Ops{C::all_gather};  // switches do not add bytes
  compare(box(8, 1), can, true);
  can.erase(Algorithm::nvls);
  Fabric f = box(8, 1);
  f.in_switch = false;
  compare(f, can);
}

TEST_CASE("several servers run what crosses them", "[choice]") {
  std::map<Algorithm, Ops> can{{Algorithm::ring, rings},
                               {Algorithm::tree, trees},
                               {Algorithm::nvls_tree, sum},
                               {Algorithm::collnet_direct, ring_like},
                               {Algorithm::collnet_chain, sum},
                               {Algorithm::halving_doubling, ring_like},
                               {Algorithm::rabenseifner, ring_like},
                               {Algorithm::bruck, bruck},
                               {Algorithm::pairwise, swap},
                               {Algorithm::direct, sent},
                               {Algorithm::hierarchical, levels},
                               {Algorithm::recursive_doubling, sum}};
  compare(box(8, 4), can);
  compare(box(2, 2), can);
  std::map<Algorithm, Ops> single = can;  // one GPU to a node
  single[Algorithm::pat] = gather;
  single[Algorithm::hierarchical] = ring_like;
  compare(box(1, 4), single);
  can.erase(Algorithm::nvls_tree);
  compare(box(8, 4), can, true);
  can.erase(Algorithm::collnet_direct);
  can.erase(Algorithm::collnet_chain);
  Fabric f = box(8, 4);
  f.in_switch = f.sharp = false;
  compare(f, can);
}

TEST_CASE("a torus runs what sends to neighbours", "[choice]") {
  Fabric torus = box(64, 1);
  torus.switched = torus.in_switch = torus.sharp = false;
  torus.neighbours_only = true;
  torus.torus_axes = 3;
  torus.torus = {4, 4, 4};
  const std::map<Algorithm, Ops> can{{Algorithm::ring, rings},
                                     {Algorithm::torus_bucket, buckets},
                                     {Algorithm::direct, {C::send_recv}},
                                     {Algorithm::hierarchical, ring_like}};
  compare(torus, can);
  Fabric flat = torus;
  flat.torus_axes = 2;
  compare(flat, can);
  std::map<Algorithm, Ops> slice = can;
  slice[Algorithm::torus_bucket] = {C::all_to_all};
  flat.torus_axes = 1;
  compare(flat, slice);
  Fabric pods = torus;
  pods.levels = Levels{64, 2};
  CHECK(why_not({Algorithm::torus_bucket, Protocol::simple}, C::all_reduce, pods, false) != nullptr);
  CHECK(why_not({Algorithm::hierarchical, Protocol::simple}, C::all_to_all, pods, false) != nullptr);
}

TEST_CASE("NCCL sends to all at once only where GPUs reach more than their neighbours", "[choice]") {
  Fabric ring = box(16, 1);
  CHECK(allowed_rows({}, {C::all_to_all}, ring).exchange_limit > 0);
  ring.switched = ring.in_switch = ring.sharp = false;
  ring.neighbours_only = true;
  CHECK(allowed_rows({}, {C::all_to_all}, ring).exchange_limit == 0);
  CHECK(allowed_rows({}, {C::send_recv}, ring).exchange_limit > 0);
}

TEST_CASE("what runs Simple only is offered in no other protocol", "[choice]") {
  const auto protocols = [](Algorithm algorithm, C op, const Fabric& f) {
    std::string out;
    for (const Candidate c : possible_candidates(op, f, false))
      if (c.algorithm == algorithm) out += std::string{name(c.protocol)} + " ";
    return out;
  };
  CHECK(protocols(Algorithm::ring, C::all_reduce, box(8, 1)) == "ll ll128 simple ");
  CHECK(protocols(Algorithm::direct, C::all_to_all, box(8, 1)) == "ll simple ");
  CHECK(protocols(Algorithm::nvls, C::all_reduce, box(8, 1)) == "simple ");
  CHECK(protocols(Algorithm::nvls_tree, C::all_reduce, box(8, 2)) == "simple ");
  CHECK(protocols(Algorithm::collnet_direct, C::all_reduce, box(8, 2)) == "simple ");
  CHECK(protocols(Algorithm::pat, C::all_gather, box(1, 2)) == "simple ");
  CHECK(protocols(Algorithm::hierarchical, C::all_to_all, box(8, 2)) == "simple ");
  for (const C op : {C::all_reduce, C::all_gather, C::all_to_all})
    for (const Fabric& f : {box(8, 1), box(8, 2), box(1, 2)}) CHECK(possible_candidates(op, f, false).count < Candidates::capacity);
}

TEST_CASE("what is no algorithm runs nowhere", "[choice]") {
  CHECK(std::string{why_not({static_cast<Algorithm>(algorithm_count)}, C::all_reduce, box(8, 1), false)} == "unknown algorithm");
}

TEST_CASE("versions of engines are read as far as they are numbers", "[choice]") {
  CHECK(version_number("0.5.14") == 5014);
  CHECK(version_number("1.3.0rc10") == 1003000);
  CHECK(version_number("1.3.0.post1") == 1003000);
  CHECK(version_number("19") == 19000000);
  CHECK(version_number("0.19") == 19000);
  CHECK(version_number("0.19.") == 19000);
  CHECK(version_number("1.2.3.4") == 1002003);
  CHECK(version_number("0.999.999") == 999999);
  CHECK(version_number("0.1000.1") == 0);
  CHECK(version_number("2.-1") == 2000000);
  CHECK(version_number("1+5") == 1000000);
  CHECK(version_number("0") == 0);
  CHECK(version_number("0.0.7") == 7);
  CHECK(version_number("") == 0);
  CHECK(version_number("main") == 0);
}

TEST_CASE("kernels of an engine follow one another by size, none of them empty", "[choice]") {
  ReducePieces pieces;
  pieces.add(CollectiveKernel::pull_one_shot, 0);
  CHECK(pieces.count == 0);
  pieces.add(CollectiveKernel::pull_one_shot, 100);
  pieces.add(CollectiveKernel::pull_two_shot, 100);
  pieces.add(CollectiveKernel::multicast, 50);
  CHECK(pieces.count == 1);
  pieces.add(CollectiveKernel::pull_two_shot, 101);
  CHECK(pieces.count == 2);
  CHECK(pieces.at(99) == CollectiveKernel::pull_one_shot);
  CHECK(pieces.at(100) == CollectiveKernel::pull_two_shot);
  CHECK(pieces.at(101) == CollectiveKernel::library);
}

TEST_CASE("engines have kernels of their own for 2 to 8 ranks of one domain, by their version", "[choice]") {
  const auto pieces = [](InferenceLibrary library, int version, const Fabric& f) { return reduce_pieces({library, version}, f, false); };
  using L = InferenceLibrary;
  for (const L library : {L::vllm, L::sglang, L::trtllm}) {
    INFO(inference_library_names[static_cast<std::size_t>(library)]);
    CHECK(pieces(library, 0, box(8, 1)).count > 0);
    CHECK(pieces(library, 0, box(2, 1)).count > 0);
    CHECK(pieces(library, 0, box(8, 2)).count == 0);
    CHECK(pieces(library, 0, box(4, 2)).count == 0);
    CHECK(pieces(library, 0, box(1, 1)).count == 0);
    CHECK(pieces(library, 0, box(16, 1)).count == 0);
    CHECK(pieces(library, 0, box(3, 1)).count == (library == L::sglang ? 2 : 0));
    Fabric other = box(8, 1);
    other.library = Library::rccl;
    CHECK(pieces(library, 0, other).count == 0);
  }
  CHECK(pieces(L::none, 0, box(8, 1)).count == 0);
  // one domain over several nodes: SGLang from a version on; vLLM's all-reduce exchanges handles that hold on one node
  Fabric rack = box(8, 1);
  rack.nodes = 2;
  CHECK(pieces(L::vllm, 26999, rack).count == 0);
  CHECK(pieces(L::vllm, 27000, rack).count == 0);
  CHECK(pieces(L::vllm, 0, rack).count == 0);
  CHECK(pieces(L::sglang, 5014, rack).count == 0);
  CHECK(pieces(L::sglang, 5015, rack).count > 0);
  // SGLang's kernels were pulled before 0.5.13
  CHECK(pieces(L::sglang, 5012, box(8, 1)).begin()->kernel == CollectiveKernel::pull_one_shot);
  CHECK(pieces(L::sglang, 5013, box(8, 1)).begin()->kernel == CollectiveKernel::push_one_shot);
  // those that pull were built for even numbers of ranks, those that push for every one
  CHECK(pieces(L::sglang, 5012, box(3, 1)).count == 0);
  CHECK(pieces(L::sglang, 5012, box(6, 1)).count > 0);
  CHECK(pieces(L::sglang, 5013, box(7, 1)).begin()->kernel == CollectiveKernel::push_one_shot);
  // vLLM's multicast ends below its limit at 0.19 and at it from 0.20
  const double limit = 64 * 1024.0 * 1024.0;
  CHECK(pieces(L::vllm, 19000, box(8, 1)).at(limit) == CollectiveKernel::library);
  CHECK(pieces(L::vllm, 20000, box(8, 1)).at(limit) == CollectiveKernel::multicast);
  CHECK(pieces(L::vllm, 18999, box(8, 1)).at(limit / 2) == CollectiveKernel::library);
  Fabric ampere = box(8, 1);
  ampere.generation = Generation::ampere;
  CHECK(pieces(L::vllm, 0, ampere).at(limit / 2) == CollectiveKernel::library);
  // over PCIe pairs alone
  Fabric pcie = box(2, 1);
  pcie.over_pcie = true;
  CHECK(pieces(L::sglang, 0, pcie).begin()->kernel == CollectiveKernel::pull_one_shot);
  pcie.levels = Levels{4};
  CHECK(pieces(L::sglang, 0, pcie).count == 0);
}

TEST_CASE("an engine and its kernels are found by what tables of measurements call them, and nothing by no name", "[choice]") {
  using L = InferenceLibrary;
  CHECK(parse_inference_library("vLLM") == L::vllm);
  CHECK(parse_inference_library("vllm custom_all_reduce") == L::vllm);
  for (const char* nobody : {"", "none", "nccl"}) CHECK_FALSE(parse_inference_library(nobody));
  CHECK(kernel_of_engine(L::vllm, "1-Stage") == CollectiveKernel::pull_one_shot);
  CHECK(kernel_of_engine(L::torch_symmetric, "multimem") == CollectiveKernel::multicast);
  for (const L library : {L::aiter, L::flashinfer, L::sglang, L::trtllm, L::vllm})
    for (const char* of_none_of_them : {"", "multimem"}) CHECK_FALSE(kernel_of_engine(library, of_none_of_them));
}

TEST_CASE("an engine has kernels beside the library of the GPUs that it has rules for", "[choice]") {
  using L = InferenceLibrary;
  for (const auto& [engine, nvidia, amd] : {std::tuple{L::aiter, false, true}, {L::trtllm, true, false}, {L::sglang, true, true}, {L::none, false, false}}) {
    INFO(name(engine));
    CHECK(has_kernels_with(engine, Library::nccl) == nvidia);
    CHECK(has_kernels_with(engine, Library::rccl) == amd);
  }
}

TEST_CASE("beyond eight GPUs an engine's kernels run on powers of two up to its own limit", "[choice]") {
  for (const auto& [ranks, runs] : {std::pair{16, true}, {48, false}, {64, true}, {128, false}}) {
    Fabric f = box(ranks, 1);
    INFO(ranks);
    const ReducePieces pieces = reduce_pieces({.library = InferenceLibrary::flashinfer}, f, false);
    CHECK((pieces.at(1024) != CollectiveKernel::library) == runs);
  }
}
