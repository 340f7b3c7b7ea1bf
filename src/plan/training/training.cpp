// The bodies of the headers of training, compiled once.
#include <fabricost/plan/training/figures-inl.hpp>
#include <fabricost/plan/training/idle_gpus-inl.hpp>
#include <fabricost/plan/training/layer-inl.hpp>
#include <fabricost/plan/training/parts-inl.hpp>
#include <fabricost/plan/training/plan-inl.hpp>
#include <fabricost/plan/training/question-inl.hpp>
#include <fabricost/plan/training/recommender-inl.hpp>
#include <fabricost/plan/training/search-inl.hpp>
#include <fabricost/plan/training/search_space-inl.hpp>
#include <fabricost/plan/training/sites-inl.hpp>
#include <fabricost/plan/training/step-inl.hpp>
#include <fabricost/plan/training/tensor_parallel-inl.hpp>
