#pragma once
/// \file traffic_in_network.hpp
/// Collectives reduced or multicast in switches: every link carries a part once, for all ranks below it.
///
///   nvls             each GPU its part into the switches of the domain and the result back; of two stages the first adds up before the
///                    trunk
///   collnet_direct   inside, all ranks to all; rank i of every domain then has the i-th part, which its NIC hands the network's
///                    switches (SHARP) and takes back reduced
///   collnet_chain    inside, a chain that ends at the GPU whose NIC hands the part over; one chain for each NIC
///
/// In the network a part is a tree: the switches below one child of a tier add the data from below, so one
/// copy goes up and one comes down, as far as the part's ranks reach. all_reduce moves a part up and down;
/// reduce_scatter moves all parts up and only each domain's own down, all_gather the reverse. Between the
/// groups of a dragonfly with minimal routes the first group is the root.

#include <fabricost/network/traffic_counter.hpp>

#include <bit>
#include <utility>

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/network/traffic_in_network-inl.hpp>
#endif
