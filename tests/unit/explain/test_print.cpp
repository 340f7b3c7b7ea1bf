// Quantities and predictions in streams and formats.
#include <fabricost/plan/answers/goodput.hpp>
#include <fabricost/answers/predict.hpp>
#include <fabricost/explain/print.hpp>
#include <fabricost/fabricost.hpp>
#include <fabricost/fields/json.hpp>
#include <fabricost/fields/field.hpp>

#include "catch.hpp"

#include <fmt/format.h>

using namespace fabricost::observe;
using namespace fabricost::core::units;

namespace {
template <class T>
std::string streamed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

/// Rows that name fields of a request, as compare's do.
struct AdvisedRow {
  std::string system{}, trouble{};
  double seconds = 0;

  static AnswerTable<AdvisedRow> fields() {
    using A = AdvisedRow;
    return {gives(&A::system, "system", "system", "Its name."), gives_trouble(&A::trouble, "Why not."),
            gives(&A::seconds, "time_s", "seconds", "How long.")};
  }
};
struct AdvisedAnswer {
  std::vector<AdvisedRow> rows{};
  std::vector<std::string> notes{};
  std::string plain{};

  static AnswerTable<AdvisedAnswer> fields() {
    using A = AdvisedAnswer;
    return {gives(&A::rows, "rows", "rows", "Rows."), names_fields(gives(&A::notes, "notes", "notes", "Notes.")),
            gives(&A::plain, "plain", "plain", "Names none.")};
  }
};
}  // namespace

TEST_CASE("print: every kind of quantity says its unit", "[print]") {
  CHECK(streamed(256 * MiB) == "256 MiB");
  CHECK(streamed(us(12.3)) == "12.3 us");
  CHECK(streamed(GB_per_s(450)) == "450 GB/s");
  CHECK(streamed(GB_per_s_duplex(900)) == "900 GB/s both directions");
  CHECK(streamed(Gbit(8)) == "8 Gbit");
  CHECK(streamed(Gbit_per_s(400)) == "400 Gbit/s");
  CHECK(streamed(Tflop(2)) == "2 Tflop");
  CHECK(streamed(Tflop_per_s(989.4)) == "989.4 Tflop/s");
  CHECK(streamed(kWh(1)) == "3.6 MJ");
  CHECK(streamed(kW(10.2)) == "10.2 kW");
  CHECK(streamed(USD(12.5)) == "12.50 USD");
  CHECK(streamed(USD_per_h(2.95)) == "2.95 USD/h");
  CHECK(streamed(MW(-1)) == "-1 MW");
}

TEST_CASE("print: fmt and std::format take quantities with width and alignment", "[print]") {
  CHECK(fmt::format("{}|{:>10}|{:<8}|", GiB(80), us(5), B(1)) == "80 GiB|   5.00 us|1 B     |");
#ifdef __cpp_lib_format
  CHECK(std::format("{:>10}", us(5)) == "   5.00 us");
#else
  WARN("std::format not tested: this standard library does not have it");
#endif
}

TEST_CASE("print: labels and named enumerations are their names in streams, formats and texts", "[print]") {
  const Label ring = "ring";
  CHECK(streamed(ring) == "ring");
  CHECK(streamed(Basis::sibling) == "sibling");
  CHECK(streamed(Algorithm::nvls_tree) == "nvls_tree");
  CHECK(fmt::format("{}|{:>6}|{:<12}|{}", ring, ring, Basis::calibrated, Collective::all_reduce) == "ring|  ring|calibrated  |all_reduce");
#ifdef __cpp_lib_format
  CHECK(std::format("{:>6}|{}", ring, Basis::datasheet) == "  ring|datasheet");
#endif
  const std::string text = ring;
  const std::string_view view = ring;
  CHECK((text == "ring" && view == "ring" && std::string{ring} == "ring"));
  std::string appended = "a ";
  appended += ring;
  CHECK(appended == "a ring");
}

TEST_CASE("print: a prediction is one line with its time, interval, rate and what runs", "[print]") {
  System box;
  Tier links;
  links.name = "nvlink";
  links.role = TierRole::scale_up;
  links.kind = TierKind::switched;
  links.endpoints = box.gpus_per_node = box.domain = 8;
  links.bandwidth.value = GB_per_s(450);
  links.link_bandwidth = GB_per_s(450);
  box.tiers.push_back(links);
  const Prediction p = predict(box, AllReduce{.bytes = 256 * MiB, .ranks = 8}, {.rule = Choice::Rule::fastest});
  const std::string line = streamed(p);
  CHECK(line.starts_with(time_text(p.time()) + " (nine in ten: "));
  CHECK(line.find("busbw " + rate_text(p.bus_bandwidth()) + ", " + p.algorithm.c_str()) != std::string::npos);
  CHECK(line.find('\n') == std::string::npos);
  CHECK(fmt::format("{}", p) == line);
  CHECK(line.find("cheapest") == std::string::npos);
  const AllReduce large{.bytes = 256 * MiB, .ranks = 8};
  CHECK(streamed(predict(box, large)).find("(the cheapest by price: no tuner rule for this library)") != std::string::npos);
  box.library = Library::nccl;
  box.gpu.generation = Generation::hopper;
  CHECK(streamed(predict(box, large)).find("cheapest") == std::string::npos);
}

TEST_CASE("print: an answer is what the command prints as JSON", "[print]") {
  GoodputRequest asked;
  asked.gpus = 16384;
  const auto found = answer(asked);
  const nlohmann::ordered_json json = json_of(found);
  CHECK(json.contains("goodput"));
  CHECK(streamed(found) == json.dump(2) + "\n");
  CHECK(fmt::format("{}", found) == streamed(found));

  PredictRequest request;  // the example of docs/how-to/cpp-tool.md
  request.system = "dgx-h100";
  request.operation = Collective::all_reduce;
  request.bytes = 256 * MiB;
  const double microseconds = json_of(answer(request))["time_us"];
  const auto machine = load_system("dgx-h100");
  CHECK(microseconds == Approx(1e6 * predict(machine, AllReduce{.bytes = 256 * MiB}).seconds));
}

TEST_CASE("print: texts that name fields of the request say them in the words of an interface, rows and lists among them", "[print]") {
  AdvisedAnswer found{{{"a", "add <mfu=0.4>", 0}, {"b", "", 2}}, {"name <system>", "nothing"}, "a <b> c"};
  const nlohmann::ordered_json json = json_of(found);
  CHECK(json.dump() == R"({"rows":[{"system":"a","trouble":"add mfu = 0.4"},{"system":"b","time_s":2.0}],)"
                       R"("notes":["name system","nothing"],"plain":"a <b> c"})");
  spell_fields(found, [](std::string_view name, std::string_view value) { return fmt::format("--{} {}", name, value); });
  CHECK(found.rows[0].trouble == "add --mfu 0.4");
  CHECK(found.notes == std::vector<std::string>{"name --system ", "nothing"});
  CHECK(found.plain == "a <b> c");
  CHECK(json_of(found)["rows"][0]["trouble"] == "add --mfu 0.4");
}
