#pragma once
/// \file pick-inl.hpp
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

FABRICOST_BODY Candidates allowed_candidates(const Choice& choice, ChoiceInput in, const Fabric& f) {
  Candidates out;
  for (const Candidate c : possible_candidates(in.op, f, in.byte_wide))
    if (choice.allows(c)) out.add(c.algorithm, c.protocol);
  return out;
}

FABRICOST_BODY TunerTable allowed_rows(const Choice& choice, ChoiceInput in, const Fabric& f) {
  TunerTable table = tuner_table(in.op, f, in.byte_wide);
  if (choice.algorithm || choice.protocol) table.rows.keep_if([&](const TunerRow& row) { return choice.allows(row.candidate); });
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
