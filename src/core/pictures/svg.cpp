/// Shapes as SVG elements.

#include "pictures/svg.hpp"

#include "text/text_table.hpp"

#include <fabricost/pictures/picture.hpp>

#include <fmt/format.h>

namespace fabricost::core {

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&apos;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

namespace {

/// The first characters that fit, and three dots.
[[nodiscard]] std::string cut_to(std::string_view text, double size, double room) {
  if (room <= 0 || picture_text_width(text, size) <= room) return std::string{text};
  std::string out{text};
  while (!out.empty() && picture_text_width(out + "...", size) > room) {
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0U) == 0x80U) out.pop_back();  // whole characters
    if (!out.empty()) out.pop_back();
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == ',')) out.pop_back();
  return out + "...";
}

}  // namespace

namespace {

[[nodiscard]] std::string rectangle(double x, double y, double width, double height, std::string_view fill, std::string_view stroke,
                                    double radius) {
  return fmt::format("  <rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{:.1f}\" fill=\"{}\" stroke=\"{}\"/>\n", x,
                     y, width, height, radius, fill, stroke);
}

}  // namespace

void Svg::panel(double x, double y, double width, double height, std::string_view fill, std::string_view stroke, double radius) {
  panels_ += rectangle(x, y, width, height, fill, stroke, radius);
}

void Svg::box(double x, double y, double width, double height, std::string_view fill, std::string_view stroke, double radius) {
  body_ += rectangle(x, y, width, height, fill, stroke, radius);
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view stroke, double width, double opacity) {
  lines_ += fmt::format(
      "  <line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"{:.2f}\" stroke-opacity=\"{:.2f}\"/>\n",
      x1, y1, x2, y2, stroke, width, opacity);
}

void Svg::arc(double x1, double x2, double y, double depth, std::string_view stroke, double width) {
  // a cubic whose control points lie 4/3 of the depth below its ends reaches the depth in its middle
  lines_ += fmt::format(
      "  <path d=\"M {0:.1f} {2:.1f} C {0:.1f} {3:.1f}, {1:.1f} {3:.1f}, {1:.1f} {2:.1f}\" fill=\"none\" stroke=\"{4}\" "
      "stroke-width=\"{5:.2f}\"/>\n",
      x1, x2, y, y + depth * 4 / 3, stroke, width);
}

void Svg::text(double x, double y, std::string_view content, double size, Anchor anchor, bool bold, double room, std::string_view fill) {
  const std::string shown = cut_to(content, size, room);
  if (shown.empty()) return;
  const char* at = anchor == Anchor::start ? "start" : anchor == Anchor::middle ? "middle" : "end";
  body_ += fmt::format("  <text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\" text-anchor=\"{}\" fill=\"{}\"{}>{}</text>\n", x, y, size, at,
                       fill, bold ? " font-weight=\"bold\"" : "", xml_escaped(shown));
}

std::string Svg::document(double width, double height, std::string_view title) const {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\"\n"
      "     font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n"
      "  <title>{2}</title>\n"
      "  <rect x=\"0\" y=\"0\" width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#ffffff\"/>\n{3}</svg>\n",
      width, height, xml_escaped(title), panels_ + lines_ + body_);
}

}  // namespace fabricost::core

namespace fabricost::core {

double picture_text_width(std::string_view text, double size) { return 0.6 * size * static_cast<double>(shown_width(text)); }

}  // namespace fabricost::core
