#pragma once
/// \file refusal.hpp
/// A request that breaks a rule, in words that name the request's fields in angle brackets: "<mfu> is of a
/// model's FLOPs: add <model>". The command, Python and C++ spell fields their own way: --mfu, mfu=, mfu.

#include <fabricost/error.hpp>

#include <string>
#include <utility>

namespace fabricost::core {

/// what() uses the fields' own names.
class Refusal : public RequestError {
 public:
  /// \param missing a required value is not given
  explicit Refusal(std::string text, bool missing = false)
      : RequestError(with_fields(text, as_member)), text_(std::move(text)), missing_(missing) {}
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] bool missing() const noexcept { return missing_; }

 private:
  std::string text_;
  bool missing_;
};

}  // namespace fabricost::core

namespace fabricost {
using core::Refusal;
}  // namespace fabricost
