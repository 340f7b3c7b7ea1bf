#pragma once
/// Bodies of pick.hpp.

#include <fabricost/choice/pick.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core {

FABRICOST_BODY int PriceTable::pick(double bytes) const {
  int best = 0;
  double min = 0;
  for (int i = 0; i < count_; ++i) {
    if (bytes >= until(i)) continue;
    const double t = lines_[static_cast<std::size_t>(i)](bytes);
    if (i == 0 || t < min * (1 - 1e-9)) {
      min = t;
      best = i;
    }
  }
  return best;
}

/// What NCCL runs between domains where a user names an algorithm that it has there under another name. NVLS: all_reduce as an NVLSTree,
/// the others as the ring, which NCCL never turns off for them (two sites with B200s show both); where SHARP is on it would be NVLS over
/// SHARP, which has no price. CollNet's chain only combines: without a reduction of all it is direct.
inline Choice between_domains(Choice choice, ChoiceInput in, const Fabric& f) {
  const bool all = in.op == Collective::all_reduce;
  if (f.domains() <= 1) return choice;
  if (choice.algorithm == Algorithm::nvls && f.in_switch && !f.sharp) choice.algorithm = all ? Algorithm::nvls_tree : Algorithm::ring;
  if (choice.algorithm == Algorithm::collnet_chain && !all) choice.algorithm = Algorithm::collnet_direct;
  return choice;
}

/// Of a forced tree the protocols compete by NCCL's rates of one channel a network device: B200s run Simple at 32 GiB, as those say, and not
/// the LL128 that twice as many channels would let win.
inline void limit_forced_tree(TunerTable& table, const Fabric& f) {
  const TunerTables& k = tables_of(f.tuner);
  const std::size_t generation = tuner_generation(f.generation), column = f.domains() <= 2 ? 1 : 2;
  const double devices = std::max(k.min_network_channels, std::min(f.nics, f.local()));
  for (TunerRow& row : table.rows) {
    const double each = row.candidate.protocol == Protocol::simple  ? k.tree[generation][column]
                        : row.candidate.protocol == Protocol::ll128 ? k.tree_ll128[generation][column]
                                                                    : 0;
    if (each > 0) row.per_byte = std::max(row.per_byte, 2 / (devices * each));
  }
}

FABRICOST_BODY Candidates allowed_candidates(const Choice& asked, ChoiceInput in, const Fabric& f) {
  const Choice choice = between_domains(asked, in, f);
  Candidates out;
  for (const Candidate c : possible_candidates(in.op, f, in.byte_wide))
    if (choice.allows(c)) out.add(c.algorithm, c.protocol);
  return out;
}

FABRICOST_BODY TunerTable allowed_rows(const Choice& asked, ChoiceInput in, const Fabric& f) {
  const Choice choice = between_domains(asked, in, f);
  TunerTable table = tuner_table(in.op, f, in.byte_wide);
  if (choice.algorithm || choice.protocol) table.rows.keep_if([&](const TunerRow& row) { return choice.allows(row.candidate); });
  if (choice.algorithm == Algorithm::tree && f.domains() > 1) limit_forced_tree(table, f);
  // GPUs that reach only their neighbours cannot send to all others at once
  if (why_not({Algorithm::direct, Protocol::simple}, in.op, f, in.byte_wide) != nullptr) table.exchange_limit = 0;
  // point to point: a forced protocol replaces the limit, an algorithm other than direct the whole rule
  if (table.exchange_limit > 0 && (choice.protocol || (choice.algorithm && *choice.algorithm != Algorithm::direct))) {
    table.exchange_limit = 0;
    if (choice.protocol != Protocol::ll128 && choice.allows({Algorithm::direct, choice.protocol.value_or(Protocol::simple)}))
      table.add({Algorithm::direct, choice.protocol.value_or(Protocol::simple)}, 0, 1);
  }
  return table;
}

FABRICOST_BODY PluginRegions plugin_regions_of(const Choice& choice, ChoiceInput in, const Fabric& f) {
  return {in.op, f, in.byte_wide, [&](Candidate c) { return choice.allows(c); }};
}

FABRICOST_BODY std::optional<Candidate> picked_at(double bytes, const Choice& choice, ChoiceInput in, const Fabric& f) {
  if (f.plugin != TunerPlugin::none) [[unlikely]]
    if (const std::optional<Candidate> picked = plugin_regions_of(choice, in, f).pick(bytes)) return picked;
  if (choice.algorithm || choice.protocol || is_exchange(in.op)) {
    const TunerTable table = allowed_rows(choice, in, f);
    if (!(table.exchange_limit > 0) && table.rows.empty()) return std::nullopt;
    return table.pick(bytes);
  }
  detail::TunerPick pick{.bytes = bytes};
  detail::make_tuner_rows(pick, in.op, f, in.byte_wide);
  return pick.any ? std::optional{pick.best} : std::nullopt;
}

}  // namespace fabricost::core
