/// Machines side by side: one wide panel of stacked times, three narrow ones of cost, energy and power.

#include "pictures/svg.hpp"
#include "text/term_words.hpp"

#include <fabricost/plan/pictures/compare.hpp>
#include <fabricost/pictures/picture.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace fabricost::plan {
namespace {

using Anchor = Svg::Anchor;

constexpr double picture_width = 980, margin = 24, names = 130, right_labels = 190, row = 44, bar = 20;
constexpr std::string_view ink = "#1b2733", faint = "#5b6875", grid = "#d5dbe1";

/// Okabe and Ito's colours without black, distinguishable with any colour vision (as in B. Wong, Nature
/// Methods 8:441, 2011; first on jfly.uni-koeln.de/color); grey for the rest.
constexpr std::array<std::string_view, 7> palette{"#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#0072B2", "#D55E00"};
constexpr std::string_view rest_colour = "#999999";

/// A step of 1, 2 or 5 times a power of ten that divides `top` into at most `max` parts.
[[nodiscard]] double tick_step(double top, int max) {
  const double min = top / max, power = std::pow(10, std::floor(std::log10(min)));
  for (const double times : {1.0, 2.0, 5.0})
    if (times * power >= min * (1 - 1e-12)) return times * power;
  return 10 * power;
}

/// Maps values to positions, with ticks and the unit below.
class Axis {
 public:
  Axis(double left, double length, double largest, int ticks) : left_(left), step_(tick_step(largest > 0 ? largest : 1, ticks)) {
    top_ = step_ * std::ceil((largest > 0 ? largest : 1) / step_ - 1e-9);
    scale_ = length / top_;
  }

  [[nodiscard]] double at(double value) const { return left_ + value * scale_; }
  void draw(Svg& out, double from, double to, std::string_view label) const {
    for (int i = 0; i * step_ <= top_ * (1 + 1e-9); ++i) {
      const double x = at(i * step_);
      out.line(x, from, x, to, grid, 1);
      out.text(x, to + 15, fmt::format("{:g}", i * step_), 11, Anchor::middle, false, 0, faint);
    }
    out.text((at(0) + at(top_)) / 2, to + 32, label, 12, Anchor::middle, false, at(top_) - at(0) + 20, ink);
  }

 private:
  double left_, step_, top_ = 1, scale_ = 1;
};

/// A term's name with its seconds per machine.
struct Layer {
  std::string words;
  std::vector<double> seconds;
  [[nodiscard]] double max(std::span<const Compared> all) const {
    double out = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].seconds > 0) out = std::max(out, seconds[i] / all[i].seconds);
    return out;
  }
};

/// Negative terms (hidden behind other work) are subtracted from the largest, so that bars sum to the time.
[[nodiscard]] std::vector<StepTerm> positive(std::vector<StepTerm> terms) {
  double owed = 0;
  for (StepTerm& t : terms)
    if (t.seconds() < 0) owed -= t.seconds(), t.time = {};
  while (owed > 0) {
    const auto largest = std::max_element(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
    if (largest == terms.end() || largest->seconds() <= 0) break;
    const double taken = std::min(owed, largest->seconds());
    largest->time -= units::s(taken);
    owed -= taken;
  }
  return terms;
}

/// Terms in the order in which they are spent; the smallest are merged if there are more than colours, as are
/// those below half a per cent.
[[nodiscard]] std::vector<Layer> layers_of(std::span<const Compared> all) {
  std::vector<Layer> layers;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const StepTerm& term : positive(all[i].terms)) {
      const std::string words{term_words(term.name)};
      auto at = std::find_if(layers.begin(), layers.end(), [&](const Layer& l) { return l.words == words; });
      if (at == layers.end()) at = layers.insert(layers.end(), {words, std::vector<double>(all.size())});
      at->seconds[i] += term.seconds();
    }
  std::vector<double> shares;
  for (const Layer& l : layers) shares.push_back(l.max(all));
  std::sort(shares.begin(), shares.end(), std::greater<>{});
  const double min = std::max(0.005, shares.size() > palette.size() ? shares[palette.size() - 1] : 0.0);
  std::vector<Layer> out;
  Layer rest{"the rest", std::vector<double>(all.size())};
  for (Layer& l : layers) {
    if (l.max(all) >= min && out.size() < palette.size()) {
      out.push_back(std::move(l));
      continue;
    }
    for (std::size_t i = 0; i < all.size(); ++i) rest.seconds[i] += l.seconds[i];
  }
  if (rest.max(all) > 0) out.push_back(std::move(rest));
  return out;
}

[[nodiscard]] std::string_view colour(const std::vector<Layer>& layers, std::size_t i) {
  return layers[i].words == "the rest" ? rest_colour : palette[i];
}

