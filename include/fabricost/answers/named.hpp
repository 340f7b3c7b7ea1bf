#pragma once
/// \file named.hpp
/// Things a request names: a machine, a model, prices, a data type. Each is a name of the catalogue, a file, or the value itself.

#include <fabricost/answers/fields.hpp>
#include <fabricost/choice/choice.hpp>
#include <fabricost/collective.hpp>
#include <fabricost/economics/cost.hpp>
#include <fabricost/experts/routing.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/kernels/stack.hpp>
#include <fabricost/model/model.hpp>
#include <fabricost/serving/constants.hpp>
#include <fabricost/specs/load.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

[[nodiscard]] constexpr auto words_of(DataType) { return EnumWords{data_type_names, "a data type"}; }
[[nodiscard]] inline std::optional<DataType> parse_word(DataType, std::string_view text) { return parse_data_type(text); }
[[nodiscard]] constexpr auto words_of(Choice::Rule) { return EnumWords{rule_names, "a choice"}; }

inline constexpr std::array<std::string_view, 2> launch_names{"graph", "eager"};
[[nodiscard]] constexpr auto words_of(Launch) { return EnumWords{launch_names, "a way to launch"}; }
[[nodiscard]] constexpr auto words_of(LaunchMode) { return EnumWords{launch_mode_names, "a way to launch"}; }

/// Several counts: "2,4,8", "1:64:x2" or [2, 4, 8]; one by itself is as good.
struct Counts {
  std::vector<int> values{};
};

/// A machine: a name, a file, or a System.
struct Machine {
  std::string name;                      ///< of data/systems or data/clusters, or a YAML file; empty where `value` is set or nothing is
  std::shared_ptr<const System> value;   ///< comes before the name
  std::vector<std::string> overrides{};  ///< of the machine called `name`, as load_system takes them; `value` has them
  std::string calibration{};             ///< likewise
  [[nodiscard]] explicit operator bool() const { return value != nullptr || !name.empty(); }
  /// \param more_overrides \param other_calibration as load_system takes them \throws SpecError, RequestError as load_system
  [[nodiscard]] System load(const std::vector<std::string>& more_overrides = {}, KernelSets kernels = {},
                            std::string_view other_calibration = {}) const;
  /// The same; `value` itself where there is one.
  [[nodiscard]] std::shared_ptr<const System> get(const std::vector<std::string>& more_overrides = {}, KernelSets kernels = {},
                                                  std::string_view other_calibration = {}) const;
};

/// A model: a name, a file, or a Model.
struct NamedModel {
  std::string name;
  std::shared_ptr<const Model> value;
  [[nodiscard]] explicit operator bool() const { return value != nullptr || !name.empty(); }
  /// \throws SpecError, RequestError as load_model
  [[nodiscard]] Model load() const;
};

/// A software stack of training: a name, a file, or a Stack.
struct NamedStack {
  std::string name;
  std::shared_ptr<const Stack> value;
  [[nodiscard]] explicit operator bool() const { return value != nullptr || !name.empty(); }
  /// \throws SpecError, RequestError as load_stack
  [[nodiscard]] Stack load() const;
};

/// "balanced", "uniform", "zipf" or "zipf:1.2": how tokens choose experts; nothing for other words.
/// \param named how whoever asks names it \throws RequestError for an exponent that is none
[[nodiscard]] std::optional<Routing> routing_named(std::string_view text, std::string_view named);

}  // namespace fabricost
