#!/usr/bin/env python3
"""Layouts per second of llm-analysis (PyPI, https://github.com/cli99/llm-analysis): prints one number.

Run by performance_page.py with the interpreter of an environment that has the package. The question is a step of BLOOM-175B on A100-80GB,
over tensor, pipeline and data parallelism and microbatch; layouts that it refuses are not counted. The best of five rounds."""
import itertools
import logging
import time

from llm_analysis import config
from llm_analysis.analysis import LLMAnalysis
from llm_analysis.logger import logger


def main():
    logger.setLevel(logging.CRITICAL)
    model = config.get_model_config_by_name("bloom-175b")
    model.max_seq_len = 2048  # missing in its file
    gpu = config.get_gpu_config_by_name("a100-sxm-80gb")
    width = config.get_dtype_config_by_name("w16a16e16")
    layouts = list(itertools.product((1, 2, 4, 8), (1, 2, 5, 7, 10, 14, 35), (8, 16, 32), (1, 2, 4)))

    def priced(tensor, pipeline, data, microbatch):
        plan = config.ParallelismConfig(tp_size=tensor, pp_size=pipeline, dp_size=data)
        try:
            LLMAnalysis(model, gpu, width, plan, flops_efficiency=0.5).training(
                batch_size_per_gpu=microbatch, gradient_accumulation_steps=8, total_num_tokens=1e9)
        except AssertionError:  # does not fit, or does not divide
            return False
        return True

    fine = [layout for layout in layouts if priced(*layout)]
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for layout in fine:
            priced(*layout)
        best = min(best, time.perf_counter() - start)
    print(len(fine) / best)


if __name__ == "__main__":
    main()
