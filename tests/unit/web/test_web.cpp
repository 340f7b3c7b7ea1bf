// The interface of the page: questions and answers as JSON, its descriptions of fields, and data/ inside a program.
#include "specs/sources/contained.hpp"
#include "web/answer.hpp"
#include "web/host/contained_text.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/answers/sweep.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include <catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

using namespace fabricost::observe;
using Json = nlohmann::ordered_json;

namespace {

Json ask(const std::string& question, const Json& fields = Json::object(), const std::filesystem::path& folder = {},
         const Json& files = nullptr) {
  return Json::parse(fabricost::web::answer(Json{{"question", question}, {"fields", fields}, {"files", files}}.dump(), folder));
}

const Json curve{{"system", "dgx-h100"}, {"operation", "all_reduce"}, {"nodes", "2"}, {"sizes", "1MiB:64MiB:x4"}};

}  // namespace

TEST_CASE("a question in JSON is answered as C++ answers it") {
  const Json found = ask("predict", {{"system", "dgx-h100"}, {"operation", "AllReduce"}, {"nodes", 2}, {"bytes", "256MiB"}})["answer"];
  PredictRequest request;
  request.system.name = "dgx-h100";
  request.operation = Collective::all_reduce;
  request.nodes = 2;
  request.bytes = units::MiB(256);
  const PredictAnswer same = answer(request);
  CHECK(found["time_us"].get<double>() == same.seconds * 1e6);
  CHECK(static_cast<int>(found["terms"].size()) == static_cast<int>(same.terms.size()));
  CHECK(ask("sweep", curve)["answer"].size() == 4);
}

TEST_CASE("texts, numbers and lists of a field mean the same") {
  Json as_list = curve, as_numbers = curve;
  as_list["sizes"] = {"1MiB", "4MiB", "16MiB", "64MiB"};
  as_numbers["nodes"] = 2;
  CHECK(ask("sweep", as_list) == ask("sweep", curve));
  CHECK(ask("sweep", as_numbers) == ask("sweep", curve));
}

TEST_CASE("a refusal names its field, in the core's words") {
  const auto error = [](const Json& fields, const char* question = "sweep") { return ask(question, fields)["error"]; };
  Json bad = curve;
  bad["nodes"] = "two";
  CHECK(error(bad)["field"] == "nodes");
  bad = curve;
  bad["operation"] = "all_around";
  CHECK(error(bad)["field"] == "operation");
  CHECK(error(bad)["text"].get<std::string>().find("all_around") != std::string::npos);
  bad = curve;
  bad["colour"] = "red";
  CHECK(error(bad)["field"] == "colour");
  bad = curve;
  bad.erase("sizes");
  CHECK(error(bad)["field"] == "sizes");
  CHECK(error(bad)["text"] == "which sizes? Add sizes, as in sizes = 1KiB:8GiB:x2");
  bad = curve;
  bad["nodes"] = 1.5;
  CHECK(error({{"system", "dgx-h100"}, {"operation", "all_reduce"}, {"nodes", 1.5}, {"bytes", 1}}, "predict")["field"] == "nodes");
  bad = curve;
  bad["system"] = "dgx-h1000";
  CHECK(error(bad)["text"].get<std::string>().find("did you mean") != std::string::npos);
}

TEST_CASE("an answer comes with the sentence that the command prints first") {
  const Json goodput = ask("goodput", {{"gpus", "16384"}, {"checkpoint_seconds", "30s"}, {"restart_seconds", "10min"}});
  CHECK(goodput["verdict"].get<std::string>().starts_with("16384 GPUs in 2048 nodes: "));
  const Json need = ask("need", {{"unknown", "nic.bandwidth"}, {"system", "dgx-h100"}, {"model", "llama3-8b"}, {"gpus", "64"},
                                 {"global_batch", "256"}, {"within", "5%"}});
  CHECK(need["verdict"].get<std::string>().starts_with("nic.bandwidth "));
  const Json plan = ask("plan", {{"system", "dgx-h100"}, {"model", "llama3-8b"}, {"gpus", "8"}, {"global_batch", "8"}, {"top", "1"}});
  CHECK(plan["verdict"].get<std::string>().starts_with("Best: "));
  CHECK(ask("predict", {{"system", "dgx-h100"}, {"operation", "all_reduce"}, {"bytes", "1MiB"}})["verdict"].is_string());
}

