// The elements that collectives are checked with: sums exact in every type and order, results that only the right exchange gives.
#include "measure/gpu/probes/chase_cycle.hpp"
#include "measure/gpu/probes/collective_layout.hpp"
#include "measure/gpu/probes/work_shape.hpp"

#include "catch.hpp"

using namespace fabricost::core;
using namespace fabricost::probes::measure;
using namespace fabricost::probes::measure::gpu;

namespace {

// A binary floating-point number from its bits, by the definition of the format.
double value_of(std::uint64_t bits, unsigned exponent_bits, unsigned mantissa_bits) {
  const std::uint64_t exponent = (bits >> mantissa_bits) & ((1ULL << exponent_bits) - 1), mantissa = bits & ((1ULL << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == 0) return std::ldexp(static_cast<double>(mantissa), 1 - bias - static_cast<int>(mantissa_bits));
  return std::ldexp(1 + std::ldexp(static_cast<double>(mantissa), -static_cast<int>(mantissa_bits)), static_cast<int>(exponent) - bias);
}

constexpr DataType types[] = {DataType::int8, DataType::half,   DataType::bfloat16,
                              DataType::fp8,  DataType::single, DataType::double_precision};

}  // namespace

TEST_CASE("small whole numbers have the bits of their type") {
  for (unsigned value = 0; value < 16; ++value) {
    float single = static_cast<float>(value);
    double twice = value;
    std::uint32_t single_bits = 0;
    std::uint64_t twice_bits = 0;
    std::memcpy(&single_bits, &single, sizeof single);
    std::memcpy(&twice_bits, &twice, sizeof twice);
    CHECK(element_bits(value, format_of(DataType::single)) == single_bits);
    CHECK(element_bits(value, format_of(DataType::double_precision)) == twice_bits);
    CHECK(element_bits(value, format_of(DataType::int8)) == value);
    for (const DataType type : {DataType::half, DataType::bfloat16, DataType::fp8}) {
      const ElementFormat format = format_of(type);
      CHECK(1 + format.exponent_bits + format.mantissa_bits == 8 * format.bytes);
      CHECK(value_of(element_bits(value, format), format.exponent_bits, format.mantissa_bits) == value);
    }
  }
}

TEST_CASE("contributions of all ranks sum to the exact sum, and every partial sum is exact in fp8") {
  for (const unsigned ranks : {2U, 3U, 4U, 7U, 8U, 16U, 72U, 576U})
    for (std::uint64_t index = 0; index < 3000; ++index) {
      unsigned sum = 0;
      for (unsigned rank = 0; rank < ranks; ++rank) sum += contribution(index, rank, ranks);
      REQUIRE(sum == exact_sum(index));
      REQUIRE(sum <= 8);  // whole numbers to 16 are exact in e4m3: any partial sum is
    }
}

TEST_CASE("a rank that is left out, or counted twice, shows") {
  for (const unsigned ranks : {2U, 3U, 8U, 72U})
    for (unsigned faulty = 0; faulty < ranks; ++faulty) {
      int shows = 0;
      for (std::uint64_t index = 0; index < ranks; ++index) shows += contribution(index, faulty, ranks) != 0 ? 1 : 0;
      CHECK(shows > 0);  // within the first elements already
    }
}

TEST_CASE("words of a pattern differ from their neighbours, from other seeds and from poison") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t index = random() % (std::uint64_t{1} << 36);
    CHECK(pattern_word(index, 1) != pattern_word(index + 1, 1));
    CHECK(pattern_word(index, 1) != pattern_word(index, 2));
    CHECK(pattern_word(index, 1) != pattern_word(index + (std::uint64_t{1} << 32), 1));
    for (const std::uint64_t shift : {4U, 128U, 4096U, 1U << 20}) CHECK(pattern_word(index, 1) != pattern_word(index + shift, 1));
  }
}

TEST_CASE("negated floats are the floats with the sign turned, none of them zero") {
  for (std::uint64_t index = 0; index < 100; ++index) {
    const std::uint32_t plain = content_word(index, 7, Content::floats), negated = content_word(index, 7, Content::floats_negated);
    float a = 0, b = 0;
    std::memcpy(&a, &plain, sizeof a);
    std::memcpy(&b, &negated, sizeof b);
    CHECK(a >= 1);
    CHECK(b == -a);
  }
}

