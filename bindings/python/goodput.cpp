/// \file goodput.cpp
/// What failures and checkpoints leave of the time: fc.goodput.

#include "asked.hpp"
#include "bindings.hpp"
#include "record.hpp"

#include <fabricost/answers/goodput.hpp>
#include <fabricost/specs/failures.hpp>
#include <fabricost/specs/prices.hpp>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

constexpr double longest = 1e12;  ///< s
using Known = std::optional<double>;

struct AtScale {
  double gpus = 0, mttf_seconds = 0, checkpoint_every_seconds = 0, goodput = 0;
  Known waiting_efficiency{}, efficiency{};
  bool operator==(const AtScale&) const = default;
};
struct OfFleet {
  std::string fleet{};
  double failures_per_1000_node_days = 0, goodput = 0;
  bool operator==(const OfFleet&) const = default;
};
struct Cause {
  std::string cause{}, part{};
  double per_day = 0;
  bool operator==(const Cause&) const = default;
};
struct Kept {
  double gpus = 0, nodes = 0;
  std::string failure_source{};
  double failures_per_1000_node_days = 0, failures_per_day = 0, mttf_seconds = 0;
  double checkpoint_every_seconds = 0, stall_seconds = 0, drain_seconds = 0, young_seconds = 0, daly_seconds = 0, best_seconds = 0;
  Known checkpoint_bytes{};
  double recovery_seconds = 0, goodput = 0, goodput_first_order = 0, ettr_meta = 0;
  double checkpoints_share = 0, lost_share = 0, recovery_share = 0, waiting_share = 0, flaps_share = 0, lost_rails_share = 0;
  Known links{}, flaps_per_day{}, fatal_flaps_per_day{}, network_factor{}, step_factor{};
  int spares = 0, spares_to_wait_a_thousandth = 0;
  double repair_seconds = 0, kept_per_node = 0;
  Known lost_dollars_per_day{};
  std::vector<Cause> causes{};
  std::vector<AtScale> by_scale{};
  std::vector<OfFleet> by_fleet{};
};

constexpr GoodputWords words{.rates = "mttf_node_seconds, failures_per_node_day, failures_per_1000_node_days or fleet",
                             .storage = "storage_bytes_per_second",
                             .model = "model",
                             .drain = "drain_seconds",
                             .background = "background=True",
                             .flaps = "flaps_per_link_year",
                             .flap_stall = "flap_stall_seconds",
                             .links = "links",
                             .flap_fatal = "flap_fatal",
                             .lost_rails = "lost_rails",
                             .rails = "rails",
                             .network_share = "network_share",
                             .rails_example = "rails=8",
                             .network_example = "network_share=0.2",
                             .system = "system"};

/// As they were written; None where nothing was.
struct AskedGoodput {
  const py::object &gpus, &gpus_per_node, &system, &fleet, &mttf_node, &per_node_day, &per_thousand, &checkpoint, &interval, &background,
      &drain, &restart, &reload, &model, &storage, &spares, &repair, &replaced, &jitter, &gpu_hour, &prices, &flaps, &flap_stall, &links,
      &flap_fatal, &lost_rails, &rails, &network_share;
};

/// Objects as numbers; what they mean together is goodput_of_job's.
[[nodiscard]] GoodputAsked meant(const AskedGoodput& a) {
  const auto seconds = [](const py::object& value, const char* name) { return real_or_none(value, name, 0, longest); };
  needed(a.gpus, "gpus", "gpus=16384");
  GoodputAsked out;
  out.gpus = whole(a.gpus, "gpus");
  out.gpu_hour = real_or_none(a.gpu_hour, "dollars_per_gpu_hour", 0, 1e6);
  if (!a.system.is_none()) {
    out.system = system_from(a.system);
    out.prices = load_prices(text(a.prices, "prices"));
  }
  if (const auto each = whole_or_none(a.gpus_per_node, "gpus_per_node")) out.gpus_per_node = *each;
  out.fleet = text_or_none(a.fleet, "fleet");
  out.mttf_node = seconds(a.mttf_node, "mttf_node_seconds");
  out.per_node_day = real_or_none(a.per_node_day, "failures_per_node_day", 1e-9, 1e6);
  out.per_thousand_node_days = real_or_none(a.per_thousand, "failures_per_1000_node_days", 1e-6, 1e9);
  out.replaced = real_or_none(a.replaced, "replaced", 0, 1);
  out.background = flag(a.background, "background");
  if (!a.model.is_none()) out.model = model_from(a.model);
  out.storage = real_or_none(a.storage, "storage_bytes_per_second", 1, 1e18).value_or(0);
  out.drain = seconds(a.drain, "drain_seconds");
  out.checkpoint = seconds(a.checkpoint, "checkpoint_seconds");
  out.interval = seconds(a.interval, "checkpoint_every_seconds");
  if (out.interval && !(*out.interval > 0)) throw RequestError("checkpoint_every_seconds: above 0 s; None is the best one");
  out.restart = seconds(a.restart, "restart_seconds");
  out.reload = seconds(a.reload, "reload_seconds");
  out.spares = whole_or_none(a.spares, "spares", 0, 1e6);
  out.repair = seconds(a.repair, "repair_seconds");
  out.jitter = real_or_none(a.jitter, "jitter", 0, 1).value_or(0);
  out.flaps_per_link_year = real_or_none(a.flaps, "flaps_per_link_year", 0, 1e9);
  out.flap_stall = seconds(a.flap_stall, "flap_stall_seconds");
  out.links = real_or_none(a.links, "links", 1, 1e9);
  out.flap_fatal = real_or_none(a.flap_fatal, "flap_fatal", 0, 1);
  out.lost_rails = whole_or_none(a.lost_rails, "lost_rails");
  out.rails = whole_or_none(a.rails, "rails");
  out.network_share = real_or_none(a.network_share, "network_share", 0, 1);
  return out;
}

