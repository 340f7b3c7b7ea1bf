/// Resolves names to files (folders of data/, aliases, paths beside the file that names them), suggests near
/// names, and lays a file over the one it `extends`.

#include "specs/store.hpp"

#include "specs/data_directory.hpp"
#include "specs/near_or_all.hpp"
#include "specs/parts/identities.hpp"
#include "text/ascii.hpp"
#include "text/joined.hpp"

#include <fabricost/specs/data_directory.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace fabricost::core {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t longest_name = 100;

}  // namespace

std::vector<std::string> names_in(std::string_view folder) { return yaml_names(data_directory() / folder); }

std::vector<SystemName> system_names() {
  std::vector<SystemName> out;
  for (std::string& name : names_in("systems")) out.push_back({std::move(name), false});
  for (std::string& name : names_in("clusters")) out.push_back({std::move(name), true});
  return out;
}

std::vector<std::string> near_names(std::string_view wanted, std::span<const std::string> names) {
  if (wanted.size() > longest_name) return {};
  const auto plain = [](std::string_view text) {  // without the dashes of options, which all begin with
    return lowered(std::string{text.substr(std::min(text.find_first_not_of('-'), text.size()))});
  };
  const std::string given = plain(wanted);
  if (given.empty()) return {};
  // A slip in every third letter; more than one seldom includes the first. Without that, short words are near everything.
  const std::size_t slips = std::max<std::size_t>(1, given.size() / 3);
  std::vector<std::tuple<std::size_t, std::size_t, std::string>> ranked;  // slips, those that count case, the name
  for (const std::string& name : names) {
    const std::string known = plain(name);
    std::size_t distance = edit_distance(given, known);
    if (distance > 1 && !known.starts_with(given.front())) distance = slips + 1;
    // a substring counts as nearer than its missing letters, and a whole word as nearer than a slip; two letters are in any word, and half of
    // what was written is no name of it
    const std::size_t at = known.find(given);
    if (given.size() >= 3 && at != std::string::npos) {
      const auto ends = [&](std::size_t place) { return place == known.size() || known[place] == '-'; };
      const bool word = (at == 0 || known[at - 1] == '-') && ends(at + given.size());
      distance = std::min<std::size_t>(distance, word ? 0 : 1);
    } else if (known.size() >= 3 && 2 * known.size() >= given.size() && given.find(known) != std::string::npos) {
      distance = std::min<std::size_t>(distance, 1);
    }
    if (distance <= slips) ranked.emplace_back(distance, edit_distance(wanted, name), name);
  }
  std::sort(ranked.begin(), ranked.end());
  const auto same = [&plain](const std::string& a, const std::string& b) {  // ignoring case and dashes
    const auto letters = [&plain](std::string text) {
      std::erase(text, '-');
      return plain(text);
    };
    return letters(a) == letters(b);
  };
  std::vector<std::string> out;
  for (const auto& [slipped, cased, name] : ranked)
    if (out.size() < 3 && std::none_of(out.begin(), out.end(), [&, &near = name](const std::string& one) { return same(one, near); }))
      out.push_back(name);
  return out;
}

namespace {
/// One part by name or path, through its reader.
template <class Part>
Part load_part(std::string_view folder, std::string_view name_or_path, Part (*read)(const SpecNode&, Faults&)) {
  SpecStore library;
  Faults faults;
  Part out = read(library.resolve(folder, name_or_path), faults);
  faults.raise();
  return out;
}
}  // namespace

Gpu load_gpu(std::string_view name_or_path) { return load_part("gpus", name_or_path, read_gpu); }
Link load_link(std::string_view name_or_path) { return load_part("links", name_or_path, read_link); }
SwitchSpec load_switch(std::string_view name_or_path) { return load_part("switches", name_or_path, read_switch); }
Transport load_transport(std::string_view name_or_path) { return load_part("transports", name_or_path, read_transport).transport; }

/// A text of several lines is a spec itself.
static bool is_text(std::string_view spec) { return spec.find('\n') != std::string_view::npos; }

static bool is_spec_file(std::string_view path) { return path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".json"); }
/// A spec names no other file of the machine, whose lines a message would show.
static constexpr const char* spec_file_remedy = "a file that a spec names ends in .yaml, .yml or .json";

bool is_path(std::string_view text) {
  if (is_text(text)) return false;
  return text.find('/') != std::string_view::npos || is_spec_file(text);
}

fs::path beside(const fs::path& file, const std::string& given) {
  const fs::path place = file.parent_path() == "." ? fs::path{} : file.parent_path();
  std::string rest = given;
  while (rest.starts_with("./")) rest.erase(0, rest.find_first_not_of('/', 1));
  const std::string out = (place / rest).string();
  return is_path(out) ? fs::path{out} : fs::path{"./" + out};  // a file without a suffix stays a path and does not become a name
}

