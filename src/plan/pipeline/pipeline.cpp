// The bodies of the headers of pipeline, compiled once.
#include <fabricost/plan/pipeline/fill-inl.hpp>
#include <fabricost/plan/pipeline/orders-inl.hpp>
#include <fabricost/plan/pipeline/pipeline-inl.hpp>
#include <fabricost/plan/pipeline/run-inl.hpp>
#include <fabricost/plan/pipeline/schedule-inl.hpp>
#include <fabricost/plan/pipeline/search-inl.hpp>
#include <fabricost/plan/pipeline/work-inl.hpp>
