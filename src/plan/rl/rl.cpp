// The bodies of the headers of rl, compiled once.
#include <fabricost/plan/rl/plan-inl.hpp>
#include <fabricost/plan/rl/question-inl.hpp>
#include <fabricost/plan/rl/rollout-inl.hpp>
