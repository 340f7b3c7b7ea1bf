// The bodies of the headers of choice, compiled once.
#include <fabricost/choice/candidates-inl.hpp>
#include <fabricost/choice/engine_kernels-inl.hpp>
#include <fabricost/choice/launch-inl.hpp>
#include <fabricost/choice/nccl-inl.hpp>
#include <fabricost/choice/pick-inl.hpp>
#include <fabricost/choice/plugin-inl.hpp>
