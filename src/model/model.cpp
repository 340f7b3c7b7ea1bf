// The bodies of the headers of model, compiled once.
#include <fabricost/model/dimension-inl.hpp>
#include <fabricost/model/flops-inl.hpp>
#include <fabricost/model/heavy_stages-inl.hpp>
#include <fabricost/model/layout_check-inl.hpp>
#include <fabricost/model/model-inl.hpp>
#include <fabricost/model/stage_parameters-inl.hpp>
#include <fabricost/model/stages-inl.hpp>
