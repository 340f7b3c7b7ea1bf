// The bodies of the headers of kernels, compiled once.
#include <fabricost/kernels/compute-inl.hpp>
#include <fabricost/kernels/fused_norm-inl.hpp>
#include <fabricost/kernels/groups-inl.hpp>
#include <fabricost/kernels/interval-inl.hpp>
#include <fabricost/kernels/moe_kernels-inl.hpp>
#include <fabricost/kernels/optimizer-inl.hpp>
#include <fabricost/kernels/stack-inl.hpp>
