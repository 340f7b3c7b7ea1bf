#pragma once
/// Bodies of compile.hpp.

#include <fabricost/choice/forced.hpp>
#include <fabricost/choice/fastest_stretches.hpp>
#include <fabricost/compiled_once.hpp>
#include <fabricost/error.hpp>
#include <fabricost/hardware/check.hpp>
#include <fabricost/predict/by_ways.hpp>
#include <fabricost/predict/compile.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/host_copy.hpp>
#include <fabricost/price/custom_reduce.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::core::detail {

/// Explains why no allowed pair can run, and names algorithms that could.
[[nodiscard]] inline std::string impossible(const Choice& choice, Collective op, const Fabric& f, bool byte_wide) {
  const Algorithm natural = f.neighbours_only ? Algorithm::torus_bucket : is_exchange(op) ? Algorithm::direct : Algorithm::ring;
  const Candidate wanted{choice.algorithm.value_or(natural), choice.protocol.value_or(Protocol::simple)};
  const char* why = why_not(wanted, op, f, byte_wide);
  std::string out{name(wanted.algorithm)};
  if (const auto alias = with_algorithm(wanted.algorithm, [](auto a) { return std::string_view{a.alias}; }); !alias.empty())
    out.append(" (").append(alias).append(")");
  for (const std::string_view piece :
       {std::string_view{" cannot run "}, name(op), std::string_view{" under "}, name(wanted.protocol),
        std::string_view{" here: "}, std::string_view{why != nullptr ? why : "no protocol fits"}})
    out.append(piece);
  std::string possible;
  for (const Candidate c : possible_candidates(op, f, byte_wide))
    if (choice.protocol && c.algorithm == wanted.algorithm) possible.append(possible.empty() ? "" : ", ").append(name(c.protocol));
  if (!possible.empty()) return out.append("; it runs under ").append(possible);
  Algorithm last{};
  for (const Candidate c : possible_candidates(op, f, byte_wide)) {
    if (!possible.empty() && c.algorithm == last) continue;
    possible.append(possible.empty() ? "" : ", ").append(name(c.algorithm));
    last = c.algorithm;
  }
  if (!possible.empty()) out.append("; possible: ").append(possible);
  return out;
}

/// Numbers of chips that can run where these cannot, as they are no block of the torus: "24 ranks are no block of 4 x 4 x 4, whose parts
/// divide its axes; take 16 or 32"; empty if that is not the reason.
[[nodiscard]] inline std::string no_part_of_torus(const System& system, const Choice& choice, const Fabric& f) {
  const System slice = slice_for(system, static_cast<long long>(f.ranks()));
  const Tier* tier = slice.tier(TierRole::scale_up);
  const bool forced = choice.algorithm || choice.protocol;
  if (forced || tier == nullptr || tier->kind != TierKind::torus || f.domains() > 1 || f.torus_axes > 0) return "";
  const int ranks = static_cast<int>(f.ranks());
  int below = ranks, above = ranks;
  while (below > 1 && block_of_torus(*tier, below)[0] == 0) --below;
  while (above < tier->endpoints && block_of_torus(*tier, above)[0] == 0) ++above;
  std::string out = std::to_string(ranks).append(" ranks are no block of ");
  for (std::size_t i = 0; i < tier->dims.size(); ++i) out.append(i == 0 ? "" : " x ").append(std::to_string(tier->dims[i]));
  return out.append(", whose parts divide its axes; take ").append(std::to_string(below)).append(" or ").append(std::to_string(above));
}

/// \throws RequestError when the choice leaves nothing that can run
[[nodiscard]] inline Candidates candidates_or_throw(const System& system, const Choice& choice, ChoiceInput in, const Fabric& f) {
  const Candidates candidates = allowed_candidates(choice, in, f);
  if (candidates.count == 0) {
    const std::string torus = no_part_of_torus(system, choice, f);
    throw RequestError(system.name + ": " + (torus.empty() ? impossible(choice, in.op, f, in.byte_wide) : torus));
  }
  return candidates;
}

/// walk_tuner with a plugin that is asked before the tuner: one pair runs between two sizes at which a region of the plugin or the tuner's choice ends.
template <class Visit>
void walk_plugin(const PluginRegions& plugin, const TunerTable& table, Visit&& visit) {
  FixedList<double, 128> ends;
  plugin.each_border([&](double bytes) { ends.add(bytes); });
  std::optional<Candidate> last;
  double end = 0;
  walk_tuner(table, [&](Candidate now, double until) {
    if (last && !(now == *last)) ends.add(end);
    last = now;
    end = until;
  });
  std::sort(ends.begin(), ends.end());
  const auto pick = [&](double bytes) { return plugin.pick(bytes).value_or(table.pick(bytes)); };
  double at = 0;
  for (const double border : ends) {
    if (border <= at) continue;
    const Candidate now = pick(0.5 * (at + border));
    double next = std::ceil(border);  // the first size of what comes after, which a border may belong to
    if (next - 1 > at && !(pick(next - 1) == now)) --next;
    if (pick(next) == now) ++next;
    visit(now, next);
    at = next;
  }
  visit(pick(2 * at + 1), std::numeric_limits<double>::infinity());
}

