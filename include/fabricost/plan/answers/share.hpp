#pragma once
/// Collectives that start at the same time: when each ends, its slowdown while all of them run, the link that causes it and the
/// collectives it is shared with (network/at_once.hpp).

#include <fabricost/answers/predict.hpp>
#include <fabricost/plan/network/at_once.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

inline constexpr std::array<std::string_view, 2> balancing_names{"even", "hashed"};
[[nodiscard]] constexpr auto words_of(Balancing) { return EnumWords{balancing_names, "a way to spread flows"}; }
/// ecmp, too: it hashes.
[[nodiscard]] inline std::optional<Balancing> parse_word(Balancing, std::string_view text) {
  return parse_enum<Balancing>(folded(text) == "ecmp" ? balancing_names[static_cast<std::size_t>(Balancing::hashed)] : text, balancing_names);
}

/// The ranks of a group: those along axes of the layout, or a count; by default all GPUs.
struct Over {
  std::string axis{};
  int size = 0;
};

/// One collective that every group of the machine runs.
struct GroupedRequest {
  Operation operation{};                 ///< its ranks and nodes are derived
  Over over{};                           ///< an axis of the layout, a number of ranks, or None for all GPUs
  int every = 1;                         ///< distance from member to member of a group, where over is a number
  std::optional<Algorithm> algorithm{};  ///< force one
  std::optional<Protocol> protocol{};    ///< force one
  double weight = 1;                     ///< relative share of a link that several use
  std::string name{};                    ///< for display; empty: made of the other fields
  std::string written{};                 ///< as typed, for messages

  static RequestTable<GroupedRequest> fields();
};
/// Checks everything that needs no machine. \throws Refusal
void check(const GroupedRequest& one);
/// The name shown for the collective.
[[nodiscard]] std::string name_of(const GroupedRequest& one);
/// Parses "OP SIZE [over AXIS|COUNT|all] [every STRIDE] [by ALGORITHM] [under PROTOCOL] [in TYPE] [weight
/// W]". \throws RequestError naming the unknown word and the valid ones
[[nodiscard]] GroupedRequest grouped_from(const std::string& text);
/// The same, as interfaces read it.
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, GroupedRequest& out);

/// An axis of a layout. The stride is the product of the sizes inside of it.
struct Axis {
  std::string name;
  int size = 1, stride = 1;  ///< size 0: the remaining GPUs
};

/// Axes from the innermost outwards, in the order of rank numbers. One may have size 0 and takes the
/// remaining ranks. Empty: none.
struct LayoutAxes {
  std::vector<Axis> axes{};
};
/// Parses "tp=8,pp=4,dp". \param named the option or argument, for the message \throws RequestError
[[nodiscard]] LayoutAxes layout_from(const std::string& text, std::string_view named);
/// The same, as interfaces read it.
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, LayoutAxes& out);

struct ShareRequest : WaysRequest {
  Machine system{};            ///< the machine
  std::optional<int> nodes{};  ///< nodes, as nccl-tests counts them; default one domain
  LayoutAxes layout{};         ///< axes inside out, as ranks are numbered: tp=8,pp=4,dp (the one without a size takes what is left)
  std::vector<GroupedRequest> collectives{};  ///< one collective, run by every group; several at once
  Balancing balancing = Balancing::even;      ///< flows on parallel links: even (per packet, default) or hashed (ECMP)
  bool pxn = true;                            ///< rails: messages change GPU to reach their rail
  bool adaptive = true;                       ///< dragonfly: adaptive routes, not minimal ones alone
  Choice::Rule choice = Choice::Rule::nccl;   ///< nccl (default) or fastest
  std::string calibration{};                  ///< none, or a calibration file; default the shipped one
  std::vector<std::string> overrides{};       ///< values of the machine, as in tiers.nic.endpoints=4
  std::optional<Inference> library{};         ///< an inference engine, or a release of NCCL
  std::optional<LaunchMode> launch{};         ///< how the host launches; default a graph, the time of the GPUs alone

  static constexpr std::array<std::string_view, 2> by_place{"system", "collectives"};  ///< Python: positional arguments
  static RequestTable<ShareRequest> fields();
};

struct Sharer {
  std::string name{};
  int groups = 0, of = 0;
  bool operator==(const Sharer&) const = default;

  static AnswerTable<Sharer> fields();
};

/// The link that limits a collective.
struct HeldBy {
  std::string name{};
  Bandwidth capacity{}, load{};
  std::vector<Sharer> sharers{};

  static AnswerTable<HeldBy> fields();
};

struct SharedCollective {
  std::string name{};
  int groups = 0, ranks = 0, stride = 1;
  double slow_down = 1, least_slow_down = 1;
  Time time{};
  PredictAnswer alone{};
  std::optional<std::string> link{};
  std::optional<Bandwidth> link_bandwidth{}, link_load{};
  std::vector<Sharer> sharers{};
  Time end{}, by_itself{};

  [[nodiscard]] std::optional<HeldBy> held_by() const;

  static AnswerTable<SharedCollective> fields();
};

/// Turns of in-network reductions.
struct SharpTurns {
  std::string switches;  ///< whose limits apply; empty: nothing is reduced in the network, or no limits are known
  int jobs = 0;          ///< groups that reduce in the network
  int turns = 1;
};

struct ShareAnswer {
  std::string system{};
  int nodes = 1, gpus = 1;
  std::string balancing{};
  std::optional<int> sharp_turns{};
  std::optional<double> detoured{};
  std::vector<SharedCollective> collectives{};
  Time end{}, in_turn{};
  double beside_products = prior::beside::collective, products_beside = prior::beside::products;

  SharpTurns sharp{};  ///< collectives of those turns

  static AnswerTable<ShareAnswer> fields();
};

/// \throws Refusal, RequestError as at_once; SpecError, RequestError as load_system
[[nodiscard]] ShareAnswer answer(const ShareRequest& request);

}  // namespace fabricost::plan

namespace fabricost {
using plan::ShareAnswer;
using plan::ShareRequest;
}  // namespace fabricost
