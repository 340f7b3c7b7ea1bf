// The bodies of the headers of kernels, compiled once.
#include <fabricost/plan/kernels/compute-inl.hpp>
#include <fabricost/plan/kernels/groups-inl.hpp>
#include <fabricost/plan/kernels/stack-inl.hpp>
