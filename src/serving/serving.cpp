// The bodies of the headers of serving, compiled once.
#include <fabricost/serving/certainty-inl.hpp>
#include <fabricost/serving/constants-inl.hpp>
#include <fabricost/serving/decode-inl.hpp>
#include <fabricost/serving/experts-inl.hpp>
#include <fabricost/serving/kv_cache-inl.hpp>
#include <fabricost/serving/machine-inl.hpp>
#include <fabricost/serving/offload-inl.hpp>
#include <fabricost/serving/plan-inl.hpp>
#include <fabricost/serving/question-inl.hpp>
#include <fabricost/serving/search-inl.hpp>
#include <fabricost/serving/serving-inl.hpp>
#include <fabricost/serving/workers-inl.hpp>
