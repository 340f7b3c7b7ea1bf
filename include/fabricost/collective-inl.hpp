#pragma once
/// Bodies of collective.hpp.

#include <fabricost/collective.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core {

FABRICOST_BODY std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '-' && c != '_' && c != ' ') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

FABRICOST_BODY std::optional<std::size_t> place_among(const std::string_view* names, std::size_t count, std::string_view text) {
  const std::string wanted = folded(text);
  for (std::size_t i = 0; i < count; ++i)
    if (folded(names[i]) == wanted) return i;
  return std::nullopt;
}

FABRICOST_BODY std::optional<DataType> parse_data_type(std::string_view text) {
  const std::string t = folded(text);
  if (t == "fp16" || t == "float16" || t == "f16") return DataType::half;
  if (t == "bf16") return DataType::bfloat16;
  if (t == "fp32" || t == "float32" || t == "f32" || t == "int32" || t == "uint32" || t == "int") return DataType::single;
  if (t == "fp64" || t == "float64" || t == "int64" || t == "uint64") return DataType::double_precision;
  if (t == "uint8" || t == "char") return DataType::int8;
  if (t == "f8e4m3" || t == "f8e5m2" || t == "fp8e4m3" || t == "fp8e5m2") return DataType::fp8;
  return parse_enum<DataType>(text, data_type_names);
}

}  // namespace fabricost::core
