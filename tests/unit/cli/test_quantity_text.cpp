/// Sizes in and out: accepted texts, refused ones with their remedy, and printed texts that read back as the same size.

#include "catch.hpp"
#include "support/message_of.hpp"
#include "text/amounts.hpp"

#include <fabricost/error.hpp>
#include <fabricost/text/quantity.hpp>

using namespace fabricost::core;
using namespace fabricost::core::units;

namespace {

double bytes_of(const std::string& text) { return parse_size(text).value(); }

std::string refusal(const std::string& text) {
  try {
    (void)parse_size(text);
  } catch (const RequestError& error) {
    return error.what();
  }
  return "accepted";
}

std::vector<double> sizes_of(const std::string& text) {
  std::vector<double> out;
  for (const Bytes& size : parse_sizes(text)) out.push_back(size.value());
  return out;
}

std::string range_refusal(const std::string& text) {
  try {
    (void)parse_sizes(text);
  } catch (const RequestError& error) {
    return error.what();
  }
  return "accepted";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a_size_is_a_number_and_a_unit") {
  CHECK(bytes_of("4096") == 4096);
  CHECK(bytes_of("4096B") == 4096);
  CHECK(bytes_of("256MiB") == 268435456);
  CHECK(bytes_of("1 GB") == 1e9);
  CHECK(bytes_of("  1.5 GiB ") == 1610612736);
  CHECK(bytes_of("64kB") == 64000);
  CHECK(bytes_of("64KiB") == 65536);
  CHECK(bytes_of("2TB") == 2e12);
  CHECK(bytes_of("1TiB") == 1099511627776);
  CHECK(bytes_of("1PB") == 1e15);
  CHECK(bytes_of("1e6") == 1e6);
  CHECK(bytes_of("0") == 0);
}

TEST_CASE("a_fraction_of_a_large_unit_is_rounded_to_whole_bytes") {
  CHECK(bytes_of("0.1GB") == 1e8);
  CHECK(bytes_of("1.1KiB") == 1126);
}

TEST_CASE("a_unit_that_could_mean_two_things_is_refused_with_both") {
  CHECK(refusal("64k") == "\"64k\" is not a size; write 64KiB or 64kB");
  CHECK(refusal("64K") == "\"64K\" is not a size; write 64KiB or 64kB");
  CHECK(refusal("64KB") == "\"64KB\" is not a size; write 64KiB or 64kB");
  CHECK(refusal("8G") == "\"8G\" is not a size; write 8GiB or 8GB");
  CHECK(refusal("8Gb") == "\"8Gb\" is not a size; write 8GiB or 8GB");
  CHECK(refusal("1.5m") == "\"1.5m\" is not a size; write 1.5MiB or 1.5MB");
  CHECK(refusal("64kib") == "\"64kib\" is not a size; write 64KiB");
  CHECK(refusal("16Gbit") == "\"16Gbit\" is not a size; write 2GB (8 bits are a byte)");
}

TEST_CASE("what_is_no_size_is_refused") {
  CHECK(contains(refusal(""), "missing"));
  CHECK(contains(refusal("   "), "missing"));
  CHECK(contains(refusal("-1MiB"), "negative"));
  CHECK(contains(refusal("nan"), "not a size"));
  CHECK(contains(refusal("nanMiB"), "not a size"));
  CHECK(contains(refusal("inf"), "too large"));
  CHECK(contains(refusal("1e18"), "too large"));
  CHECK(contains(refusal("1e300GB"), "too large"));
  CHECK(contains(refusal("1e999"), "too large"));
  CHECK(contains(refusal("MiB"), "not a size"));
  CHECK(contains(refusal("0x10"), "not a size"));
  CHECK(contains(refusal("1,5GB"), "point"));
  CHECK(contains(refusal("1.5"), "whole number of bytes; write a larger unit, as in 1.5MiB"));
  CHECK(refusal("94050000000.4") == "accepted");  // 1.1 times a memory
  CHECK(contains(refusal("0.0001KiB"), "less than a byte"));
  CHECK(contains(refusal("256MiB 3"), "not a size"));
  CHECK(contains(refusal("1KiB:1GiB:x2"), "sweep takes a range"));
}

TEST_CASE("a_range_multiplies_or_adds_and_holds_both_ends") {
  CHECK(sizes_of("1KiB:8KiB:x2") == std::vector<double>{1024, 2048, 4096, 8192});
  CHECK(sizes_of("1KiB:9KiB:x2") == std::vector<double>{1024, 2048, 4096, 8192});
  CHECK(sizes_of("1MiB:3MiB:+1MiB") == std::vector<double>{1048576, 2097152, 3145728});
  CHECK(sizes_of("4KiB,64KiB,1MiB") == std::vector<double>{4096, 65536, 1048576});
  CHECK(sizes_of("256MiB") == std::vector<double>{268435456});
  CHECK(sizes_of("4KiB:4KiB:x2") == std::vector<double>{4096});
  CHECK(sizes_of("1KiB:2KiB:x2,1GB") == std::vector<double>{1024, 2048, 1e9});
  CHECK(sizes_of("1KiB:8GiB:x2").size() == 24);
  CHECK(sizes_of("1B:10B:x1.5") == std::vector<double>{1, 2, 3, 5, 8});
}

TEST_CASE("a_range_that_never_ends_or_is_too_long_is_refused") {
  CHECK(contains(range_refusal("1KiB:8KiB"), "not a range"));
  CHECK(contains(range_refusal("1:2:3:4"), "not a range"));
  CHECK(contains(range_refusal("1KiB:8KiB:2"), "how to step"));
  CHECK(contains(range_refusal("1KiB:8KiB:x1"), "above 1"));
  CHECK(contains(range_refusal("1KiB:8KiB:x0.5"), "above 1"));
  CHECK(contains(range_refusal("1KiB:8KiB:xnan"), "above 1"));
  CHECK(contains(range_refusal("1KiB:8KiB:+0"), "zero"));
  CHECK(contains(range_refusal("0:8KiB:x2"), "above zero"));
  CHECK(contains(range_refusal("8KiB:1KiB:x2"), "before it starts"));
  CHECK(contains(range_refusal("1B:1GB:+1B"), "100,000"));
  CHECK(contains(range_refusal("1B:1GB:x1.0000001"), "100,000"));
  CHECK(contains(range_refusal("1KiB,,2KiB"), "missing"));
  CHECK(contains(range_refusal(""), "missing"));
  CHECK(sizes_of("1B:100000B:+1B").size() == 100000);
}

TEST_CASE("exact_binary_sizes_print_binary_and_others_decimal") {
  CHECK(size_text(B(0)) == "0 B");
  CHECK(size_text(B(100)) == "100 B");
  CHECK(size_text(KiB(4)) == "4 KiB");
  CHECK(size_text(MiB(256)) == "256 MiB");
  CHECK(size_text(MiB(1536)) == "1536 MiB");
  CHECK(size_text(GiB(8)) == "8 GiB");
  CHECK(size_text(GB(1.5)) == "1.5 GB");
  CHECK(size_text(GB(1)) == "1 GB");
  CHECK(size_text(B(1000)) == "1 kB");
  CHECK(size_text(B(999999)) == "999.999 kB");
}

TEST_CASE("a_printed_size_reads_back") {
  for (const double bytes : {1.0, 512.0, 1024.0, 4096.0, 1e6, 268435456.0, 1.5e9, 1e12})
    CHECK(bytes_of(size_text(B(bytes))) == Approx(bytes).epsilon(1e-5));
}

TEST_CASE("times_print_three_digits") {
  CHECK(time_text(us(12.34)) == "12.3 us");
  CHECK(time_text(us(4560)) == "4.56 ms");
  CHECK(time_text(us(999.9)) == "1.00 ms");
  CHECK(time_text(us(0.5)) == "500 ns");
  CHECK(time_text(s(2.5)) == "2.50 s");
  CHECK(time_text(us(0)) == "0.00 us");
  CHECK(time_text(us(-12.34)) == "-12.3 us");
}

TEST_CASE("rates_print_in_the_unit_people_use") {
  CHECK(rate_text(GB_per_s(450)) == "450 GB/s");
  CHECK(rate_text(GB_per_s(57.6)) == "57.6 GB/s");
  CHECK(rate_text(GB_per_s(3350)) == "3.35 TB/s");
  CHECK(rate_text(TB_per_s(129.6)) == "129.6 TB/s");
  CHECK(rate_text(MB_per_s(12)) == "12 MB/s");
  CHECK(rate_text(GB_per_s(0)) == "0 GB/s");
}

TEST_CASE("a_number_may_have_the_unit_that_its_option_has_and_no_other") {
  CHECK(number_from("2MW", "--megawatts", 0, 10) == 2);
  CHECK(number_from("2 MW", "--megawatts", 0, 10) == 2);
  CHECK(number_from("2", "--megawatts", 0, 10) == 2);
  CHECK(number_from("720h", "--hours", 0, 1e9) == 720);
  for (const char* text : {"2.10", "2.10USD", "2.10 USD/h", "2.10USD/GPU-hour", "2.10$/h"}) CHECK(number_from(text, "--price-gpu-hour", 0, 10) == 2.1);
  CHECK(number_from("0.08 USD/kWh", "--price-kwh", 0, 10) == 0.08);
  CHECK(number_from("5years", "--years", 0, 10) == 5);
  CHECK(large_count_of("100M USD", "--budget") == 1e8);
  CHECK(large_count_of("15T", "--tokens") == 15e12);
  const auto refused = [](const char* text, const char* option) { return support::message_of([&] { return number_from(text, option, 0, 10); }); };
  CHECK(refused("2kW", "--megawatts") == "--megawatts: \"2kW\" is not a number of MW from 0 to 10");
  CHECK(refused("MW", "--megawatts") == "--megawatts: \"MW\" is not a number of MW from 0 to 10");
  CHECK(refused("2MW", "--pue") == "--pue: \"2MW\" is not a number from 0 to 10");
  CHECK(contains(refused("2EUR/h", "--price-gpu-hour"), "a number of USD/h"));
  CHECK(refused("30d", "--hours") == "--hours: \"30d\" is not a number of hours; write 720");
  CHECK(contains(support::message_of([&] { return large_count_of("100M EUR", "--budget"); }), "a count of USD"));
}