TEST_CASE("every question that the page asks about machines and jobs is answered in a sentence with its figure") {
  const Json machine{{"system", "dgx-h100"}}, job{{"system", "dgx-h100"}, {"model", "llama3-8b"}, {"gpus", 16}, {"global_batch", 64}};
  const auto with = [](Json fields, const Json& more) { return fields.update(more), fields; };
  const auto sentence = [](const char* question, const Json& fields) {
    const Json found = ask(question, fields);
    INFO(found.dump().substr(0, 200));
    return found.value("verdict", std::string{});
  };
  const auto contains = [](const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; };
  CHECK(contains(sentence("sweep", curve), " at 1 MiB to "));
  CHECK(contains(sentence("tune", machine), "own choice"));
  CHECK(contains(sentence("pipeline", {{"schedule", "1f1b"}, {"stages", 4}, {"microbatches", 8}, {"forward_seconds", "10ms"}}),
                 "330 ms a step, 27.27 % of it bubble: "));  // (8 + 4 - 1) x 30 ms, 3/11
  CHECK(contains(sentence("transfer_access", machine), "Stores are "));
  CHECK(contains(sentence("transfer_incast", with(machine, {{"senders", 8}, {"bytes", "1GiB"}})), " times one alone: 8 senders of 1 GiB"));
  // 50 GB over 50 GB/s, by the one node that there is
  CHECK(contains(sentence("transfer_storage", with(machine, {{"bytes", "50GB"}, {"read_bytes_per_second", "50 GB/s"}})), "1.00 s (direct): 50 GB"));
  const std::string explored = sentence("explore", with(job, {{"vary", {"domain=8,16"}}}));
  CHECK(contains(explored, "Best: domain "));
  CHECK(contains(explored, " (step "));
  CHECK(contains(sentence("explore", with(job, {{"vary", {"domain=8,16"}}, {"limits", {"step_seconds=1us"}}})), "No point is within the limits"));
}

TEST_CASE("an error has the words of the page: what stands at its fields, and no command") {
  const Json one = ask("plan", {{"system", "dgx-h100"}, {"model", "llama3-8b"}, {"gpus", "8"}})["error"];
  CHECK(one["field"] == "global_batch");
  CHECK(one["text"].get<std::string>().find("\"global batch\"") != std::string::npos);
  const Json two = ask("compare", {{"systems", {"dgx-h100", "dgx-b200"}}, {"model", "llama3-8b"}, {"gpus", "8"}})["error"];
  CHECK(two["text"] == "compare for what? Give \"train\" or \"serve\"");
  for (const char* const question : {"plan", "serve", "need", "project", "compare", "predict"}) {
    const std::string text = ask(question)["error"]["text"];
    INFO(text);
    CHECK(text.find("fabricost ") == std::string::npos);
    CHECK(text.find("--") == std::string::npos);
  }
}

TEST_CASE("whatever is sent, an error comes back") {
  for (const char* text : {"", "{", "[]", "null", "1", R"({"question": 1})", R"({"question": "predict", "fields": []})",
                           R"({"question": "prdict"})", R"({"question": "validate", "files": {"../x": "y"}})",
                           R"({"question": "predict", "fields": {"nodes": {"a": 1}}})", "{\"question\": \"\xFF\"}",
                           R"({"question": "code", "fields": {"question": "code"}})"})
    CHECK(Json::parse(fabricost::web::answer(text)).contains("error"));
}

TEST_CASE("every question describes each of its fields, and a default that is given is as one left out") {
  const Json all = ask("questions")["answer"];
  CHECK(all["questions"].size() > 10);
  CHECK(all["systems"].size() > 50);
  for (const Json& question : all["questions"])
    for (const Json& field : question["fields"]) {
      INFO(question["name"] << " " << field.dump());
      CHECK_FALSE(field["name"].get<std::string>().empty());
      CHECK_FALSE(field["words"].get<std::string>().empty());
      CHECK(field["words"].get<std::string>().find('<') == std::string::npos);
      if (!field.contains("default")) continue;
      CHECK(ask(question["name"], {{field["name"].get<std::string>(), field["default"]}}) == ask(question["name"]));
    }
}

TEST_CASE("files of a request are there while it is answered, and gone afterwards") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "fabricost-web-files";
  std::filesystem::create_directories(folder);
  const std::string name = (folder / "run.csv").string();
  const Json files{{"run.csv", "system,operation,nodes,ranks,bytes,time_us\ndgx-h100,all_reduce,1,8,1048576,41\n"}};
  const Json found = ask("validate", {{"samples", {name}}}, folder, files);
  CHECK(found["answer"]["points"] == 1);
  CHECK_FALSE(std::filesystem::exists(name));
  CHECK(ask("validate", {{"samples", {name}}}, {}, files).contains("error"));
  std::filesystem::remove(folder);
}

TEST_CASE("the page asks no question that is not there") {
  std::vector<std::string> known{"questions", "code"};
  const Json described = ask("questions")["answer"]["questions"];
  for (const Json& question : described) known.push_back(question["name"]);
  const std::regex asked(R"(model\.ask\('\w+', '(\w+)')");
  int found = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(FABRICOST_SOURCE_DIR) / "bindings/web/page/views")) {
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (std::sregex_iterator at(text.begin(), text.end(), asked); at != std::sregex_iterator(); ++at, ++found) {
      INFO(file.path().string() << ": " << (*at)[1].str());
      CHECK(std::find(known.begin(), known.end(), (*at)[1].str()) != known.end());
    }
  }
  CHECK(found >= 8);
}

