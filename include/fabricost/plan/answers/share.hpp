#pragma once
/// \file share.hpp
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

/// The ranks of a group: those along axes of the layout, or a count; by default all GPUs.
struct Over {
  std::string axis{};
  int size = 0;
};

/// One collective that every group of the machine runs.
struct GroupedRequest {
  Operation operation{};  ///< its ranks and nodes are derived
  Over over{};
  int every = 1;
  std::optional<Algorithm> algorithm{};
  std::optional<Protocol> protocol{};
  double weight = 1;
  std::string name{};     ///< for display; empty: made of the other fields
  std::string written{};  ///< as typed, for messages

  static constexpr auto fields() {
    using R = GroupedRequest;
    using enum Amount;
    return Table{asks(&R::operation, "operation", "", "", "The operation, with its bytes and without ranks", true),
                 asks(&R::over, "over", "", "", "An axis of the layout, a number of ranks, or None for all GPUs"),
                 asks(&R::every, "every", "", count, any_count, "", "Distance from member to member of a group, where <over> is a number"),
                 asks(&R::algorithm, "algorithm", "", "", "Force one"),
                 asks(&R::protocol, "protocol", "", "", "Force one"),
                 asks(&R::weight, "weight", "", number, {1e-9, 1e6}, "", "Relative share of a link that several use"),
                 asks(&R::name, "name", "", "", "A name to print; default made of the rest, as in `all_reduce 1 GiB over dp`")};
  }
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
  Machine system{};
  std::optional<int> nodes{};
  LayoutAxes layout{};
  std::vector<GroupedRequest> collectives{};
  Balancing balancing = Balancing::even;
  bool pxn = true, adaptive = true;
  Choice::Rule choice = Choice::Rule::nccl;
  std::string calibration{};
  std::vector<std::string> overrides{};
  std::optional<Inference> library{};
  std::optional<LaunchMode> launch{};

  static constexpr std::array<std::string_view, 2> by_place{"system", "collectives"};  ///< Python: positional arguments
  static constexpr auto fields() {
    using R = ShareRequest;
    using enum Amount;
    return tables(
        Table{
            field::ask_system<R>,
            asks(&R::nodes, "nodes", "--nodes,-n", count, any_count, "N", "Nodes, as nccl-tests counts them; default one domain"),
            asks(&R::layout, "layout", "--layout", "AXES",
                 "Axes inside out, as ranks are numbered: tp=8,pp=4,dp\n(the one without a size takes what is left)"),
            asks(&R::collectives, "collectives", "--of", "WORDS",
                 "One collective, run by every group; repeatable:\n\"OP SIZE [over AXIS|COUNT] [every STRIDE]\n"
                 " [by ALGORITHM] [under PROTOCOL] [in TYPE] [weight W]\"",
                 true),
            asks(&R::balancing, "balancing", "--balancing", "HOW", "Flows on parallel links: even (per packet, default)\nor hashed (ECMP)"),
            asks(&R::pxn, "pxn", "--no-pxn", "", "Rails: messages do not change GPU to reach their rail"),
            asks(&R::adaptive, "adaptive", "--minimal", "", "Dragonfly: minimal routes instead of adaptive ones"), field::ask_choice<R>,
            field::ask_calibration<R>, field::ask_override<R>, field::ask_library<R>, field::ask_launch<R>},
        WaysRequest::fields());
  }
};

struct Sharer {
  std::string name{};
  int groups = 0, of = 0;
  bool operator==(const Sharer&) const = default;

  static constexpr auto fields() {
    using A = Sharer;
    return Table{gives(&A::name, "name", "name", "Of the collective."), gives(&A::groups, "groups", "groups", "How many of its groups."),
                 gives(&A::of, "", "of", "How many it has.")};
  }
};

/// The link that limits a collective.
struct HeldBy {
  std::string name{};
  Bandwidth capacity{}, load{};
  std::vector<Sharer> sharers{};

  static constexpr auto fields() {
    using A = HeldBy;
    return Table{gives(&A::name, "name", "", "Its name."),
                 gives(&A::capacity, "capacity_GBps", "", "What it carries in one direction, byte/s.", 1e9),
                 gives(&A::load, "load_GBps", "", "What all of them put on it, byte/s.", 1e9),
                 gives(&A::sharers, "sharers", "", "Who crosses it.")};
  }
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

  static constexpr auto fields() {
    using A = SharedCollective;
    return Table{gives(&A::name, "name", "name", "For people."),
                 gives(&A::groups, "groups", "groups", "How many groups run it."),
                 gives(&A::ranks, "", "ranks", "GPUs of a group."),
                 gives(&A::stride, "stride", "stride", "From member to member."),
                 gives(&A::slow_down, "slow_down", "slow_down", "Of its wire time, of the most slowed group; at least 1."),
                 gives(&A::least_slow_down, "least_slow_down", "least_slow_down", "Of the least slowed one."),
                 gives(&A::time, "time_us", "seconds",
                       "If all of them ran for ever: alone.seconds + (slow_down - 1) x its wire terms, s.", in_microseconds),
                 gives(&A::alone, "alone", "alone", "Without the others, a Prediction."),
                 gives(&A::held_by, "link", "", "The link that holds it."),
                 gives(&A::link, "", "link", "The link that holds it; None: it moves nothing."),
                 gives(&A::link_bandwidth, "", "link_bytes_per_second", "What that link carries in one direction, byte/s."),
                 gives(&A::link_load, "", "link_load_bytes_per_second", "What all of them put on it, byte/s."),
                 gives(&A::sharers, "", "sharers", "Who crosses it, a list of Sharer."),
                 gives(&A::end, "end_us", "end_seconds",
                       "Until its last group has ended, s: links are shared anew whenever another ends.", in_microseconds),
                 gives(&A::by_itself, "by_itself_us", "by_itself_seconds", "All its groups without the other collectives, s.",
                       in_microseconds)};
  }
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
  std::vector<SharedCollective> collectives{};
  Time end{}, in_turn{};
  double beside_products = prior::beside::collective, products_beside = prior::beside::products;

  SharpTurns sharp{};  ///< collectives of those turns

  static constexpr auto fields() {
    using A = ShareAnswer;
    return Table{field::give_system<A>,
                 gives(&A::nodes, "nodes", "nodes", "Nodes."),
                 gives(&A::gpus, "gpus", "gpus", "GPUs."),
                 gives(&A::balancing, "balancing", "balancing", "even or hashed."),
                 gives(&A::sharp_turns, "sharp_turns", "sharp_turns",
                       "Turns that in-network reductions take on the fabric's trees; None: there are none, or no limits are known."),
                 gives(&A::collectives, "collectives", "", "One of each, in the order asked."),
                 gives(&A::end, "end_us", "end_seconds", "Until all have ended, s.", in_microseconds),
                 gives(&A::in_turn, "in_turn_us", "in_turn_seconds",
                       "One after the other instead, s: the sum of by_itself_seconds. Shorter only where groups lie unevenly on the nodes.",
                       in_microseconds),
                 gives(&A::beside_products, "beside_products", "beside_products",
                       "Of its time alone, what a collective takes beside matrix products on the same GPUs; measured, in none of the times."),
                 gives(&A::products_beside, "products_beside", "products_beside", "And what the products take beside it.")};
  }
};

/// \throws Refusal, RequestError as at_once; SpecError, RequestError as load_system
[[nodiscard]] ShareAnswer answer(const ShareRequest& request);

}  // namespace fabricost::plan

namespace fabricost {
using plan::ShareAnswer;
using plan::ShareRequest;
}  // namespace fabricost
