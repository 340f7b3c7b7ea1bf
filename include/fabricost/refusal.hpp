#pragma once
/// \file refusal.hpp
/// A request that breaks a rule, in words that name the request's fields in angle brackets: "<mfu> is of a
/// model's FLOPs: add <model>". The command, Python and C++ spell fields their own way: --mfu, mfu=, mfu.

#include <fabricost/error.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace fabricost {

/// `text` with each <name> or <name=value> replaced by `spelled(name, value)`.
template <class Spelled>
[[nodiscard]] std::string with_fields(std::string_view text, Spelled&& spelled) {
  std::string out;
  while (true) {
    const std::size_t begin = text.find('<'), end = text.find('>', begin);
    if (end == std::string_view::npos) return out.append(text);
    out.append(text.substr(0, begin));
    const std::string_view inside = text.substr(begin + 1, end - begin - 1);
    const std::size_t equals = std::min(inside.find('='), inside.size());
    out += spelled(inside.substr(0, equals), inside.substr(std::min(equals + 1, inside.size())));
    text.remove_prefix(end + 1);
  }
}

namespace detail {
[[nodiscard]] inline std::string as_member(std::string_view name, std::string_view value) {
  return std::string{name} + (value.empty() ? "" : " = ") + std::string{value};
}
}  // namespace detail

/// what() uses the fields' own names.
class Refusal : public RequestError {
 public:
  /// \param missing a required value is not given
  explicit Refusal(std::string text, bool missing = false)
      : RequestError(with_fields(text, detail::as_member)), text_(std::move(text)), missing_(missing) {}
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] bool missing() const noexcept { return missing_; }

 private:
  std::string text_;
  bool missing_;
};

}  // namespace fabricost
