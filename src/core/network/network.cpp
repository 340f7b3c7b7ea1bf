// The bodies of the headers of network, compiled once.
#include <fabricost/network/topology_of-inl.hpp>
#include <fabricost/network/link_names-inl.hpp>
#include <fabricost/network/rings-inl.hpp>
#include <fabricost/network/routes-inl.hpp>
#include <fabricost/network/traffic-inl.hpp>
#include <fabricost/network/traffic_exchange-inl.hpp>
#include <fabricost/network/traffic_in_network-inl.hpp>
#include <fabricost/network/traffic_rings-inl.hpp>
