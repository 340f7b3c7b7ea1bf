#pragma once
/// The few SVG shapes a picture needs, written as text.

#include <fabricost/namespaces.hpp>

#include <string>
#include <string_view>

namespace fabricost::core {

class Svg {
 public:
  enum class Anchor : unsigned char { start, middle, end };

  /// Three layers, drawn in this order: panels; lines and arcs; boxes and text.
  void panel(double x, double y, double width, double height, std::string_view fill, std::string_view stroke, double radius = 6);
  void box(double x, double y, double width, double height, std::string_view fill, std::string_view stroke, double radius = 4);
  void line(double x1, double y1, double x2, double y2, std::string_view stroke, double width, double opacity = 1);
  /// An arc that hangs from two points of equal height.
  void arc(double x1, double x2, double y, double depth, std::string_view stroke, double width);
  /// \param room the text is cut to it, with three dots; 0: not cut
  void text(double x, double y, std::string_view content, double size, Anchor anchor = Anchor::start, bool bold = false, double room = 0,
            std::string_view fill = "#1b2733");

  /// The whole document.
  [[nodiscard]] std::string document(double width, double height, std::string_view title) const;

 private:
  std::string panels_, lines_, body_;
};

/// For text and attributes of XML: &, <, >, quotes escaped; characters that XML 1.0 forbids replaced.
[[nodiscard]] std::string xml_escaped(std::string_view text);

}  // namespace fabricost::core
