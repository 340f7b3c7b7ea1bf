// The bodies of the headers of serving, compiled once.
#include <fabricost/plan/serving/certainty-inl.hpp>
#include <fabricost/plan/serving/constants-inl.hpp>
#include <fabricost/plan/serving/decode-inl.hpp>
#include <fabricost/plan/serving/experts-inl.hpp>
#include <fabricost/plan/serving/kv_cache-inl.hpp>
#include <fabricost/plan/serving/machine-inl.hpp>
#include <fabricost/plan/serving/offload-inl.hpp>
#include <fabricost/plan/serving/plan-inl.hpp>
#include <fabricost/plan/serving/question-inl.hpp>
#include <fabricost/plan/serving/search-inl.hpp>
#include <fabricost/plan/serving/serving-inl.hpp>
#include <fabricost/plan/serving/workers-inl.hpp>