TEST_CASE("lines to copy ask the same") {
  Json fields = curve;
  fields["overrides"] = {"design.nic.bandwidth=50 GB/s per direction"};
  const Json code = ask("code", {{"question", "sweep"}, {"fields", fields}})["answer"];
  CHECK(code["command"] ==
        "fabricost sweep all_reduce --system dgx-h100 --nodes 2 --set 'design.nic.bandwidth=50 GB/s per direction' --sizes 1MiB:64MiB:x4");
  CHECK(code["python"].get<std::string>().find("fc.AllReduce(nodes=2, bytes=[1048576, 4194304, 16777216, 67108864])") != std::string::npos);
  CHECK(code["cpp"].get<std::string>().find(R"(request.system = "dgx-h100";)") != std::string::npos);
}

TEST_CASE("lists of machines, slow ranks and groups are written as each language reads them") {
  const auto code = [](const char* question, const Json& fields) {
    return ask("code", {{"question", question}, {"fields", fields}})["answer"];
  };
  const auto has = [](const Json& text, const char* part) { return text.get<std::string>().find(part) != std::string::npos; };
  const Json run =
      code("project", {{"systems", {"dgx-h100", "dgx-b200"}}, {"tokens", "1T"}, {"model", "llama3-8b"}, {"global_batch", 512}});
  CHECK(has(run["python"], R"(systems=["dgx-h100", "dgx-b200"])"));
  CHECK(has(run["cpp"], R"(request.systems.all = {"dgx-h100", "dgx-b200"};)"));
  CHECK(has(run["command"], "--system dgx-h100,dgx-b200"));
  const Json slow = code("stragglers", {{"mean_seconds", "100ms"}, {"deviation_seconds", "2ms"}, {"ranks", 8}, {"slow", {"1%:1.5"}}});
  CHECK(has(slow["python"], "slow=[(0.01, 1.5)]"));
  CHECK(has(slow["cpp"], "request.slow = {{0.01, 1.5}};"));
  CHECK(has(slow["cpp"], "request.mean = fabricost::units::s(0.1);"));
  const Json share = code("share", {{"system", "dgx-h100"}, {"layout", "tp=8,dp"}, {"collectives", {"all_reduce 1GiB over dp"}}});
  CHECK(has(share["cpp"], R"(request.layout = fabricost::layout_from("tp=8,dp", "layout");)"));
  CHECK(has(share["cpp"], R"(request.collectives = {fabricost::grouped_from("all_reduce 1GiB over dp")};)"));
}

TEST_CASE("parameters have places around where the machine stands, each with what sets it") {
  const Json parameters = ask("design", {{"system", "dgx-h100"}})["answer"];
  const auto nic = std::find_if(parameters.begin(), parameters.end(), [](const Json& d) { return d["name"] == "nic.bandwidth"; });
  REQUIRE(nic != parameters.end());
  const double now = (*nic)["value"];
  CHECK((*nic)["stops"].front()["value"] < now);
  CHECK((*nic)["stops"].back()["value"] > now);
  for (const Json& stop : (*nic)["stops"]) {
    Json fields = curve;
    fields["overrides"] = Json::array({stop["override"]});  // braces alone copy the one element by clang
    const Json said = ask("sweep", fields);
    CAPTURE(said.dump().substr(0, 400));
    CHECK(said.contains("answer"));
  }
}

TEST_CASE("data inside a program gives what data on disk gives") {
  const std::filesystem::path data = data_directory();
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(data))
    if (entry.is_directory()) folders.push_back(entry.path().filename().string());
  std::string bytes;
  for (const std::string& line : fabricost::web::contained_lines(data, folders)) bytes += line;
  const auto all = system_names();
  const std::string shown = ask("show", {{"system", "gb200-nvl72"}}).dump(), predicted = ask("sweep", curve).dump();
  const Json wrong = ask("show", {{"system", "gb20-nvl72"}});
  use_contained(bytes);
  CHECK(data_directory() == contained_data);
  const auto inside = system_names();
  REQUIRE(inside.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(inside[i].name == all[i].name);
  CHECK(ask("show", {{"system", "gb200-nvl72"}}).dump() == shown);
  CHECK(ask("sweep", curve).dump() == predicted);
  CHECK(ask("show", {{"system", "gb20-nvl72"}}) == wrong);
  CHECK_FALSE(is_contained("data/systems/none.yaml"));
  CHECK_FALSE(is_contained("elsewhere/systems/dgx-h100.yaml"));
  for (std::size_t size = 0; size < bytes.size(); size += 997) {  // what is cut off is not there, and nothing else is lost
    use_contained(std::string_view{bytes}.substr(0, size));
    CHECK_NOTHROW(ask("show", {{"system", "gb200-nvl72"}}));
  }
  use_contained({});
  CHECK(data_directory() == data);
}
