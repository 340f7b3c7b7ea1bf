// The bodies of the headers of memory, compiled once.
#include <fabricost/memory/activations-inl.hpp>
#include <fabricost/memory/advice-inl.hpp>
#include <fabricost/memory/bound-inl.hpp>
#include <fabricost/memory/in_flight-inl.hpp>
#include <fabricost/memory/memory-inl.hpp>
#include <fabricost/memory/stack-inl.hpp>
#include <fabricost/memory/states-inl.hpp>
