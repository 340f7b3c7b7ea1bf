// Kernels over symmetric windows and of any buffer: the forms of price/symmetric.hpp written out again, and what the links need at least.
#include <fabricost/price/symmetric.hpp>

#include "catch.hpp"
#include "support/fabrics.hpp"

using namespace fabricost::plan;

namespace {

namespace k = prior::ways;

constexpr double everywhere[]{0, 16, 4096, 131072, 1048576, 67108864};  // bytes

/// A domain whose switches add, and whose ranks reach `share` of their links together.
Fabric domain(int ranks, double share = 1) {
  Fabric f = support::fabric(ranks);
  f.in_switch = true;
  f.inner_rate = share * f.full_rate;
  return f;
}
Line priced(CollectiveKernel kernel, const Fabric& f, WindowKernel how = {}) {
  return price_symmetric(kernel, f, fabricost::core::custom_prior, how);
}
double seconds(double latency, double bytes, double per_byte) { return norm(latency, bytes * per_byte, k::overlap); }

}  // namespace

TEST_CASE("one shot and exchanges over windows: one trip, a time for each peer where they signal, and n - 1 or (n-1)/n of the bytes",
          "[price]") {
  for (const int n : {2, 4, 8, 72})
    for (const double S : everywhere) {
      INFO(n << " ranks, " << S << " bytes");
      const Fabric f = domain(n);
      const double link = fabricost::core::custom_prior.multicast.share * support::inside_rate, parts = (n - 1.0) / n;
      CHECK(priced(CollectiveKernel::window_one_shot, f)(S) == Approx(seconds(k::one_shot, S, (n - 1) / link)));
      CHECK(priced(CollectiveKernel::window_exchange, f)(S) == Approx(seconds(k::one_shot + n * (k::peer + k::signal), S, parts / link)));
      CHECK(priced(CollectiveKernel::window_exchange, f, {.barriers = false})(S) ==
            Approx(seconds(k::one_shot + n * k::peer, S, parts / link)));
      CHECK(priced(CollectiveKernel::window_flags, f)(S) == Approx(seconds(k::one_shot + n * k::peer, S, k::flags_bytes * parts / link)));
    }
}

TEST_CASE("NCCL's own gathering and scattering over windows: its estimate of a start, then every byte at a share of the links", "[price]") {
  for (const int n : {2, 8, 72})
    for (const double S : everywhere) {
      Fabric f = domain(n);
      const double least = S * (n - 1.0) / n / support::inside_rate;
      f.generation = Generation::hopper;
      CHECK(priced(CollectiveKernel::window_exchange, f, {.gathers = true})(S) == Approx(k::gather_start + least / k::gather_share));
      f.generation = Generation::blackwell;
      CHECK(priced(CollectiveKernel::window_exchange, f, {.gathers = true})(S) ==
            Approx(k::gather_new_start + least / k::gather_new_share));
      CHECK(priced(CollectiveKernel::window_exchange, f, {.barriers = false, .gathers = true})(S) ==
            priced(CollectiveKernel::window_exchange, f, {.barriers = false})(S));
    }
}

TEST_CASE("two shots over windows: two trips, a barrier unless it is off, and 2(n-1)/n of the bytes", "[price]") {
  for (const int n : {2, 4, 8, 72})
    for (const double S : everywhere) {
      INFO(n << " ranks, " << S << " bytes");
      const double per_byte = 2 * (n - 1.0) / n / (fabricost::core::custom_prior.multicast.share * support::inside_rate);
      CHECK(priced(CollectiveKernel::window_two_shot, domain(n))(S) == Approx(seconds(k::two_shot + k::barrier, S, per_byte)));
      CHECK(priced(CollectiveKernel::window_two_shot, domain(n), {.barriers = false})(S) == Approx(seconds(k::two_shot, S, per_byte)));
    }
}

TEST_CASE("few thread blocks reduce at their own rate: all of S in one shot, an n-th in two, nothing in an exchange", "[price]") {
  const int n = 8;
  const Fabric f = domain(n);
  const double one = k::block_kib / kibibyte;  // a block alone, seconds per byte
  CHECK(priced(CollectiveKernel::window_two_shot, f, {.blocks = 0.01}).rate == Approx(100 * one / n).epsilon(1e-3));
  CHECK(priced(CollectiveKernel::window_one_shot, f, {.blocks = 0.01}).rate == Approx(100 * one).epsilon(1e-3));
  CHECK(priced(CollectiveKernel::window_one_shot, f, {.blocks = 1}).rate ==
        Approx(norm((n - 1) / (fabricost::core::custom_prior.multicast.share * support::inside_rate), one,
                    fabricost::core::custom_prior.form.rate_overlap)));
  CHECK(priced(CollectiveKernel::window_exchange, f, {.blocks = 0.01}).rate == priced(CollectiveKernel::window_exchange, f).rate);
}

TEST_CASE("kernels of any buffer: a start, a hop for each doubling beyond a pair, and every rank's buffer or the larger of two rates",
          "[price]") {
  for (const int n : {2, 4, 8, 32})
    for (const double S : everywhere) {
      INFO(n << " ranks, " << S << " bytes");
      const Fabric f = domain(n);
      const double doublings = std::log2(n) - 1;
      CHECK(priced(CollectiveKernel::any_buffer, f)(S) ==
            Approx(norm(k::any_start + doublings * k::any_hop, n * S * k::any_kib / kibibyte, k::any_overlap)));
      CHECK(priced(CollectiveKernel::any_buffer_two_shot, f)(S) ==
            Approx(k::any_two_start + doublings * k::any_two_hop +
                   S * std::max(k::any_two_kib / kibibyte, 2 * (n - 1.0) / n / support::inside_rate)));
    }
}

TEST_CASE("no kernel over windows is promised more than its links carry: those to the ranks that take part, all where a switch serves them",
          "[price]") {
  const int n = 4;
  const double full = support::inside_rate, share = 0.25;
  Fabric f = domain(n, share);
  const auto least = [&](CollectiveKernel kernel) { return priced(kernel, f).min * full; };
  CHECK(least(CollectiveKernel::window_one_shot) == Approx(3));
  CHECK(least(CollectiveKernel::window_two_shot) == Approx(1.25));  // the switch adds: 1 + 1/n, not 2(n-1)/n
  CHECK(least(CollectiveKernel::window_exchange) == Approx(0.75));
  CHECK(least(CollectiveKernel::window_flags) == Approx(0.75));
  CHECK(least(CollectiveKernel::any_buffer) == Approx(3));
  CHECK(least(CollectiveKernel::any_buffer_two_shot) == Approx(1.5));
  f.in_switch = false;
  CHECK(least(CollectiveKernel::window_two_shot) == Approx(1.5));
  f.switched = false;  // a mesh: only the links to the three others
  CHECK(least(CollectiveKernel::window_one_shot) == Approx(3 / share));
  CHECK(least(CollectiveKernel::window_two_shot) == Approx(1.5 / share));
  // a pair sends the same either way
  f = domain(2);
  CHECK(least(CollectiveKernel::window_two_shot) == Approx(1));
  // and links so slow that they, not its loads, limit the kernel of larger buffers
  f.full_rate = 1e9;
  CHECK(priced(CollectiveKernel::any_buffer_two_shot, f).rate == Approx(1e-9));
}
