// The bodies of the headers of pipeline, compiled once.
#include <fabricost/pipeline/fill-inl.hpp>
#include <fabricost/pipeline/orders-inl.hpp>
#include <fabricost/pipeline/pairs-inl.hpp>
#include <fabricost/pipeline/pipeline-inl.hpp>
#include <fabricost/pipeline/run-inl.hpp>
#include <fabricost/pipeline/schedule-inl.hpp>
#include <fabricost/pipeline/search-inl.hpp>
#include <fabricost/pipeline/work-inl.hpp>
