#pragma once
/// Models and stacks that a request names: a name of the catalogue, a file, or the value itself.

#include <fabricost/fields/named.hpp>
#include <fabricost/plan/kernels/stack.hpp>
#include <fabricost/plan/model/model.hpp>
#include <fabricost/plan/serving/constants.hpp>

#include <array>
#include <string>
#include <string_view>

namespace fabricost::plan {

inline constexpr std::array<std::string_view, 2> launch_names{"graph", "eager"};
[[nodiscard]] constexpr auto words_of(Launch) { return EnumWords{launch_names, "a way to launch"}; }

/// A model: a name, a file, or a Model.
struct NamedModel : NameOr<Model> {
  using NameOr<Model>::NameOr;
  /// \throws SpecError, RequestError as load_model
  [[nodiscard]] Model load() const;
};
/// A name or a file.
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, NamedModel& out);

/// A software stack of training: a name, a file, or a Stack.
struct NamedStack : NameOr<Stack> {
  using NameOr<Stack>::NameOr;
  /// \throws SpecError, RequestError as load_stack
  [[nodiscard]] Stack load() const;
};
/// A name or a file.
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, NamedStack& out);

namespace field {

template <class R>
inline constexpr auto ask_model = asks(&R::model, "model", "--model,-m", "NAME", "The model: a name from fabricost model, or a YAML file",
                                       true);

}  // namespace field

}  // namespace fabricost::plan
