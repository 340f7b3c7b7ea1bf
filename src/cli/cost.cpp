/// \file cost.cpp
/// fabricost cost: what GPUs, tokens and training runs cost in dollars and joules, and what a share of the time is worth.

#include "specs/tree.hpp"
#include "text/text_table.hpp"
#include "amounts.hpp"
#include "names.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/economics/bill.hpp>
#include <fabricost/kernels/compute.hpp>
#include <fabricost/model/flops.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/specs/load_model.hpp>
#include <fabricost/specs/prices.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <memory>

namespace fabricost::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr double hour = 3600, day = 24 * hour, year = hours_of_a_year * hour;

/// As typed; empty where nothing was.
struct CostOptions {
  std::string system, gpus, hours, tokens, model, step_time, global_batch, sequence, tokens_per_gpu, mfu, plan, goodput, share, prices,
      price, price_kind, server, pue, electricity, lifetime, upgrade;
  std::vector<std::string> overrides;
  bool json = false;
};

/// What `fabricost plan --json` wrote: its fastest layout.
struct Planned {
  std::string system, model;
  double gpus = 0, tokens_per_gpu = 0;
};
[[nodiscard]] Planned read_plan(const std::string& file) {
  constexpr std::size_t most = 16 << 20;
  const std::string text = io::read_text_file(file, most);
  const Json json = Json::parse(text, nullptr, false);
  const auto refuse = [&](std::string_view what) -> RequestError {
    return RequestError(fmt::format("{}: {}; write it with fabricost plan --train ... --json", file, what));
  };
  if (json.is_discarded() || !json.is_object()) throw refuse("is not JSON");
  const auto layouts = json.find("layouts");
  if (layouts == json.end() || !layouts->is_array() || layouts->empty() || !layouts->front().is_object()) throw refuse("holds no layouts");
  const auto rate = layouts->front().find("tokens_per_s_per_gpu");
  const auto gpus = json.find("gpus"), system = json.find("system"), model = json.find("model");
  if (rate == layouts->front().end() || !rate->is_number() || !(rate->get<double>() > 0))
    throw refuse("layouts[0].tokens_per_s_per_gpu is missing or no number above 0");
  if (gpus == json.end() || !gpus->is_number() || !(gpus->get<double>() >= 1)) throw refuse("gpus is missing or no number above 0");
  if (system == json.end() || !system->is_string()) throw refuse("system is missing");
  return {system->get<std::string>(), model != json.end() && model->is_string() ? model->get<std::string>() : "", gpus->get<double>(),
          rate->get<double>()};
}

