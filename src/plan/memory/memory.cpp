// The bodies of the headers of memory, compiled once.
#include <fabricost/plan/memory/activations-inl.hpp>
#include <fabricost/plan/memory/advice-inl.hpp>
#include <fabricost/plan/memory/memory-inl.hpp>
#include <fabricost/plan/memory/stack-inl.hpp>
#include <fabricost/plan/memory/states-inl.hpp>
