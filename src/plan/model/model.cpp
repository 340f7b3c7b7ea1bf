// The bodies of the headers of model, compiled once.
#include <fabricost/plan/model/dimension-inl.hpp>
#include <fabricost/plan/model/flops-inl.hpp>
#include <fabricost/plan/model/gate-inl.hpp>
#include <fabricost/plan/model/layout_check-inl.hpp>
#include <fabricost/plan/model/model-inl.hpp>
#include <fabricost/plan/model/stage_parameters-inl.hpp>
#include <fabricost/plan/model/stages-inl.hpp>