[[nodiscard]] Bill meant(const CostOptions& o) {
  Bill out;
  const Planned planned = o.plan.empty() ? Planned{} : read_plan(o.plan);
  const std::string system = o.system.empty() ? planned.system : o.system;
  if (system.empty()) throw RequestError("which machine? Add --system NAME; fabricost systems lists the names");
  out.gpus = o.gpus.empty() ? planned.gpus : count_of(o.gpus, "--gpus");
  if (out.gpus < 1) throw RequestError("how many GPUs? Add --gpus, as in --gpus 16384");
  if (!o.plan.empty() && !o.gpus.empty() && std::fabs(out.gpus - planned.gpus) > 0.5)
    throw RequestError(fmt::format("--gpus {} but the plan is for {:.0f}; leave one out", o.gpus, planned.gpus));

  const int rates = !o.step_time.empty() + !o.tokens_per_gpu.empty() + !o.mfu.empty() + !o.plan.empty();
  if (rates > 1) throw RequestError("one speed is enough: --step-time, --tokens-per-s-per-gpu, --mfu or --plan");
  if (!o.step_time.empty() && (o.global_batch.empty() || o.sequence.empty()))
    throw RequestError("--step-time is for a step of known tokens: add --global-batch and --sequence");
  if (!o.global_batch.empty() && o.step_time.empty()) throw RequestError("--global-batch is that of a step: add --step-time");
  if (!o.sequence.empty() && o.step_time.empty() && o.mfu.empty())
    throw RequestError("--sequence is for a speed by --step-time or --mfu: add one of them");
  if (!o.mfu.empty() && o.model.empty()) throw RequestError("--mfu is of a model's FLOPs: add --model");
  if (!o.hours.empty() && !o.tokens.empty()) throw RequestError("--hours or --tokens: the other one follows");

  const Model model = o.model.empty() ? Model{} : load_model(o.model);  // a name that was typed must exist
  out.system = load_system(system, o.overrides, {}, KernelSets::none());
  out.prices = load_prices(o.prices.empty() ? "default" : o.prices);
  out.prices.kind = one_of<PriceKind>(o.price_kind, asked_price_kinds, "a kind of price", "--price-kind");
  const auto own = [](const std::string& text, std::string_view option, double least, double most) {
    return text.empty() ? std::nullopt : std::optional{number_from(text, option, least, most)};
  };
  override_prices(out.prices,
                  {.gpu_hour = own(o.price, "--price-gpu-hour", 1e-6, 1e6),
                   .server = own(o.server, "--price-server", 1, 1e12),
                   .electricity = own(o.electricity, "--price-kwh", 0, 10),
                   .pue = own(o.pue, "--pue", 1, 5),
                   .years = own(o.lifetime, "--years", 0.1, 50)},
                  out.system);

  const double sequence = o.sequence.empty() ? 4096 : count_of(o.sequence, "--sequence");
  if (!o.step_time.empty()) {
    const double step = duration_of(o.step_time, "--step-time");
    if (!(step > 0)) throw RequestError("--step-time: a step takes longer than 0");
    const double tokens = count_of(o.global_batch, "--global-batch") * sequence;
    out.tokens_per_second = tokens / step;
    out.rate_source = fmt::format("{:.4g} M tokens a step of {}", tokens / 1e6, duration_text(step));
  } else if (!o.tokens_per_gpu.empty()) {
    out.tokens_per_second = out.gpus * number_from(o.tokens_per_gpu, "--tokens-per-s-per-gpu", 1e-9, 1e12);
    out.rate_source = "as given";
  } else if (!o.mfu.empty()) {
    const double mfu = share_of(o.mfu, "--mfu"), flops = training_flops_per_token(model, sequence, FlopConvention::matmul, Scores::full);
    const double peak = Processor::of(out.system).peak(Precision::bf16);
    if (!(peak > 0)) throw RequestError(fmt::format("{} has no 16-bit rate in its description", out.system.gpu.name));
    if (!(mfu > 0)) throw RequestError("--mfu: give a share above 0");
    out.tokens_per_second = out.gpus * mfu * peak / flops;
    out.rate_source = fmt::format("{:.3g} % of {:.4g} TFLOP/s, {:.4g} GFLOP a token of {} at {:.0f}", 100 * mfu, peak / 1e12, flops / 1e9,
                                  model.name, sequence);
  } else if (!o.plan.empty()) {
    out.tokens_per_second = out.gpus * planned.tokens_per_gpu;
    out.rate_source = fmt::format("the fastest layout of {}", o.plan);
  }
  if (!o.goodput.empty()) out.goodput = share_of(o.goodput, "--goodput");
  if (!(out.goodput > 0)) throw RequestError("--goodput: give a share above 0");
  if (!o.share.empty()) out.share = share_of(o.share, "--share");
  if (!o.upgrade.empty()) out.upgrade = large_count_of(o.upgrade, "--upgrade");
  if (!o.hours.empty()) {
    out.seconds = hour * number_from(o.hours, "--hours", 1e-9, 1e9);
    out.tokens = out.tokens_per_second * out.goodput * out.seconds;
  } else if (!o.tokens.empty()) {
    out.tokens = large_count_of(o.tokens, "--tokens");
    if (out.tokens_per_second <= 0)
      throw RequestError(
          "how fast are those tokens? Add --step-time with --global-batch and --sequence, --tokens-per-s-per-gpu, --model with --mfu, or "
          "--plan");
    out.seconds = run_seconds(out.tokens, out.tokens_per_second, out.goodput);
  }
  return out;
}

[[nodiscard]] double usd(Dollars d) { return in(d, units::USD).value(); }
[[nodiscard]] double kwh(Joules j) { return in(j, units::kWh).value(); }

