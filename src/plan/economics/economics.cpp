// The bodies of the headers of economics, compiled once.
#include <fabricost/plan/economics/bill-inl.hpp>
#include <fabricost/plan/economics/compare-inl.hpp>
#include <fabricost/plan/economics/cost-inl.hpp>
#include <fabricost/plan/economics/days-inl.hpp>
#include <fabricost/plan/economics/network-inl.hpp>
#include <fabricost/plan/economics/power-inl.hpp>
#include <fabricost/plan/economics/reliability-inl.hpp>
#include <fabricost/plan/economics/stragglers-inl.hpp>
#include <fabricost/plan/economics/terms-inl.hpp>
