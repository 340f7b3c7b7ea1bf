// The bodies of the headers of price, compiled once.
#include <fabricost/price/channels-inl.hpp>
#include <fabricost/price/custom_reduce-inl.hpp>
#include <fabricost/price/exchange-inl.hpp>
#include <fabricost/price/generic-inl.hpp>
#include <fabricost/price/in_switch-inl.hpp>
#include <fabricost/price/internode-inl.hpp>
#include <fabricost/price/lower_bound-inl.hpp>
#include <fabricost/price/moe-inl.hpp>
#include <fabricost/price/pcie-inl.hpp>
#include <fabricost/price/price-inl.hpp>
#include <fabricost/price/ring-inl.hpp>
#include <fabricost/price/symmetric-inl.hpp>
#include <fabricost/price/terms-inl.hpp>