[[nodiscard]] Json money_json(const Money& m) {
  Json out;
  out["rented_usd"] = m.rent_known ? Json(usd(m.rented)) : Json(nullptr);
  out["owned_usd"] = m.owned_known() ? Json(usd(m.owned())) : Json(nullptr);
  out["servers_usd"] = m.servers_known ? Json(usd(m.servers)) : Json(nullptr);
  out["network_usd"] = usd(m.network);
  out["electricity_usd"] = m.power_known ? Json(usd(m.electricity)) : Json(nullptr);
  out["site_usd"] = m.power_known ? Json(usd(m.site)) : Json(nullptr);
  out["joules"] = m.power_known ? Json(m.energy.value()) : Json(nullptr);
  return out;
}

[[nodiscard]] Json to_json(const Bill& a) {
  const BillFigures f = figures_of(a);
  const Rent rent = rent_of(a.system, a.prices);
  Json out{{"system", a.system.name}, {"gpus", a.gpus}};
  out["prices"] = {{"file", a.prices.name},
                   {"date", a.prices.date},
                   {"gpu_hour_usd", f.hourly.rent_known ? Json(in(rent.value, units::USD_per_h).value()) : Json(nullptr)},
                   {"gpu_hour_kind", f.hourly.rent_known ? Json(name(rent.kind)) : Json(nullptr)},
                   {"gpu_hour_source", rent.provenance.source},
                   {"gpu_hour_confidence", name(rent.provenance.confidence)},
                   {"server_per_gpu_usd", f.hourly.servers_known ? Json(usd(f.server) / a.gpus) : Json(nullptr)},
                   {"server_source", server_price_of(a.system, a.prices).provenance.source},
                   {"electricity_usd_per_kwh", a.prices.electricity.value.value() * 3.6e6},
                   {"pue", a.prices.power.pue.value},
                   {"load", a.prices.power.load.value},
                   {"lifetime_years", a.prices.lifetime.value.value() / year}};
  const auto kilowatts = [&](Watts w) { return f.hourly.power_known ? Json(w.value() / 1e3) : Json(nullptr); };
  out["power"] = {
      {"rated_kW", kilowatts(f.power.rated)}, {"racks_kW", kilowatts(f.power.racks)}, {"switches_kW", kilowatts(f.power.switches)},
      {"site_kW", kilowatts(f.power.site)},   {"source", f.power.basis.source},       {"confidence", name(f.power.basis.confidence)}};
  out["capital"] = {{"servers_usd", f.hourly.servers_known ? Json(usd(f.server)) : Json(nullptr)},
                    {"network_usd", usd(f.network)},
                    {"network_share", f.hourly.servers_known ? Json(usd(f.network) / usd(f.network + f.server)) : Json(nullptr)},
                    {"network_tiers", f.net.tiers}};
  out["hour"] = money_json(f.hourly);
  const double rate = share_rate(a, f).value();
  const auto over = [&](double seconds) { return rate > 0 ? Json(rate * seconds) : Json(nullptr); };
  out["share"] = {{"share", a.share},
                  {"gpus", a.share * a.gpus},
                  {"usd_per_day", over(day)},
                  {"usd_per_30_days", over(30 * day)},
                  {"usd_per_year", over(year)}};
  if (a.upgrade > 0 && rate > 0) out["share"]["payback_days"] = a.upgrade / rate / day;
  if (a.tokens_per_second > 0) {
    out["tokens_per_s"] = a.tokens_per_second;
    out["per_million_tokens"] = money_json(money_per_million_tokens(a.system, a.gpus, a.tokens_per_second * a.goodput, a.prices));
  }
  if (a.seconds > 0) {
    out["run"] = {{"seconds", a.seconds}, {"tokens", a.tokens}, {"goodput", a.goodput}, {"gpu_hours", a.gpus * a.seconds / hour}};
    out["run"].update(money_json(money_of(a.system, a.gpus, units::s(a.seconds), a.prices)));
  }
  return out;
}

[[nodiscard]] std::string_view kind_text(PriceKind kind) {
  constexpr std::array<std::string_view, 4> words{"on demand", "reserved", "owned", "as stated"};
  return words[static_cast<std::size_t>(kind)];
}

