// A line at many sizes at once is the line at each of them, whatever its parts.
#include <fabricost/price/line_array.hpp>

#include "catch.hpp"

using namespace fabricost::core;

TEST_CASE("groups of sizes take what each size takes alone, with ramps of every shape, chunks, jumps and orders of the norm", "[price]") {
  namespace lines = fabricost::core::detail;
  std::array<double, 2 * lines::group_size> bytes{}, seconds{};
  for (std::size_t i = 1; i < bytes.size(); ++i) bytes[i] = std::floor(std::exp2(static_cast<double>(i) * 0.53));
  for (int shape = 0; shape <= static_cast<int>(Ramp::Shape::blocks); ++shape)
    for (const bool inside : {false, true})
      for (const double order : {1.0, 1.4, 6.0, 40.0})
        for (const bool more : {false, true}) {  // than a ramp, parts and a norm
          Line line;
          line.overlap = order;
          line.add_base_part(TermKind::launch, 0, 1, 5e-6).add_latency_part(TermKind::steps, 0, 7, 1e-6).add_rate_part(TermKind::wire, 0, 1, 1e-11);
          line.add_ramp({.shape = static_cast<Ramp::Shape>(shape), .inside = inside, .amplitude = 4e-6, .per_byte = 1e-4, .limit = 8});
          if (more) {
            line.early = 3e4;
            line.early_rate = 2e-11;
            line.chunk = 65536;
            line.chunk_seconds = 1e-6;
            line.chunk_share = 0.7;
            line.add_jump({.from = 2e5, .seconds = 3e-6, .rate = 1e-12}).add_jump_held_after(4e6, 1e-11, 6e-12);
          }
          lines::evaluate_groups(line, bytes.data(), seconds.data(), 2);
          CAPTURE(shape, inside, order, more);
          for (std::size_t i = 0; i < bytes.size(); ++i)
            if (!(std::fabs(seconds[i] - line(bytes[i])) <= 1e-13 * line(bytes[i])))
              FAIL_CHECK(bytes[i] << " B: " << seconds[i] << " s, alone " << line(bytes[i]));
        }
}
