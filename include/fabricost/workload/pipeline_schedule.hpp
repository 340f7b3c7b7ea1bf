#pragma once
/// \file pipeline_schedule.hpp
/// placeholder of the branch that brings the schedules
namespace fabricost {
enum class PipelineSchedule : unsigned char { none, gpipe, one_f_one_b, interleaved, zb_h1, zb_h2, zb_1p, zb_2p, zb_v, v_half, v_min, dualpipe, dualpipe_v };
}
