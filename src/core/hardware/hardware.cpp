// The bodies of the headers of hardware and of those that all folders include, compiled once.
#include <fabricost/collective-inl.hpp>
#include <fabricost/error-inl.hpp>
#include <fabricost/hardware/check-inl.hpp>
#include <fabricost/hardware/constants-inl.hpp>
#include <fabricost/hardware/design_parameters-inl.hpp>
#include <fabricost/hardware/host_rate-inl.hpp>
#include <fabricost/hardware/slice-inl.hpp>
#include <fabricost/hardware/system-inl.hpp>
#include <fabricost/hardware/tier-inl.hpp>
