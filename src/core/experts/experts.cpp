// The bodies of the headers of experts, compiled once.
#include <fabricost/experts/expert_exchange-inl.hpp>
#include <fabricost/experts/imbalance-inl.hpp>
#include <fabricost/experts/moe_kernels-inl.hpp>
#include <fabricost/experts/routing-inl.hpp>
