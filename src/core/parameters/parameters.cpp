// The bodies of the headers of parameters, compiled once.
#include <fabricost/parameters/fitted_on-inl.hpp>
#include <fabricost/parameters/interval-inl.hpp>
#include <fabricost/parameters/related-inl.hpp>