TEST_CASE("sizes are counted as nccl-tests counts them") {
  CHECK(layout_of(Collective::all_reduce, 1024, DataType::half, 8).piece == 512);
  CHECK(layout_of(Collective::all_gather, 1024, DataType::half, 8).sent == 64);
  CHECK(layout_of(Collective::all_gather, 1024, DataType::half, 8).received == 512);
  CHECK(layout_of(Collective::reduce_scatter, 1024, DataType::single, 4).sent == 256);
  CHECK(layout_of(Collective::reduce_scatter, 1024, DataType::single, 4).received == 64);
  CHECK(layout_of(Collective::all_to_all, 1024, DataType::single, 4).sent == 256);
  CHECK(layout_of(Collective::all_to_all, 1024, DataType::single, 4).piece == 64);
  CHECK(layout_of(Collective::send_recv, 1024, DataType::double_precision, 4).piece == 128);
  CHECK(layout_of(Collective::all_gather, 1000, DataType::single, 3).received == 249);  // rounded down to whole pieces
  CHECK_THROWS_AS(layout_of(Collective::all_gather, 12, DataType::half, 8), Unsupported);
  CHECK_THROWS_AS(layout_of(Collective::all_reduce, 1, DataType::half, 2), Unsupported);
}

TEST_CASE("moving the elements by definition gives exactly what is expected of every rank") {
  for (const DataType type : types)
    for (const Collective operation : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                                       Collective::reduce, Collective::all_to_all, Collective::send_recv})
      for (const unsigned n : {2U, 3U, 8U}) {
        const ElementFormat format = format_of(type);
        const std::uint64_t mask = format.bytes == 8 ? ~0ULL : (1ULL << (8 * format.bytes)) - 1;
        const CollectiveLayout layout = layout_of(operation, 37 * n * format.bytes, type, static_cast<int>(n));
        const bool combines = reduces(operation);
        std::vector<std::vector<std::uint64_t>> sent(n), numbers(n);
        for (unsigned rank = 0; rank < n; ++rank)
          for (std::uint64_t i = 0; i < layout.sent; ++i) {
            sent[rank].push_back(sent_bits(combines, i, rank, n, format) & mask);
            numbers[rank].push_back(contribution(i, rank, n));
          }
        const auto sum = [&](std::uint64_t i) {
          unsigned all = 0;
          for (unsigned rank = 0; rank < n; ++rank) all += static_cast<unsigned>(numbers[rank][i]);
          return element_bits(all, format) & mask;
        };
        for (unsigned rank = 0; rank < n; ++rank)
          for (std::uint64_t i = 0; i < layout.received; ++i) {
            std::uint64_t moved = 0;
            const std::uint64_t p = layout.piece;
            switch (operation) {
              case Collective::all_reduce:
              case Collective::reduce: moved = sum(i); break;
              case Collective::reduce_scatter: moved = sum(rank * p + i); break;
              case Collective::all_gather: moved = sent[i / p][i % p]; break;
              case Collective::broadcast: moved = sent[0][i]; break;
              case Collective::all_to_all: moved = sent[i / p][rank * p + i % p]; break;
              case Collective::send_recv: moved = sent[(rank + n - 1) % n][i]; break;
            }
            REQUIRE((received_bits(operation, combines, i, p, rank, n, format) & mask) == moved);
          }
      }
}

TEST_CASE("a part in another's place shows in every type") {
  for (const DataType type : types)
    for (const std::uint64_t part : {16ULL, 1024ULL, 65536ULL, 1ULL << 24}) {
      std::set<std::vector<std::uint64_t>> seen;
      for (unsigned rank = 0; rank < 4; ++rank)
        for (std::uint64_t p = 0; p < 4; ++p) {
          std::vector<std::uint64_t> bits;
          for (std::uint64_t i = 0; i < 16; ++i)
            bits.push_back(sent_bits(false, p * part + i, rank, 4, format_of(type)) & (~0ULL >> (64 - 8 * format_of(type).bytes)));
          seen.insert(bits);
        }
      CHECK(seen.size() == 16);
    }
}

// The ring of a pointer chase goes through every line once, and no launch is mostly warm-up.

