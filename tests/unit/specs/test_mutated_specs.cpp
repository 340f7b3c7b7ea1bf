// Shipped files with random damage: they load or are refused in words, and those that load predict a finite, positive time.
#include "files.hpp"

#include "catch.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/data_directory.hpp>

#include <cmath>
#include <random>

using namespace fabricost::plan;
using namespace specs;

namespace {

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}

  void operator()(std::vector<std::string>& lines) {
    static const std::vector<std::string> bits{"[", "]",  "{",  "}",  ":",    "-", "&a ", "*a",   "\"",    "'",     "#",  "|", ">", "!",
                                               "%", "\t", "  ", "\n", "\xff", "?", ", ",  "<<: ", "---\n", "1e300", "-1", "0", ".5"};
    const std::size_t at = below(lines.size());
    std::string& line = lines[at];
    switch (below(7)) {
      case 0: lines.erase(lines.begin() + static_cast<long>(at)); break;
      case 1: lines.insert(lines.begin() + static_cast<long>(below(lines.size())), std::string{line}); break;
      case 2: std::swap(lines[at], lines[below(lines.size())]); break;
      case 3: line.insert(below(line.size() + 1), bits[below(bits.size())]); break;
      case 4:
        if (!line.empty()) line.erase(below(line.size()), 1 + below(4));
        break;
      case 5:
        if (!line.empty()) line[below(line.size())] = static_cast<char>(below(256));
        break;
      default:  // another number
        for (char& c : line)
          if (c >= '0' && c <= '9' && below(2) == 0) c = static_cast<char>('0' + below(10));
    }
    if (lines.empty()) lines.emplace_back();
  }

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("damaged files load or are refused, and never answer with nonsense", "[specs][property]") {
  const Folder folder;
  const fs::path data = data_directory();
  int loaded = 0, refused = 0;
  struct Kind {
    std::string folder;
    Document kind;
  };
  unsigned seed = 1;
  for (const Kind& kind : {Kind{"systems", Document::system}, Kind{"clusters", Document::system}, Kind{"gpus", Document::gpu},
                           Kind{"links", Document::link}, Kind{"switches", Document::switches}}) {
    for (const std::string& name : names_in(kind.folder)) {
      for (int round = 0; round < 8; ++round, ++seed) {
        std::vector<std::string> lines = lines_of(data / kind.folder / (name + ".yaml"));
        Damage damage(seed);
        for (int hit = 0; hit <= round % 3; ++hit) damage(lines);
        std::string text;
        for (const std::string& line : lines) text += line + "\n";
        const std::string file = folder.write("damaged.yaml", text);
        std::string nonsense;
        const Outcome outcome = outcome_of([&] {
          if (kind.kind != Document::system) return load(kind.kind, file);
          const System system = load_system(file);
          for (const Collective op : {Collective::all_reduce, Collective::all_to_all}) {
            const Prediction p = predict(system, {.collective = op, .bytes = units::MiB(1)});
            if (!(p.seconds > 0 && std::isfinite(p.seconds))) nonsense = "a time of " + std::to_string(p.seconds);
          }
          for (const Tier& tier : system.tiers)
            if (!(tier.bisection().value() >= 0)) nonsense = "a bisection of " + std::to_string(tier.bisection().value());
        });
        (outcome.kind == Outcome::Kind::loaded ? loaded : refused) += 1;
        if (outcome.kind == Outcome::Kind::something_else || !nonsense.empty() || outcome.seconds > 1) {
          INFO(kind.folder << "/" << name << ", seed " << seed << ": " << outcome.text << nonsense << "\n" << text);
          CHECK(false);
        }
      }
    }
  }
  INFO(loaded << " loaded, " << refused << " refused");
  CHECK(loaded > 200);
  CHECK(refused > 400);
}
