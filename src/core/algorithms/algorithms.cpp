// The bodies of the headers of algorithms, compiled once.
#include <fabricost/algorithms/schedule_of-inl.hpp>