/// Calls visit where the cheapest of the priced candidates changes.
template <class Visit>
void walk_prices(const PriceTable& table, Visit&& visit) {
  const auto nearer = [&](double at, double next) {
    for (int i = 0; i < table.count(); ++i) {
      next = towards_jumps(table.line(i), at, next);
      next = towards_size(table.until(i), at, next);
    }
    return next;
  };
  walk_fastest(
      [&](double bytes) { return table.pick(bytes); }, nearer, [&](int which, double, double until) { visit(which, until); });
}

/// Kernels of an inference engine that a choice allows, whatever its rule: all, or of an algorithm that only engines have, then at every
/// size up to the engine's largest. A pair that NCCL itself can be forced to is NCCL's.
[[nodiscard]] inline ReducePieces allowed_pieces(const System& system, const Fabric& f, const Operation& op, const Choice& choice) {
  if (choice.inference.library == InferenceLibrary::none || op.collective != Collective::all_reduce) return {};
  if (!choice.algorithm && choice.protocol) return {};
  if (choice.algorithm && is_nccl_algorithm(*choice.algorithm)) return {};
  const ReducePieces all = reduce_pieces(choice.inference, f, is_blackwell_ultra(system.gpu));
  ReducePieces out;
  for (const ReducePieces::Piece& piece : all)
    if (choice.allows(candidate_of(piece.kernel))) out.add(piece.kernel, piece.until);
  if (out.count > 0) out.items[static_cast<std::size_t>(out.count - 1)].until = all.items[static_cast<std::size_t>(all.count - 1)].until;
  return out;
}

FABRICOST_BODY PriceTable prices_of(const System& system, const Fabric& f, const Operation& op, const Choice& choice, ChoiceInput in) {
  PriceTable out{candidates_or_throw(system, choice, in, f), in, f, system.constants};
  if (choice.rule == Choice::Rule::fastest)
    for (const ReducePieces::Piece& piece : allowed_pieces(system, f, op, choice))
      out.add(candidate_of(piece.kernel), price_custom(piece.kernel, f, system.constants), piece.until);
  return out;
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY ReducePieces pieces_of(const System& system, const Fabric& f, const Operation& op, const Choice& choice) {
  return choice.rule == Choice::Rule::nccl ? detail::allowed_pieces(system, f, op, choice) : ReducePieces{};
}

FABRICOST_BODY Curve compile_on(const Fabric& f, const System& system, const Operation& operation, const Choice& choice) {
  const Constants& c = system.constants;
  check_parts(
      system,
      {.gpu = true, .scale_up = true, .pcie = true, .transport = true, .custom = choice.inference.library != InferenceLibrary::none});
  Curve curve{f};
  const double forever = std::numeric_limits<double>::infinity();
  const ChoiceInput in{operation.collective, is_byte_wide(operation.dtype)};
  if (is_host_copy(operation)) {
    if (!(f.host_link_rate > 0)) throw RequestError(system.name + ": has no tier to the host (role \"host\" or \"c2c\")");
    // no choice: a copy over the host link
    curve.append({Algorithm::direct, Protocol::simple}, price_host_copy(system, f, operation.path), forever);
    return curve;
  }
  double own_until = 0;
  for (const ReducePieces::Piece& piece : pieces_of(system, f, operation, choice)) {
    curve.append(candidate_of(piece.kernel), price_custom(piece.kernel, f, c), piece.until);
    own_until = piece.until;
  }
  const auto append = [&](Candidate candidate, double until) {
    if (until > own_until)
      curve.append(candidate, price(schedule_of(candidate.algorithm, in.op, f), f, c, candidate.protocol, in.byte_wide), until);
  };
  if (choice.rule == Choice::Rule::nccl && follows_tuner(f.library)) {
    const TunerTable table = allowed_rows(choice, in, f);
    if (table.exchange_limit > 0 || !table.rows.empty()) {
      const PluginRegions plugin = plugin_regions_of(choice, in, f);
      if (plugin.any())
        detail::walk_plugin(plugin, table, append);
      else
        detail::walk_tuner(table, append);
      return curve;
    }
  }
  const PriceTable table = detail::prices_of(system, f, operation, choice, in);
  detail::walk_prices(table, [&](int i, double until) {
    if (until > own_until) curve.append(table.candidate(i), table.line(i), until);
  });
  return curve;
}

FABRICOST_BODY Curve compile_lines(const System& system, const Operation& operation, const Choice& choice) {
  Fabric f = fabric_of(system, operation);
  f.back_to_back = is_back_to_back(choice.launch);
  if (choice.ways.any()) [[unlikely]]
    return compile_by_ways(f, system, operation, choice, [&](const Fabric& on) { return compile_on(on, system, operation, choice); });
  return compile_on(f, system, operation, choice);
}

}  // namespace fabricost::core