bool is_missing_file(const SpecNode& at, const std::string& path, const std::string& name, Faults& faults) {
  if (!is_path(name) || (is_spec_file(name) && is_there(name))) return false;
  if (is_spec_file(name))
    faults.add(issue_at(at.mark, path, fmt::format("no file \"{}\"", clipped(name)), "a path is relative to the file that names it"));
  else
    faults.add(issue_at(at.mark, path, fmt::format("\"{}\" is no YAML file by its name", clipped(name)), spec_file_remedy));
  return true;
}

SpecStore::SpecStore() : data_(data_directory()) {}

fs::path SpecStore::find(std::string_view folder, const std::string& name) const {
  if (!is_name(name) || name.size() >= longest_name) return {};
  fs::path file = data_ / folder / (name + ".yaml");
  if (is_there(file)) return file;
  if (folder == "systems") return find("clusters", name);
  return {};
}

fs::path SpecStore::find_or_alias(std::string_view folder, const std::string& wanted) const {
  fs::path file = find(folder, wanted);
  if (!file.empty()) return file;
  if (folder != "systems") return spelled_ != nullptr ? find(folder, spelled_(wanted)) : fs::path{};
  std::string plain = lowered(wanted);
  std::replace(plain.begin(), plain.end(), '_', '-');
  file = find(folder, plain);
  if (!file.empty()) return file;
  const MachineIdentities machines = machine_identities(data_);
  const auto target = machines.aliases.find(plain);
  return target != machines.aliases.end() ? find(folder, target->second) : fs::path{};
}

std::string SpecStore::unknown(std::string_view folder, const std::string& wanted) const {
  std::vector<std::string> names = yaml_names(data_ / folder);
  if (folder == "systems") {
    for (std::string& cluster : yaml_names(data_ / "clusters")) names.push_back(std::move(cluster));
    for (const auto& [alias, target] : machine_identities(data_).aliases) names.push_back(alias);
  }
  const std::string_view kind = folder == "switches" ? "switch" : folder.substr(0, folder.size() - 1);
  const std::string message = fmt::format("no {} named \"{}\"; ", kind, clipped(wanted));
  constexpr std::size_t read_at_once = 45;
  return message + near_or(lowered(wanted), names,  // names are in lower case
                           folder == "systems" ? "`fabricost machine` lists them, or give the path of a YAML file"
                           : names.size() > read_at_once
                               ? fmt::format("data/{} has {}; or give the path of a YAML file", folder, names.size())
                               : fmt::format("known: {}", joined(names, " ")));
}

SpecNode SpecStore::parse_once(const fs::path& file) {
  const auto known = trees_.find(file.native());
  if (known != trees_.end()) return known->second;
  return trees_.emplace(file.native(), parse_spec(file)).first->second;
}

namespace {

/// A kind of file that a user gives, by a key that only such files have.
struct SpecKind {
  std::string_view folder, key, name, option;
};
constexpr SpecKind spec_kinds[]{{"systems", "tiers", "machine", "--system"},
                                {"models", "layers", "model", "--model"},
                                {"gpus", "hbm", "GPU", ""},
                                {"calibrations", "constants", "calibration", "--calibration"},
                                {"calibrations", "parts", "calibration", "--calibration"}};

/// \throws SpecError for a file of another kind than `folder` holds
void refuse_other_kind(std::string_view folder, const SpecNode& tree) {
  const auto has_key = [&](const SpecKind& kind) { return tree.find(kind.key) != nullptr; };
  const auto* wanted = std::find_if(std::begin(spec_kinds), std::end(spec_kinds), [&](const SpecKind& kind) { return kind.folder == folder; });
  const auto* found = std::find_if(std::begin(spec_kinds), std::end(spec_kinds), has_key);
  if (wanted == std::end(spec_kinds) || found == std::end(spec_kinds) || found->folder == folder || has_key(*wanted)) return;
  throw SpecError({issue_at(tree.mark, "", fmt::format("this is a {}, not a {}", found->name, wanted->name),
                            found->option.empty() ? fmt::format("name it in the file of a {}", spec_kinds[0].name)
                                                  : fmt::format("give it as {} FILE", found->option))});
}

}  // namespace

SpecNode SpecStore::resolve(std::string_view folder, std::string_view name_or_path, std::vector<std::string>* chain) {
  std::vector<fs::path> open;
  if (is_path(name_or_path) || is_text(name_or_path)) return resolve_file(folder, fs::path{name_or_path}, open, chain);
  const std::string wanted{name_or_path};
  const fs::path file = find_or_alias(folder, wanted);
  if (file.empty()) throw RequestError(unknown(folder, wanted));
  return resolve_file(folder, file, open, chain);
}

