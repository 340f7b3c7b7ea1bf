/// "elapsed time per iteration (ms): 12699.3" of Megatron-LM, "CurrSamplesPerSec=4.58" and "SamplesPerSec=83.5" of DeepSpeed,
/// "Speed: 2015.42 samples/sec", "3.169 sec/step", "completed step: 7, seconds: 3.125" of MaxText, "train_step_timing in s: 5.1" of NeMo,
/// "timing_s/step:41.2" of verl, "Iteration took 32.709 s"; Primus writes as Megatron-LM does: one table of forms. A rate counts as the time of one of its units.
/// Meters of PyTorch's examples, torchvision, timm and OpenMMLab say beside the time of a step how long it waited for data.
/// Sources: the logs that https://github.com/epfLLM/Megatron-LLM/issues/11, https://github.com/deepspeedai/DeepSpeedExamples/issues/381,
/// https://github.com/kubeflow/kubeflow/issues/68, https://github.com/rwth-i6/returnn/issues/1485,
/// https://github.com/pytorch/examples/issues/164 and https://github.com/soumith/imagenet-multiGPU.torch/issues/24 quote.

#include "readings/step_times.hpp"

#include "readings/logs/line_fields.hpp"
#include "readings/logs/literals.hpp"
#include "readings/logs/log_text.hpp"
#include "text/line_reader.hpp"
#include "text/plain_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace fabricost::observe {

namespace {

/// Where the number stands beside the mark, and what it is.
struct Form {
  std::string_view mark;
  bool before;  ///< the number stands before the mark
  double unit;  ///< seconds of a time; 0: a rate
};
constexpr std::array<Form, 10> forms{{{"elapsed time per iteration (ms): ", false, 1e-3},
                                     {"elapsed time per iteration (s): ", false, 1},
                                     {"CurrSamplesPerSec=", false, 0},
                                     {" SamplesPerSec=", false, 0},
                                     {" samples/sec", true, 0},
                                     {" sec/step", true, 1},
                                     {", seconds: ", false, 1},
                                     {"train_step_timing in s: ", false, 1},
                                     {"timing_s/step:", false, 1},
                                     {"teration took ", false, 1}}};

/// What announces the wait for data of a step, and the time of the step.
struct Meters {
  std::string_view data, step;
};
constexpr std::array<Meters, 5> meters{
    {{"\tData ", "Time "}, {" data: ", " time: "}, {" data_time: ", " time: "}, {" Data: ", " Time: "}, {" DataLoadingTime ", "Time "}}};

/// The digits and points that end at `end`.
double real_before(std::string_view line, std::size_t end) {
  std::size_t first = end;
  while (first > 0 && (is_digit(line[first - 1]) || line[first - 1] == '.')) --first;
  return real_at(line.substr(first, end - first));
}

/// "41 ms": whether the number that the text begins with counts thousandths.
bool in_thousandths(std::string_view text) {
  const auto end = text.find_first_not_of("0123456789. ");
  return end != std::string_view::npos && text.substr(end).starts_with("ms");
}

double seconds_in(std::string_view line, const Form& form) {
  const auto at = line.find(form.mark);
  if (at == std::string_view::npos) return 0;
  const double value = form.before ? real_before(line, at) : real_at(line.substr(at + form.mark.size()));
  const bool thousandth = !form.before && form.unit == 1 && in_thousandths(line.substr(at + form.mark.size()));
  const double seconds = form.unit > 0 ? value * form.unit * (thousandth ? 1e-3 : 1) : 1 / value;
  return value > 0 && std::isfinite(seconds) ? seconds : 0;
}

/// A wait that is longer than the step is not within it.
StepTime metered(std::string_view line, const Meters& said) {
  const std::string_view data = after(line, said.data);
  const double step = real_at(after(line, said.step)), waited = real_at(data);
  if (data.empty() || !(step > 0) || waited < 0) return {};
  return {waited > step ? step + waited : step, waited, {}};
}

}  // namespace

std::vector<StepTime> read_step_times(const std::filesystem::path& file) {
  constexpr std::size_t most = 65536, longest_quote = 200;
  std::array<std::vector<StepTime>, forms.size() + meters.size()> found;
  static const LiteralFilter marks = [] {
    LiteralFilter out;
    for (const Form& form : forms) out.add(form.mark);
    for (const Meters& said : meters) out.add(said.data);
    return out;
  }();
  LineReader lines(file);
  for (std::string line; lines.next(line);) {
    if (line.starts_with(file_mark) || !marks.may_hold(line)) continue;
    for (std::size_t i = 0; i < found.size(); ++i) {
      StepTime one = i < forms.size() ? StepTime{seconds_in(line, forms[i]), 0, {}} : metered(line, meters[i - forms.size()]);
      if (!(one.seconds > 0)) continue;
      one.line = {lines.number(), plain_text(line.substr(0, longest_quote)), {}};
      if (found[i].size() < most) found[i].push_back(std::move(one));
      break;
    }
  }
  return *std::max_element(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
}

}  // namespace fabricost::observe
