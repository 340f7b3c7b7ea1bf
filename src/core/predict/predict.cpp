// The bodies of the headers of predict, compiled once.
#include <fabricost/predict/by_ways-inl.hpp>
#include <fabricost/predict/compile-inl.hpp>
#include <fabricost/predict/complete-inl.hpp>
#include <fabricost/predict/curve-inl.hpp>
#include <fabricost/predict/fabric_of-inl.hpp>
#include <fabricost/predict/predict-inl.hpp>
#include <fabricost/predict/certainty-inl.hpp>
