// The bodies of the headers of network, compiled once.
#include <fabricost/plan/network/at_once-inl.hpp>
#include <fabricost/plan/network/balance-inl.hpp>
#include <fabricost/plan/network/concurrent-inl.hpp>
#include <fabricost/plan/network/link_names-inl.hpp>
#include <fabricost/plan/network/load_store-inl.hpp>
#include <fabricost/plan/network/rings-inl.hpp>
#include <fabricost/plan/network/routes-inl.hpp>
#include <fabricost/plan/network/sharing-inl.hpp>
#include <fabricost/plan/network/storage-inl.hpp>
#include <fabricost/plan/network/topology_of-inl.hpp>
#include <fabricost/plan/network/traffic-inl.hpp>
#include <fabricost/plan/network/traffic_exchange-inl.hpp>
#include <fabricost/plan/network/traffic_in_network-inl.hpp>
#include <fabricost/plan/network/traffic_rings-inl.hpp>
#include <fabricost/plan/network/until_end-inl.hpp>
