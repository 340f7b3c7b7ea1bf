// The bodies of the headers of rl, compiled once.
#include <fabricost/rl/lengths-inl.hpp>
#include <fabricost/rl/plan-inl.hpp>
#include <fabricost/rl/question-inl.hpp>
#include <fabricost/rl/rollout-inl.hpp>