[[nodiscard]] Kept goodput(const AskedGoodput& asked) {
  const GoodputAnswer a = goodput_of_job(meant(asked), words);
  const FailingJob& job = a.job;
  const FailureAnswer& r = a.failures;
  const Checkpointing& c = r.checkpointing;
  const Goodput& share = a.shares.of_failures;
  Kept out{.gpus = job.gpus,
           .nodes = r.nodes,
           .failure_source = job.rate_source,
           .failures_per_1000_node_days = job.question.rate.thousand_node_days(),
           .failures_per_day = day_seconds / r.mttf,
           .mttf_seconds = r.mttf,
           .checkpoint_every_seconds = c.interval,
           .stall_seconds = c.stall,
           .drain_seconds = c.drain,
           .young_seconds = a.young,
           .daly_seconds = a.daly,
           .best_seconds = a.best,
           .checkpoint_bytes = {},
           .recovery_seconds = c.recovery,
           .goodput = share.kept,
           .goodput_first_order = a.first_order,
           .ettr_meta = a.ettr,
           .checkpoints_share = share.checkpoints,
           .lost_share = share.lost,
           .recovery_share = share.recovery,
           .waiting_share = share.waiting,
           .flaps_share = a.shares.flaps,
           .lost_rails_share = a.shares.lost_rails,
           .links = {},
           .flaps_per_day = {},
           .fatal_flaps_per_day = {},
           .network_factor = {},
           .step_factor = {},
           .spares = r.spares,
           .spares_to_wait_a_thousandth = r.spares_to_hardly_wait,
           .repair_seconds = job.question.repair,
           .kept_per_node = a.kept_per_node(),
           .lost_dollars_per_day = {},
           .causes = {},
           .by_scale = {},
           .by_fleet = {}};
  if (job.checkpoint_bytes > 0) out.checkpoint_bytes = job.checkpoint_bytes;
  if (job.flaps.links > 0) {
    out.links = job.flaps.links;
    out.flaps_per_day = 24 * job.flaps.links * job.flaps.per_link_hour;
    out.fatal_flaps_per_day = 24 * job.flaps.failures_per_hour();
  }
  if (job.lost_rails > 0) {
    out.network_factor = job.network_factor();
    out.step_factor = job.step_factor();
  }
  if (job.rent > 0) out.lost_dollars_per_day = a.lost_per_day;
  for (const CausePerDay& cause : a.causes) out.causes.push_back({cause.cause, cause.part, cause.per_day});
  for (const GoodputAtScale& s : a.by_scale)
    out.by_scale.push_back({s.gpus, s.mttf, s.interval, s.kept, s.waiting_efficiency, s.efficiency()});
  for (const GoodputOfFleet& f : a.by_fleet) out.by_fleet.push_back({f.name, f.per_thousand_node_days, f.kept});
  return out;
}

}  // namespace

