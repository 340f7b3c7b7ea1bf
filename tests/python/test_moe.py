"""Kernels of inference engines: experts' exchange and all-reduces, as the command prices them."""
import math

import numpy as np

import fabricost as fc

V3 = dict(hidden=7168, experts=256, top_k=8)


def test_a_histogram_of_like_experts_is_uniform_and_a_skewed_one_slower():
    def time(distribution):
        return fc.predict_moe("dgx-h100", fc.MoeDispatch(4096, distribution=distribution, **V3)).seconds
    assert math.isclose(time([7.0] * 256), time("uniform"), rel_tol=0.02)
    assert time(np.arange(1, 257)[::-1]) > 1.05 * time("uniform")
    assert eval(repr(fc.MoeDispatch(64, distribution=[3] * 8, hidden=64, experts=8, top_k=2)), vars(fc)) == fc.MoeDispatch(
        64, distribution=(3.0,) * 8, hidden=64, experts=8, top_k=2)
