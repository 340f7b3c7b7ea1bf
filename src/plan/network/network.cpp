// The bodies of the headers of network, compiled once.
#include <fabricost/plan/network/at_once-inl.hpp>
#include <fabricost/plan/network/balance-inl.hpp>
#include <fabricost/plan/network/concurrent-inl.hpp>
#include <fabricost/plan/network/load_store-inl.hpp>
#include <fabricost/plan/network/sharing-inl.hpp>
#include <fabricost/plan/network/storage-inl.hpp>
#include <fabricost/plan/network/until_end-inl.hpp>