SpecNode SpecStore::resolve_file(std::string_view folder, const fs::path& file_or_text, std::vector<fs::path>& open,
                                 std::vector<std::string>* chain) {
  const bool written = is_text(file_or_text.native());  // what it names by path counts from the current folder
  const fs::path file = written ? fs::path{"text"} : file_or_text;
  SpecNode tree = written ? parse_spec_text(file_or_text.string(), file.string()) : parse_once(file);
  if (open.empty()) refuse_other_kind(folder, tree);
  open.push_back(file);
  SpecNode result;
  const SpecNode* base = tree.find("extends");
  if (tree.kind == SpecNode::Kind::map && base != nullptr) {
    const auto refuse = [&](const std::string& message, const std::string& remedy) {
      return SpecError({issue_at(base->mark, "extends", message, remedy)});
    };
    if (base->kind != SpecNode::Kind::scalar || base->text.empty())
      throw refuse("is not the name of a spec", "write a name of data/ or a path relative to this file");
    const bool by_path = is_path(base->text);
    const fs::path next = by_path ? beside(file, base->text) : find_or_alias(folder, base->text);
    if (next.empty()) throw refuse(unknown(folder, base->text), "");
    if (by_path && !is_spec_file(next.native()))
      throw refuse(fmt::format("\"{}\" is no YAML file by its name", clipped(next.native())), spec_file_remedy);
    if (by_path && !is_there(next))
      throw refuse(fmt::format("no file \"{}\"", next.string()), "a path is relative to the file that names it");
    std::error_code error;  // a file that cannot be compared is refused when it is read
    if (std::any_of(open.begin(), open.end(), [&](const fs::path& step) { return fs::equivalent(step, next, error); })) {
      std::string circle;
      for (const fs::path& step : open) circle += step.filename().string() + " -> ";
      throw refuse("a circle: " + circle + next.filename().string(), "let one of them stand on its own");
    }
    if (open.size() > 8) throw refuse("more than 8 files extend each other", "flatten the chain");
    result = resolve_file(folder, next, open, chain);
    if (result.kind != SpecNode::Kind::map)
      throw refuse(fmt::format("\"{}\" is not a map of keys and values", next.string()), "extend a spec");
    overlay(result, tree);
  } else {
    result = std::move(tree);
  }
  if (chain != nullptr)
    if (const SpecNode* own = result.find("name")) chain->push_back(own->text);
  open.pop_back();
  return result;
}

template <class Part, class Read>
const Part* SpecStore::part(std::map<std::string, Part>& known, std::string_view folder, Read&& read, const SpecNode& at,
                            const std::string& path, const std::string& name, Faults& faults) {
  if (const auto found = known.find(name); found != known.end()) return &found->second;
  if (is_missing_file(at, path, name, faults)) return nullptr;
  try {
    Part part = read(resolve(folder, name), faults);
    return &known.emplace(name, std::move(part)).first->second;
  } catch (const RequestError& error) {
    faults.add(issue_at(at.mark, path, error.what(), ""));
  } catch (const SpecError& error) {
    for (const Issue& issue : error.issues()) faults.add(issue);
  }
  return nullptr;
}

const Gpu* SpecStore::gpu(const SpecNode& at, const std::string& path, const std::string& name, Faults& faults) {
  return part(gpus_, "gpus", read_gpu, at, path, name, faults);
}
const std::string& SpecStore::vendor(const std::string& gpu) {
  const auto [place, is_new] = vendors_.try_emplace(gpu);
  if (is_new) {
    const SpecNode tree = resolve("gpus", gpu);
    if (const SpecNode* given = tree.find("vendor")) place->second = given->text;
  }
  return place->second;
}
const Link* SpecStore::link(const SpecNode& at, const std::string& path, const std::string& name, Faults& faults) {
  return part(links_, "links", read_link, at, path, name, faults);
}
const SwitchSpec* SpecStore::switch_spec(const SpecNode& at, const std::string& path, const std::string& name, Faults& faults) {
  return part(switches_, "switches", read_switch, at, path, name, faults);
}
const TransportSpec* SpecStore::transport(const SpecNode& at, const std::string& path, const std::string& name, Faults& faults) {
  return part(transports_, "transports", read_transport, at, path, name, faults);
}
const TransportSpec* SpecStore::known_transport(const Label& name) const {
  const auto found =
      std::find_if(transports_.begin(), transports_.end(), [&](const auto& one) { return one.second.transport.name == name; });
  return found != transports_.end() ? &found->second : nullptr;
}

}  // namespace fabricost::core
