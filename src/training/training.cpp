// The bodies of the headers of training, compiled once.
#include <fabricost/training/expert_load-inl.hpp>
#include <fabricost/training/explained-inl.hpp>
#include <fabricost/training/figures-inl.hpp>
#include <fabricost/training/forward-inl.hpp>
#include <fabricost/training/idle_gpus-inl.hpp>
#include <fabricost/training/layer-inl.hpp>
#include <fabricost/training/parts-inl.hpp>
#include <fabricost/training/plain-inl.hpp>
#include <fabricost/training/plan-inl.hpp>
#include <fabricost/training/question-inl.hpp>
#include <fabricost/training/search-inl.hpp>
#include <fabricost/training/search_parts-inl.hpp>
#include <fabricost/training/search_space-inl.hpp>
#include <fabricost/training/sensitivity-inl.hpp>
#include <fabricost/training/step-inl.hpp>
#include <fabricost/training/step_work-inl.hpp>
#include <fabricost/training/tensor_parallel-inl.hpp>