void add_goodput(py::module_& module) {
  add_record<AtScale>(
      module, "GoodputAtScale", "Goodput of a job of another size.", field("gpus", &AtScale::gpus, "How many GPUs."),
      field("mttf_seconds", &AtScale::mttf_seconds, "Mean time to failure of the job, s."),
      field("checkpoint_every_seconds", &AtScale::checkpoint_every_seconds, "Work between checkpoints, s."),
      field("goodput", &AtScale::goodput, "Share of the time that counts."),
      field("waiting_efficiency", &AtScale::waiting_efficiency, "Mean step over the slowest rank's; None: no jitter was given."),
      field("efficiency", &AtScale::efficiency, "Both together; None: no jitter was given."))
      .def("__repr__", [](const AtScale& s) { return fmt::format("{:.0f} GPUs: {:.2f} %", s.gpus, 100 * s.goodput); });
  add_record<OfFleet>(
      module, "GoodputOfFleet", "Goodput of the job if nodes failed as they did elsewhere.", field("fleet", &OfFleet::fleet, "Whose."),
      field("failures_per_1000_node_days", &OfFleet::failures_per_1000_node_days, "As published, of nodes of its own size."),
      field("goodput", &OfFleet::goodput, "Share of the time that counts."))
      .def("__repr__", [](const OfFleet& f) { return fmt::format("{}: {:.2f} %", f.fleet, 100 * f.goodput); });
  add_record<Cause>(module, "FailureCause", "One kind of failure.", field("cause", &Cause::cause, "What fails."),
                    field("part", &Cause::part, "gpu, network, host or software."),
                    field("per_day", &Cause::per_day, "Of the job, failures a day."))
      .def("__repr__", [](const Cause& c) { return fmt::format("{} ({}): {:.3g} a day", c.cause, c.part, c.per_day); });
  using K = Kept;
  add_record<K>(
      module, "Goodput", "What failures and checkpoints leave of a job's time. Made by goodput.",
      field("gpus", &K::gpus, "GPUs of the job."), field("nodes", &K::nodes, "Nodes of the job."),
      field("failure_source", &K::failure_source, "Whose rate of failures it is."),
      field("failures_per_1000_node_days", &K::failures_per_1000_node_days, "Of one node."),
      field("failures_per_day", &K::failures_per_day, "Of the job."),
      field("mttf_seconds", &K::mttf_seconds, "Mean time to failure: 1 / (nodes x rate), s."),
      field("checkpoint_every_seconds", &K::checkpoint_every_seconds, "Work between checkpoints, s: as given, or the best."),
      field("stall_seconds", &K::stall_seconds, "The job stands still for a checkpoint, s."),
      field("drain_seconds", &K::drain_seconds, "Until it could be loaded, s."),
      field("young_seconds", &K::young_seconds, "Young's interval sqrt(2 C M), s."), field("daly_seconds", &K::daly_seconds, "Daly's, s."),
      field("best_seconds", &K::best_seconds, "The exact best, s."),
      field("checkpoint_bytes", &K::checkpoint_bytes, "14 bytes a parameter; None: no model was given."),
      field("recovery_seconds", &K::recovery_seconds, "Detect, replace, restart, load, s."),
      field("goodput", &K::goodput, "Share of the time that is work that counts."),
      field("goodput_first_order", &K::goodput_first_order, "1 - C/tau - (tau/2 + d + R)/M."),
      field("ettr_meta", &K::ettr_meta, "Effective training time ratio of arXiv 2410.21680."),
      field("checkpoints_share", &K::checkpoints_share, "Share of standing still for checkpoints."),
      field("lost_share", &K::lost_share, "Share of work done again."), field("recovery_share", &K::recovery_share, "Share of recovery."),
      field("waiting_share", &K::waiting_share, "Share of waiting for a node."),
      field("flaps_share", &K::flaps_share, "Share of standing still until a link is back."),
      field("lost_rails_share", &K::lost_rails_share, "Share that lost NICs take: kept work x (1 - 1 / step_factor)."),
      field("links", &K::links, "Links whose flaps the job feels; None: no flaps were given."),
      field("flaps_per_day", &K::flaps_per_day, "Flaps of all links, a day; None: no flaps were given."),
      field("fatal_flaps_per_day", &K::fatal_flaps_per_day, "Of those, the ones that end the job; None: no flaps were given."),
      field("network_factor", &K::network_factor, "Factor of lost NICs on the network's part of a step; None: none are lost."),
      field("step_factor", &K::step_factor, "Their factor on a step; None: none are lost."),
      field("spares", &K::spares, "Nodes that stand by."),
      field("spares_to_wait_a_thousandth", &K::spares_to_wait_a_thousandth, "Fewest with which the job waits at most 0.1 % of its time."),
      field("repair_seconds", &K::repair_seconds, "Until a node is back, s; 0: there is always another."),
      field("kept_per_node", &K::kept_per_node, "Goodput x nodes / (nodes + spares)."),
      field("lost_dollars_per_day", &K::lost_dollars_per_day, "What does not count costs, USD a day; None: no price is known."),
      field("causes", &K::causes, "Of the fleet, a list of FailureCause."),
      field("by_scale", &K::by_scale, "Other sizes, a list of GoodputAtScale."),
      field("by_fleet", &K::by_fleet, "Other fleets' failures, a list of GoodputOfFleet."))
      .def("__repr__", [](const K& k) {
        return fmt::format("{:.0f} GPUs: {:.2f} % counts, a failure every {:.4g} h, a checkpoint every {:.4g} min", k.gpus, 100 * k.goodput,
                           k.mttf_seconds / 3600, k.checkpoint_every_seconds / 60);
      });
  const py::none none;
  module.def(
      "goodput",
      [](const py::object& gpus, const py::object& gpus_per_node, const py::object& system, const py::object& fleet,
         const py::object& mttf_node, const py::object& per_node_day, const py::object& per_thousand, const py::object& checkpoint,
         const py::object& interval, const py::object& background, const py::object& drain, const py::object& restart,
         const py::object& reload, const py::object& model, const py::object& storage, const py::object& spares, const py::object& repair,
         const py::object& replaced, const py::object& jitter, const py::object& gpu_hour, const py::object& prices,
         const py::object& flaps, const py::object& flap_stall, const py::object& links, const py::object& flap_fatal,
         const py::object& lost_rails, const py::object& rails, const py::object& network_share) {
        return goodput({gpus,       gpus_per_node, system,     fleet,      mttf_node,  per_node_day, per_thousand,
                        checkpoint, interval,      background, drain,      restart,    reload,       model,
                        storage,    spares,        repair,     replaced,   jitter,     gpu_hour,     prices,
                        flaps,      flap_stall,    links,      flap_fatal, lost_rails, rails,        network_share});
      },
      py::kw_only(), "gpus"_a = none, "gpus_per_node"_a = none, "system"_a = none, "fleet"_a = none, "mttf_node_seconds"_a = none,
      "failures_per_node_day"_a = none, "failures_per_1000_node_days"_a = none, "checkpoint_seconds"_a = none,
      "checkpoint_every_seconds"_a = none, "background"_a = false, "drain_seconds"_a = none, "restart_seconds"_a = none,
      "reload_seconds"_a = none, "model"_a = none, "storage_bytes_per_second"_a = none, "spares"_a = none, "repair_seconds"_a = none,
      "replaced"_a = none, "jitter"_a = none, "dollars_per_gpu_hour"_a = none, "prices"_a = "default", "flaps_per_link_year"_a = none,
      "flap_stall_seconds"_a = none, "links"_a = none, "flap_fatal"_a = none, "lost_rails"_a = none, "rails"_a = none,
      "network_share"_a = none,
      R"(goodput(*, gpus, gpus_per_node=None, system=None, fleet=None, mttf_node_seconds=None, failures_per_node_day=None,
    failures_per_1000_node_days=None, checkpoint_seconds=None, checkpoint_every_seconds=None, background=False, drain_seconds=None,
    restart_seconds=None, reload_seconds=None, model=None, storage_bytes_per_second=None, spares=None, repair_seconds=None,
    replaced=None, jitter=None, dollars_per_gpu_hour=None, prices='default', flaps_per_link_year=None, flap_stall_seconds=None,
    links=None, flap_fatal=None, lost_rails=None, rails=None, network_share=None)
--

What failures and checkpoints leave of a job's time, a Goodput.

kept = tau e^(-d/M) / (M e^(R/M) (e^((tau + C)/M) - 1)), exact for exponential failures (Daly 2006 for d = 0); M = 1 / (nodes x rate)

gpus; gpus_per_node: default 8, or the system's. One rate: fleet (llama3 by default, rsc-1, rsc-2, rsc-observed, opt-175b),
mttf_node_seconds, failures_per_node_day or failures_per_1000_node_days.
checkpoint_seconds C: the job stands still; checkpoint_every_seconds tau: default the best; background with drain_seconds d: written beside
the work; restart_seconds and reload_seconds make R; model with storage_bytes_per_second gives sizes and times of checkpoints.
spares with repair_seconds: nodes that stand by; replaced: share of failures that take a node away.
jitter: standard deviation of a GPU's step over its mean, adds the wait for the slowest to by_scale.
system, dollars_per_gpu_hour, prices: what the lost time costs.
flaps_per_link_year with flap_stall_seconds: links that drop out and come back while everybody waits, 1 - e^-(links x rate x stall) of the
time; links: default one per NIC; flap_fatal: share of flaps that end the job. lost_rails with network_share: NICs one node has lost,
and which share of a step waits for the network; rails: of a node, default the system's.

>>> import fabricost as fc
>>> g = fc.goodput(gpus=16384, checkpoint_seconds=30, restart_seconds=600)
>>> round(g.goodput, 2), round(g.best_seconds / 60, 1)
(0.88, 13.3)
>>> parts = g.goodput + g.checkpoints_share + g.lost_share + g.recovery_share + g.waiting_share
>>> round(parts, 9)
1.0
>>> round(fc.goodput(gpus=1024, lost_rails=1, rails=8, network_share=0.7).step_factor, 9)  # 1 + 0.7 x (8/7 - 1)
1.1
)");
}

}  // namespace fabricost::python
