#include "cli/interrupts.hpp"

namespace fabricost::cli {
namespace {

volatile std::sig_atomic_t interrupt_came = 0;
extern "C" void on_interrupt(int) { interrupt_came = 1; }

}  // namespace

Interrupts::Interrupts() {
  interrupt_came = 0;
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &interrupt_);
  sigaction(SIGTERM, &action, &terminate_);
}

Interrupts::~Interrupts() {
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
}

bool Interrupts::came() { return interrupt_came != 0; }

}  // namespace fabricost::cli
