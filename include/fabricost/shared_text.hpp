#pragma once
/// Text shared by many values, such as the name of the machine a million points were measured on: copies
/// share one string, so a copy costs a pointer. It reads like a std::string and is only replaced as a whole.

#include <fabricost/namespaces.hpp>

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace fabricost::core {

class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text)  // NOLINT(google-explicit-constructor): a name is a name
      : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  SharedText(std::string_view text) : SharedText(std::string{text}) {}  // NOLINT(google-explicit-constructor)
  SharedText(const char* text) : SharedText(std::string{text}) {}       // NOLINT(google-explicit-constructor)

  /// The text; the reference holds as long as any copy of this value does.
  [[nodiscard]] const std::string& str() const {
    static const std::string none;
    return text_ ? *text_ : none;
  }
  operator const std::string&() const { return str(); }  // NOLINT(google-explicit-constructor)
  operator std::string_view() const { return str(); }    // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool empty() const { return !text_; }
  [[nodiscard]] std::size_t size() const { return str().size(); }
  void clear() { text_.reset(); }

  friend bool operator==(const SharedText& a, const SharedText& b) { return a.text_ == b.text_ || a.str() == b.str(); }
  friend bool operator==(const SharedText& a, const std::string& b) { return a.str() == b; }
  friend bool operator==(const SharedText& a, const char* b) { return a.str() == b; }
  friend bool operator<(const SharedText& a, const SharedText& b) { return a.text_ != b.text_ && a.str() < b.str(); }
  friend std::string operator+(const SharedText& a, const std::string& b) { return a.str() + b; }
  friend std::string operator+(const std::string& a, const SharedText& b) { return a + b.str(); }
  friend std::string operator+(const SharedText& a, const char* b) { return a.str() + b; }
  friend std::string operator+(const char* a, const SharedText& b) { return a + b.str(); }
  friend std::ostream& operator<<(std::ostream& out, const SharedText& text) { return out << text.str(); }

 private:
  std::shared_ptr<const std::string> text_;  ///< null for empty text
};

}  // namespace fabricost::core
