/// The index over data/gpus.

#include "specs/parts/gpu_index.hpp"

#include "specs/data_directory.hpp"
#include "text/ascii.hpp"

#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <mutex>
#include <regex>

namespace fabricost::plan {

namespace fs = std::filesystem;

namespace {

/// The text of a scalar, or of a value map; empty: none.
std::string_view plain(const SpecNode* node) {
  if (node != nullptr && node->kind == SpecNode::Kind::map) node = node->find("value");
  return node != nullptr && node->kind == SpecNode::Kind::scalar ? std::string_view{node->text} : std::string_view{};
}
int whole(std::string_view text) {
  int out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}
/// 5 of "pcie-5"; 0: another link.
int pcie_of(std::string_view link) { return link.starts_with("pcie-") ? whole(link.substr(5)) : 0; }

/// The words of a GPU's name, each after a blank: " a100 sxm 80gb" of "A100-SXM4-80GB".
std::string words_of(std::string_view name) {
  static const std::regex marks("\\((r|tm)\\)"), socket("\\bsxm\\d"), gaps("[-_ ]+");
  const std::string plain = std::regex_replace(lowered(std::string{name}), marks, " ");
  return std::regex_replace(" " + std::regex_replace(plain, socket, "sxm"), gaps, " ");
}

/// Refuses a clue shared by two GPUs, then sorts longer ones first.
void resolve(std::vector<KnownClue>& clues, std::string_view what, const fs::path& data) {
  std::stable_sort(clues.begin(), clues.end(), [](const KnownClue& a, const KnownClue& b) {
    return a.clue.size() != b.clue.size() ? a.clue.size() > b.clue.size() : a.clue < b.clue;
  });
  for (std::size_t i = 1; i < clues.size(); ++i)
    if (clues[i].clue == clues[i - 1].clue)
      throw RequestError(fmt::format("{}: {} and {} both have the {} \"{}\"; take it out of one", (data / "gpus").string(),
                                     clues[i - 1].gpu, clues[i].gpu, what, clues[i].clue));
}

}  // namespace

GpuIdentities::GpuIdentities(const fs::path& data) {
  Faults faults;
  int slowest = 0;
  files_ = yaml_names(data / "gpus");
  for (const std::string& name : files_) {
    const SpecNode tree = parse_spec(data / "gpus" / (name + ".yaml"));
    const std::string_view vendor = plain(tree.find("vendor"));
    if (const SpecNode* identity = tree.find("identity")) {
      GpuIdentity one = read_identity(*identity, name, vendor, faults);
      std::move(one.names.begin(), one.names.end(), std::back_inserter(names_));
      std::move(one.pci.begin(), one.pci.end(), std::back_inserter(pci_));
      std::move(one.clues.begin(), one.clues.end(), std::back_inserter(clues_));
      std::move(one.instances.begin(), one.instances.end(), std::back_inserter(instances_));
    }
    if (const SpecNode* links = tree.find("scale_up"); links != nullptr && vendor == "nvidia") {
      const int count = whole(plain(links->find("links")));
      if (plain(tree.find("confidence")) == "announced")
        announced_nvlinks_.push_back(count);
      else
        max_nvlinks_ = std::max(max_nvlinks_, count);
    }
    if (const SpecNode* host = tree.find("host"))
      if (const int slot = pcie_of(plain(host->find("link"))); slot > 0) slowest = slowest == 0 ? slot : std::min(slowest, slot);
  }
  faults.raise();
  std::sort(announced_nvlinks_.begin(), announced_nvlinks_.end());
  announced_nvlinks_.erase(std::unique(announced_nvlinks_.begin(), announced_nvlinks_.end()), announced_nvlinks_.end());
  resolve(names_, "name", data);
  resolve(pci_, "PCI id", data);
  std::stable_sort(instances_.begin(), instances_.end(),
                   [](const CloudInstance& a, const CloudInstance& b) { return a.name.size() > b.name.size(); });
  for (const std::string& name : yaml_names(data / "links"))
    if (const int generation = pcie_of(name); generation >= slowest && slowest > 0)
      slots_[generation] = load_link((data / "links" / (name + ".yaml")).string()).lane_rate.value.value();
}

std::shared_ptr<const GpuIdentities> GpuIdentities::shipped() {
  static std::mutex guard;
  static fs::path read_from;
  static std::shared_ptr<const GpuIdentities> known;
  const fs::path data = data_directory();
  const std::lock_guard lock(guard);
  if (!known || read_from != data) {
    known = std::make_shared<const GpuIdentities>(data);
    read_from = data;
  }
  return known;
}

const KnownClue* GpuIdentities::named(std::string_view marketing) const {
  for (const KnownClue& one : names_)
    if (marketing.find(one.clue) != std::string_view::npos) return &one;
  return nullptr;
}

std::string GpuIdentities::gpu_named(std::string_view marketing) const {
  const KnownClue* known = named(marketing);
  return known != nullptr && known->stands_for.empty() ? known->gpu : std::string{};
}

std::string GpuIdentities::gpu_called(std::string_view written) const {
  constexpr std::size_t longest = 100;  // std::regex recurses with the length of a text
  if (written.size() > longest) return {};
  if (std::find(files_.begin(), files_.end(), written) != files_.end()) return std::string{written};
  static const std::regex maker("^( (nvidia|amd|intel|google|aws|tesla|instinct))+(?= )"), sizes("( (\\d{1,4}gi?b?|hbm\\d?e?|sxm|oam))* ?");
  const std::string words = words_of(written), named = std::regex_replace(words, maker, "");
  for (const KnownClue& one : names_) {
    const std::string known = words_of(one.clue);
    const std::size_t at = (named + " ").find(known + " ");
    const bool in_full = named != words || (at == 0 && std::regex_match(named.substr(known.size()), sizes));
    if (at != std::string::npos && in_full) return one.stands_for.empty() ? one.gpu : std::string{};
  }
  for (const std::string& file : files_)
    if (words_of(file) == named) return file;
  return {};
}

std::vector<std::string> GpuIdentities::near(std::string_view unknown) const {
  std::vector<std::string> known = files_, out;
  for (const KnownClue& one : names_) known.push_back(one.clue);
  for (const std::string& one : near_names(unknown, known)) {
    const KnownClue* clue = named(one);
    std::string file = std::find(files_.begin(), files_.end(), one) != files_.end() || clue == nullptr ? one : clue->gpu;
    if (std::find(out.begin(), out.end(), file) == out.end()) out.push_back(std::move(file));
  }
  return out;
}

const KnownClue* GpuIdentities::with_pci_id(std::string_view id) const {
  const auto found = std::find_if(pci_.begin(), pci_.end(), [&](const KnownClue& one) { return one.clue == id; });
  return found == pci_.end() ? nullptr : &*found;
}

const CloudInstance* GpuIdentities::instance(std::string_view name) const {
  const auto found = std::find_if(instances_.begin(), instances_.end(), [&](const CloudInstance& one) { return one.name == name; });
  return found == instances_.end() ? nullptr : &*found;
}

const CloudInstance* GpuIdentities::instance_in(std::string_view text) const {
  const auto found = std::find_if(instances_.begin(), instances_.end(),
                                  [&](const CloudInstance& one) { return text.find(one.name) != std::string_view::npos; });
  return found == instances_.end() ? nullptr : &*found;
}

int GpuIdentities::slot_generation(double lane_rate) const {
  constexpr double as_written = 0.9;  // tolerance for "32 GT/s", "31.5 Gbit/s": line and payload rates are both in use
  int out = 0;
  for (const auto& [generation, rate] : slots_)
    if (lane_rate >= as_written * rate) out = generation;
  return out;
}

bool sold_joined(const System& pair, int ranks) { return !pair.gpu.scale_up_bridge && ranks <= pair.domain; }

std::string usual_nic(std::string_view generation) {
  const fs::path links = data_directory() / "links";
  for (const std::string& link : yaml_names(links)) {
    const SpecNode tree = parse_spec(links / (link + ".yaml"));
    if (const SpecNode* beside = tree.find("usual_beside"))
      for (const SpecNode& one : beside->items)
        if (one.text == generation) return link;
  }
  if (generation != name(Generation::other)) return usual_nic(name(Generation::other));
  throw RequestError(fmt::format("{}: no link is `usual_beside: [{}]`; say so in the file of one", links.string(), generation));
}

}  // namespace fabricost::plan
