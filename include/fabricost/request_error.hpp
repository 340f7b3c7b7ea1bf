#pragma once
/// The two errors that light headers throw; error.hpp has the others.

#include <fabricost/namespaces.hpp>

#include <stdexcept>

namespace fabricost::core {

/// Anything the caller can correct: a wrong file, a wrong number, an impossible request. The command turns it
/// into exit status 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A request the machine or the model cannot answer: an unknown system, ranks that do not divide, an
/// algorithm that does not exist for the operation.
class RequestError : public Error {
 public:
  using Error::Error;
};

}  // namespace fabricost::core

namespace fabricost {
using core::Error;
using core::RequestError;
}  // namespace fabricost
