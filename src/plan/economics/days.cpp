#include <fabricost/plan/economics/days.hpp>

namespace fabricost::plan {

std::optional<Day> parse_day(std::string_view text) {
  using namespace std::chrono;
  const auto number = [](std::string_view part) {
    int out = -1;
    const auto [end, fault] = std::from_chars(part.data(), part.data() + part.size(), out);
    return fault == std::errc{} && end == part.data() + part.size() && part.front() != '-' ? out : -1;
  };
  if (text.size() < 7 || text[4] != '-') return std::nullopt;
  const int y = number(text.substr(0, 4));
  if (y < 2000 || y > 2199) return std::nullopt;
  const std::string_view rest = text.substr(5);
  const auto last_of = [&](int m) { return Day{year{y} / m / last}; };
  if (rest.size() == 2 && (rest[0] == 'Q' || rest[0] == 'q')) {
    const int quarter = number(rest.substr(1));
    return quarter >= 1 && quarter <= 4 ? std::optional{last_of(3 * quarter)} : std::nullopt;
  }
  const int m = number(rest.substr(0, 2));
  if (m < 1 || m > 12) return std::nullopt;
  if (rest.size() == 2) return last_of(m);
  if (rest.size() != 5 || rest[2] != '-') return std::nullopt;
  const year_month_day day{year{y}, month{static_cast<unsigned>(m)},
                           std::chrono::day{static_cast<unsigned>(std::max(0, number(rest.substr(3))))}};
  return day.ok() ? std::optional{Day{day}} : std::nullopt;
}

std::string day_text(Day when) {
  const std::chrono::year_month_day day{when};
  const auto two = [](unsigned x) { return std::string{x < 10 ? "0" : ""} + std::to_string(x); };
  return std::to_string(static_cast<int>(day.year())) + "-" + two(static_cast<unsigned>(day.month())) + "-" +
         two(static_cast<unsigned>(day.day()));
}

Day after(Day start, double seconds) {
  constexpr double longest = 365'250;  // a thousand years
  const double days = seconds / day_seconds;
  return start + std::chrono::days{static_cast<int>(std::min(days, longest))};
}

}  // namespace fabricost::plan