TEST_CASE("a chase's ring is one cycle through all lines") {
  for (const std::uint64_t lines : {2U, 3U, 4U, 7U, 64U, 1000U, 65537U})
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const auto next = chase_cycle(lines, seed);
      std::vector<bool> seen(lines, false);  // counted here, not by is_one_cycle
      std::uint32_t at = 0;
      for (std::uint64_t i = 0; i < lines; ++i) {
        CHECK_FALSE(seen[at]);
        seen[at] = true;
        at = next[at];
      }
      CHECK(at == 0);
      CHECK(is_one_cycle(next));
    }
}

TEST_CASE("what is no single cycle is recognised") {
  CHECK_FALSE(is_one_cycle({0, 1}));        // two of one line
  CHECK_FALSE(is_one_cycle({1, 0, 3, 2}));  // two of two
  CHECK_FALSE(is_one_cycle({1, 2, 1}));     // never comes back
  CHECK_FALSE(is_one_cycle({1, 5, 0}));     // leaves the set
  CHECK(is_one_cycle({1, 2, 0}));
}

TEST_CASE("a chase's ring has no stride a prefetcher could learn") {
  constexpr std::uint32_t lines = 4096;
  const auto next = chase_cycle(lines);
  int neighbours = 0;
  for (std::uint32_t i = 0; i < lines; ++i) neighbours += std::abs(static_cast<long>(next[i]) - static_cast<long>(i)) <= 1 ? 1 : 0;
  CHECK(neighbours < 20);  // 2 expected of a random cycle, 4096 of a sequential one
}

TEST_CASE("a chase is followed to where a launch must arrive") {
  const auto next = chase_cycle(100);
  std::uint32_t at = 0;
  for (std::uint64_t steps = 0; steps < 350; ++steps, at = next[at]) CHECK(after_steps(next, steps) == at);
}

TEST_CASE("a ring that cannot be is refused") {
  CHECK_THROWS_AS(chase_cycle(0), std::invalid_argument);
  CHECK_THROWS_AS(chase_cycle(1), std::invalid_argument);
}

TEST_CASE("the loads that bring a ring into L1 are few among those that are timed") {
  for (std::uint64_t lines = 2; lines * 128 <= 256 << 10; lines *= 2) CHECK(50 * lines <= chase_steps(lines, 128));
  CHECK(chase_steps(std::uint64_t{1} << 24, 128) < 100000);  // a ring in HBM: 10 ms, not minutes
}

TEST_CASE("a grid fills the GPU, and never more than has work") {
  CHECK(blocks_for(std::uint64_t{1} << 30, 132, 4) == 132 * 4);
  CHECK(blocks_for(1, 132, 4) == 1);
  CHECK(blocks_for(16 * 512, 132, 4) == 1);
  CHECK(blocks_for(16 * 512 + 1, 132, 4) == 2);
  CHECK(blocks_for(0, 132, 4) == 1);
  CHECK(blocks_for(std::uint64_t{1} << 62, 132, 4) == 132 * 4);  // no overflow
  for (std::uint64_t bytes = 1; bytes < 16 * 512 * 40; bytes += 977) {
    const std::uint64_t blocks = blocks_for(bytes, 4, 4);
    CHECK((blocks == 16 || blocks * 512 * 16 >= bytes));      // every vector has a thread, or the GPU is full
    CHECK((blocks == 1 || (blocks - 1) * 512 * 16 < bytes));  // no block without work
  }
}

TEST_CASE("a launch lasts long against the gap between launches") {
  CHECK(passes_for(1e-3) == 1);
  CHECK(passes_for(2e-6) == 64);
  CHECK(passes_for(0) == 64);
  for (const double once : {3e-6, 1e-5, 5e-5, 1.5e-4, 2.1e-4}) {
    const int passes = passes_for(once);
    CHECK((passes == 64 || passes * once >= 200e-6));
    CHECK((passes == 1 || passes / 2 * once < 200e-6));
  }
}

TEST_CASE("launches cover the repetitions asked for") {
  for (const int repetitions : {1, 5, 63, 64, 65, 100000})
    for (const std::uint64_t per : {1U, 64U, 65536U}) {
      const auto covered = static_cast<std::uint64_t>(launches_for(repetitions, per)) * per;
      CHECK(covered >= static_cast<std::uint64_t>(repetitions));
      CHECK(covered < static_cast<std::uint64_t>(repetitions) + per);
    }
  CHECK(launches_for(0, 1) == 1);
}
