// predict() and a compiled curve take no memory from the heap. This file replaces operator new of the whole test program by one
// that counts.
#include <fabricost/fabricost.hpp>

#include "catch.hpp"
#include "support/systems.hpp"

#include <atomic>
#include <new>

namespace {

std::atomic<long> allocations{0};

void* counted(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size > 0 ? size : 1)) return p;
  throw std::bad_alloc{};
}
void* counted_aligned(std::size_t size, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto a = static_cast<std::size_t>(alignment);
  if (void* p = std::aligned_alloc(a, (size + a - 1) / a * a)) return p;
  throw std::bad_alloc{};
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
// std::stable_sort asks this way; left alone it would meet a sanitizer's own
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size > 0 ? size : 1);
}
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept { return operator new(size, tag); }
void* operator new(std::size_t size, std::align_val_t alignment) { return counted_aligned(size, alignment); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return counted_aligned(size, alignment); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

using namespace fabricost::plan;

namespace {

/// Allocations made by a call.
template <class Call>
long allocations_of(Call&& call) {
  const long before = allocations.load();
  call();
  return allocations.load() - before;
}

double sink = 0;

}  // namespace

TEST_CASE("the counter counts", "[predict]") {
  CHECK(allocations_of([] { sink += *std::make_unique<double>(1); }) == 1);
}

TEST_CASE("predicting allocates nothing", "[predict]") {
  // NVLink, NICs and a tapered network
  for (const System& s :
       {systems::tapered_boxes(), systems::rack(), systems::pcie_box(), systems::torus_cube(), systems::grace_hopper_quad()})
    for (const Collective c : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                               Collective::reduce, Collective::all_to_all})
      for (const int domains : {1, 4})
        for (const Choice::Rule rule : {Choice::Rule::nccl, Choice::Rule::fastest})
          for (const double bytes : {0.0, 1e3, 1e6, 1e10}) {
            const Operation op{.collective = c, .bytes = Bytes::from_value(bytes), .nodes = domains * s.domain / s.gpus_per_node};
            if (s.library == Library::other && c != Collective::all_reduce && c != Collective::all_gather && domains == 1) continue;
            const long made = allocations_of([&] {
              const Prediction p = predict(s, op, {.rule = rule});
              sink += p.seconds + p.bus_bandwidth().value() + p.bottleneck().time.value();
            });
            if (made != 0)
              FAIL_CHECK(made << " allocations: " << s.name << " " << name(c) << " nodes " << op.nodes << " " << bytes << " B");
          }
}

TEST_CASE("forcing and exchanging point to point allocate nothing", "[predict]") {
  const System s = systems::tapered_boxes();
  const Operation op{.collective = Collective::all_reduce, .bytes = units::MiB(3), .nodes = 16};
  CHECK(allocations_of([&] { sink += predict(s, op, {.algorithm = Algorithm::hierarchical, .protocol = Protocol::simple}).seconds; }) == 0);
  CHECK(allocations_of([&] { sink += predict(s, SendRecv{.bytes = units::MiB(3), .path = Path::nic}).seconds; }) == 0);
  CHECK(allocations_of([&] { sink += predict(s, SendRecv{.bytes = units::MiB(3)}).seconds; }) == 0);
}

TEST_CASE("compiling and evaluating a curve allocate nothing", "[predict]") {
  const System s = systems::tapered_boxes();
  for (const Choice::Rule rule : {Choice::Rule::nccl, Choice::Rule::fastest}) {
    const Operation op{.collective = Collective::all_reduce, .nodes = 16};
    CHECK(allocations_of([&] {
            const Curve curve = compile(s, op, {.rule = rule});
            for (double bytes = 1; bytes < 1e12; bytes *= 1.3) sink += curve.seconds(bytes);
          }) == 0);
  }
}

TEST_CASE("a sweep allocates its list and nothing else", "[predict]") {
  const System s = systems::tapered_boxes();
  const std::vector<Bytes> sizes = powers_of_two(units::KiB(1), units::GiB(8));
  CHECK(allocations_of([&] { sink += sweep(s, AllReduce{.nodes = 16}, sizes).back().seconds; }) == 1);
}
