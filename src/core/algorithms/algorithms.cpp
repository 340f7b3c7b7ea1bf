// The bodies of the headers of algorithms, compiled once.
#include <fabricost/algorithms/binomial-inl.hpp>
#include <fabricost/algorithms/bruck-inl.hpp>
#include <fabricost/algorithms/direct-inl.hpp>
#include <fabricost/algorithms/halving_doubling-inl.hpp>
#include <fabricost/algorithms/hierarchical-inl.hpp>
#include <fabricost/algorithms/in_network-inl.hpp>
#include <fabricost/algorithms/pat-inl.hpp>
#include <fabricost/algorithms/point_to_point-inl.hpp>
#include <fabricost/algorithms/recursive_doubling-inl.hpp>
#include <fabricost/algorithms/registry-inl.hpp>
#include <fabricost/algorithms/ring-inl.hpp>
#include <fabricost/algorithms/schedule_of-inl.hpp>
#include <fabricost/algorithms/peer_memory-inl.hpp>
#include <fabricost/algorithms/torus_bucket-inl.hpp>
#include <fabricost/algorithms/tree-inl.hpp>