[[nodiscard]] std::string either(bool known, Dollars d) { return known ? dollars_text(usd(d)) : "unknown"; }

void money_rows(TextTable& table, const Money& m) {
  table.row({"rented", either(m.rent_known, m.rented), m.rent_known ? "" : "no price is known; add --price-gpu-hour"});
  table.row({"or owned", either(m.owned_known(), m.owned()),
             m.owned_known()   ? fmt::format("servers {}, network {}, electricity {}, site {}", dollars_text(usd(m.servers)),
                                             dollars_text(usd(m.network)), dollars_text(usd(m.electricity)), dollars_text(usd(m.site)))
             : m.servers_known ? "no power is known"
                               : "no price of a server is known; add --price-server"});
  if (m.power_known)
    table.row({"energy", kwh(m.energy) >= 1 ? large_text(kwh(m.energy) * 1e3, "Wh") : large_text(m.energy.value(), "J"), "with cooling"});
}

[[nodiscard]] std::string text_of(const Bill& a, const Terminal& terminal) {
  const BillFigures f = figures_of(a);
  const Rent rent = rent_of(a.system, a.prices);
  std::string out = terminal.strong(fmt::format("{:.0f} GPUs of {}", a.gpus, a.system.name)) + "\n";
  TextTable machine{{{""}, {"", right}, {""}}};
  machine.row(
      {"price",
       f.hourly.rent_known ? fmt::format("{:.4g} USD a GPU-hour", in(rent.value, units::USD_per_h).value()) : std::string{"unknown"},
       f.hourly.rent_known ? fmt::format("{}, {}: {}", kind_text(rent.kind), name(rent.provenance.confidence), rent.provenance.source)
                           : ""});
  if (f.hourly.servers_known)
    machine.row({"servers", dollars_text(usd(f.server)),
                 fmt::format("{} a GPU; {}", dollars_text(usd(f.server) / a.gpus), server_price_of(a.system, a.prices).provenance.source)});
  if (f.net.tiers > 0)
    machine.row(
        {"network", dollars_text(usd(f.network)),
         fmt::format("{} tiers, {:.0f} switch ports, {:.0f} cables{}", f.net.tiers, f.net.ports, f.net.cables,
                     f.hourly.servers_known ? fmt::format("; {:.1f} % of all", 100 * usd(f.network) / usd(f.network + f.server)) : "")});
  if (f.hourly.power_known) {
    machine.row({"power, rated", large_text(f.power.rated.value(), "W"),
                 fmt::format("{}: {}", name(f.power.basis.confidence), f.power.basis.source)});
    machine.row({"power, drawn", large_text((f.power.racks + f.power.switches).value(), "W"),
                 fmt::format("{:.0f} % of the rating{}", 100 * a.prices.power.load.value,
                             f.net.tiers > 0 ? ", switches " + large_text(f.power.switches.value(), "W") : "")});
    machine.row({"power, site", large_text(f.power.site.value(), "W"), fmt::format("PUE {:.3g}", a.prices.power.pue.value)});
  } else {
    machine.row({"power", "unknown", "add it with --set, as in --set power=\"10 kW\""});
  }
  out += machine.text(2) + "\n" + terminal.strong("One hour") + "\n";
  TextTable hourly{{{""}, {"", right}, {""}}};
  money_rows(hourly, f.hourly);
  out += hourly.text(2);

  const double rate = share_rate(a, f).value();
  if (rate > 0) {
    out += "\n" + terminal.strong(fmt::format("{:.3g} % of the time", 100 * a.share)) + "\n";
    TextTable share{{{""}, {"", right}, {""}}};
    const double gpu_hour = rate * hour / (a.share * a.gpus);
    share.row({"a day", dollars_text(rate * day),
               fmt::format("{:.4g} x {:.0f} = {:.2f} GPUs x 24 h x {:.4g} USD", a.share, a.gpus, a.share * a.gpus, gpu_hour)});
    share.row({"30 days", dollars_text(rate * 30 * day), ""});
    share.row({"a year", dollars_text(rate * year), ""});
    if (a.upgrade > 0)
      share.row({"pays back", duration_text(a.upgrade / rate), fmt::format("{} saving that share", dollars_text(a.upgrade))});
    out += share.text(2);
  }
  if (a.tokens_per_second > 0) {
    out += "\n" + terminal.strong("One million tokens") + "\n";
    TextTable tokens{{{""}, {"", right}, {""}}};
    tokens.row({"tokens/s", large_text(a.tokens_per_second * a.goodput),
                a.rate_source + (a.goodput < 1 ? fmt::format(", {:.3g} % of it kept", 100 * a.goodput) : "")});
    money_rows(tokens, money_per_million_tokens(a.system, a.gpus, a.tokens_per_second * a.goodput, a.prices));
    out += tokens.text(2);
  }
  if (a.seconds > 0) {
    out += "\n" + terminal.strong(a.tokens > 0 ? large_text(a.tokens) + " tokens" : fmt::format("{:.4g} h", a.seconds / hour)) + "\n";
    TextTable run{{{""}, {"", right}, {""}}};
    run.row({"takes", duration_text(a.seconds), large_text(a.gpus * a.seconds / hour) + " GPU-hours"});
    money_rows(run, money_of(a.system, a.gpus, units::s(a.seconds), a.prices));
    out += run.text(2);
  }
  out +=
      fmt::format("\nPrices: {} of {}; they move, so put your own in (--price-gpu-hour, --prices FILE).\n", a.prices.name, a.prices.date);
  return out;
}

}  // namespace