/// Boxes with their words, as many per line as fit. \return the height used
double draw_legend(Svg& out, const std::vector<Layer>& layers, double top) {
  double x = margin + names, y = top;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const double room = 18 + picture_text_width(layers[i].words, 12) + 22;
    if (x + room > picture_width - margin && x > margin + names) {
      x = margin + names;
      y += 20;
    }
    out.box(x, y - 10, 12, 12, colour(layers, i), ink, 0);
    out.text(x + 18, y, layers[i].words, 12);
    x += room;
  }
  return y - top + 20;
}

/// The wide panel. \return the y below it
double draw_times(Svg& out, std::span<const Compared> all, double top) {
  const bool training = std::any_of(all.begin(), all.end(), [](const Compared& c) { return c.training.has_value(); });
  const double unit = training ? 1 : 1e-3;
  double largest = 0;
  for (const Compared& c : all) largest = std::max(largest, c.high / unit);
  const Axis axis(margin + names, picture_width - 2 * margin - names - right_labels, largest, 8);
  out.text(margin, top, training ? "Time of a step, and what it is spent on" : "Time of a token of an answer, and what it is spent on", 14,
           Anchor::start, true);
  const std::vector<Layer> layers = layers_of(all);
  double y = top + 24;
  y += draw_legend(out, layers, y);
  const double first = y;
  for (std::size_t i = 0; i < all.size(); ++i, y += row) {
    const Compared& c = all[i];
    out.text(margin + names - 10, y + 17, c.system, 13, Anchor::end, false, names - 10);
    if (!c.trouble.empty()) {
      out.text(axis.at(0) + 6, y + 17, with_fields(c.trouble, as_member), 12, Anchor::start, false, picture_width - margin - axis.at(0) - 6,
               faint);
      continue;
    }
    double from = 0;
    for (std::size_t k = 0; k < layers.size(); ++k) {
      const double to = from + layers[k].seconds[i] / unit;
      if (to > from) out.box(axis.at(from), y + 3, axis.at(to) - axis.at(from), bar, colour(layers, k), ink, 0);
      from = to;
    }
    // the interval is drawn below the bar, which would hide it
    const double low = axis.at(c.low / unit), high = axis.at(c.high / unit), at = y + bar + 9;
    out.line(low, at, high, at, ink, 2);
    for (const double x : {low, high}) out.line(x, at - 4, x, at + 4, ink, 2);
    out.text(picture_width - margin, y + 17,
             fmt::format("{:.3g} {} ({:.3g} to {:.3g})", c.seconds / unit, training ? "s" : "ms", c.low / unit, c.high / unit), 12,
             Anchor::end);
  }
  axis.draw(out, first, y,
            training ? "seconds a step; the line below a bar: nine of ten runs fall inside"
                     : "milliseconds a token; the line below a bar: nine of ten runs fall inside");
  return y + 44;
}

struct Panel {
  std::string_view title, unit;
  double (*value)(const Compared&);  ///< negative: not known
};

/// One narrow panel; only the leftmost shows the names of the machines.
void draw_panel(Svg& out, std::span<const Compared> all, const Panel& panel, double left, double length, double top) {
  constexpr double numbers = 62;
  double largest = 0;
  for (const Compared& c : all)
    if (c.trouble.empty()) largest = std::max(largest, panel.value(c));
  const Axis axis(left, length - numbers, largest, 4);
  out.text(left, top, panel.title, 14, Anchor::start, true, length);
  double y = top + 16;
  const double first = y;
  for (const Compared& c : all) {
    if (c.trouble.empty()) {
      const double value = panel.value(c);
      if (value > 0) out.box(axis.at(0), y + 6, axis.at(value) - axis.at(0), bar, palette[0], ink, 0);
      out.text(left + length, y + 20, value < 0 ? "not known" : fmt::format("{:.3g}", value), 12, Anchor::end, false, numbers);
    }
    y += row - 12;
  }
  axis.draw(out, first, y, panel.unit);
}

}  // namespace

std::string comparison_svg(std::span<const Compared> all, std::string_view title) {
  if (all.empty()) throw RequestError("a picture of no machine cannot be drawn");
  constexpr std::array<Panel, 3> panels{
      {{"Money", "USD per million tokens", [](const Compared& c) { return c.dollars.value_or(-1); }},
       {"Energy", "joules per token", [](const Compared& c) { return c.joules ? *c.joules * 1e-6 : -1; }},
       {"Power of the site", "megawatts, with cooling", [](const Compared& c) { return c.joules ? c.megawatts : -1; }}}};
  Svg out;
  out.text(margin, 34, title, 17, Anchor::start, true, picture_width - 2 * margin);
  double y = draw_times(out, all, 66) + 28;
  const double gap = 34, length = (picture_width - 2 * margin - names - 2 * gap) / 3;
  double below = y + 16;
  for (const Compared& c : all) {
    out.text(margin + names - 10, below + 20, c.system, 13, Anchor::end, false, names - 10);
    below += row - 12;
  }
  for (std::size_t i = 0; i < panels.size(); ++i)
    draw_panel(out, all, panels[i], margin + names + static_cast<double>(i) * (length + gap), length, y);
  return out.document(picture_width, below + 32 + margin, title);
}

}  // namespace fabricost::plan
