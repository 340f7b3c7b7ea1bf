// The bodies of the headers of economics, compiled once.
#include <fabricost/economics/bill-inl.hpp>
#include <fabricost/economics/compare-inl.hpp>
#include <fabricost/economics/cost-inl.hpp>
#include <fabricost/economics/days-inl.hpp>
#include <fabricost/economics/network-inl.hpp>
#include <fabricost/economics/paid-inl.hpp>
#include <fabricost/economics/power-inl.hpp>
#include <fabricost/economics/reliability-inl.hpp>
#include <fabricost/economics/stragglers-inl.hpp>
#include <fabricost/economics/terms-inl.hpp>
