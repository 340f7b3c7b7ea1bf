#pragma once
/// A machine as an SVG picture: one node's GPUs, below them their scale-up links, PCIe, NICs and network
/// above, with the one-way rate of every link. With a prediction, each tier is coloured by its share of the
/// time and shows how busy its wires are.

#include <fabricost/compiled_part.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/predict/prediction.hpp>

#include <string>
#include <string_view>

namespace fabricost::core {

/// A standalone SVG 1.1 document in UTF-8, 1000 units wide; no scripts, nothing loaded from elsewhere. A
/// tier's load is the sum of its terms over the predicted time; launches count for the GPUs.
/// \param prediction of this system; nullptr: no loads \param question the request, as a line of text
[[nodiscard]] std::string picture(const System& system, const Prediction* prediction = nullptr, const std::string& question = {});

/// Assumed width of a text in that font size, in the same units: 0.6 em per character, more than Helvetica,
/// Arial or DejaVu Sans need on average.
[[nodiscard]] double picture_text_width(std::string_view text, double size);

}  // namespace fabricost::core