void add_cost(CLI::App& app, Runner& runner) {
  const auto o = std::make_shared<CostOptions>();
  CLI::App& sub = *app.add_subcommand("cost", "What GPUs, tokens and training runs cost in dollars and joules");
  const auto option = [&](const char* names, std::string& into, const char* help, const char* kind) {
    sub.add_option(names, into, help)->option_text(kind);
  };
  option("--system,-s", o->system, "The machine: a name of fabricost systems, or a YAML file", "NAME");
  option("--gpus,-g", o->gpus, "How many GPUs", "N");
  option("--hours", o->hours, "A run of so many hours", "X");
  option("--tokens", o->tokens, "A run of so many tokens, as in 15T", "N");
  option("--step-time", o->step_time, "Speed: seconds of a step, with --global-batch and --sequence", "TIME");
  option("--global-batch,-b", o->global_batch, "Sequences a step", "N");
  option("--sequence,-l", o->sequence, "Tokens a sequence; default 4096 with --mfu", "N");
  option("--tokens-per-s-per-gpu", o->tokens_per_gpu, "Speed: tokens a second of one GPU", "X");
  option("--model,-m", o->model, "The model, for --mfu", "NAME");
  option("--mfu", o->mfu, "Speed: share of the 16-bit peak that a training step reaches", "X");
  option("--plan", o->plan, "Speed: what fabricost plan --json wrote, its fastest layout", "FILE");
  option("--goodput", o->goodput, "Share of the time that counts (fabricost goodput); default 1", "X");
  option("--share", o->share, "What this share of the time costs; default 1%", "X");
  option("--upgrade", o->upgrade, "USD that would save that share: when is it paid back?", "N");
  option("--price-gpu-hour", o->price, "USD for a GPU-hour; default the GPU's of --prices", "X");
  option("--price-kind", o->price_kind, "on_demand, reserved or owned; default on_demand where known, else reserved", "KIND");
  option("--price-server", o->server, "USD for a server, or a rack where that is the machine", "X");
  option("--price-kwh", o->electricity, "USD for a kWh", "X");
  option("--pue", o->pue, "Power of the site over that of racks and switches", "X");
  option("--years", o->lifetime, "Over which servers are written off", "X");
  option("--prices", o->prices, "A file of prices; it may say extends: default", "FILE");
  sub.add_option("--set", o->overrides, "Override a value of the machine")->option_text("PATH=VALUE...");
  sub.add_flag("--json", o->json, "Print JSON");
  sub.footer("Example: fabricost cost --system dgx-h100 --gpus 1024 --model llama3-70b --mfu 40% --tokens 1T");
  runner.add(sub, [o](const Terminal& terminal) {
    const Bill asked = meant(*o);
    return o->json ? printed(to_json(asked)) : text_of(asked, terminal);
  });
}

}  // namespace fabricost::cli
