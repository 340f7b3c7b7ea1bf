#!/usr/bin/env python3
"""Layouts per second of Calculon (https://github.com/calculon-ai/calculon, not on PyPI): peer_calculon.py CHECKOUT [LAYOUTS] prints, last,
the number.

GPT-3 175B on 1,024 A100-80GB, 1,024 sequences a step, over layouts drawn from those of Calculon's own search that fit. Each is evaluated
as there: an execution, a new Llm, compile, run. The search also hands Llm a logging.Logger that makes a record of every debug line and
asks for all statistics: the first figure. The second, with a quiet logger and the step's time alone, is the best that can be had."""
import itertools
import json
import logging
import pathlib
import random
import sys
import time

checkout, wanted = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 500
sys.path.insert(0, str(checkout))
from calculon import System  # noqa: E402
from calculon.llm import Llm  # noqa: E402

PROCESSORS, BATCH, REPETITIONS = 1024, 1024, 5
app, system, base = (made(json.loads((checkout / path).read_text())) for made, path in [
    (Llm.Application, "models/gpt3-175B.json"), (System, "systems/a100_80g.json"), (dict, "validation/seqsel/tab5/gpt3-175B_full.json")])
quiet = logging.getLogger("quiet")
quiet.setLevel(logging.CRITICAL)


def layouts():
    for tp in Llm.get_all_tensor_parallelisms(PROCESSORS, app.hidden, app.attn_heads):
        for pp in Llm.get_all_pipeline_parallelisms(PROCESSORS, tp, app.num_blocks):
            dp = Llm.get_data_parallelism(PROCESSORS, tp, pp)
            names = ["pipeline_interleaving", "activation_recompute", "optimizer_sharding", "tensor_par_comm_type", "tensor_par_overlap",
                     "data_par_overlap", "seq_par_ag_redo", "microbatch_size"]
            for values in itertools.product(
                    Llm.get_valid_pipeline_interleavings(app.num_blocks, pp), ["full", "attn_only", "none"], {False, dp > 1},
                    ["ar", "p2p_rs_ag", "rs_ag"], ["none", "ring", "pipe"][:3 if tp > 1 else 1], {False, dp > 1}, [False, True],
                    Llm.get_valid_microbatch_sizes(app.seq_size, tp, dp, BATCH, pp)):
                one = base | dict(zip(names, values)) | {"num_procs": PROCESSORS, "batch_size": BATCH, "tensor_par": tp,
                                                         "pipeline_par": pp, "data_par": dp, "fused_activation": True}
                if not one["seq_par_ag_redo"] or Llm.can_redo_ag(one["tensor_par_comm_type"], one["activation_recompute"]):
                    yield one


def seconds(layout, as_search):
    start = time.perf_counter()
    try:
        model = Llm(app, logging.Logger("sub") if as_search else quiet)
        model.compile(system, Llm.Execution.from_json(layout))
        model.run(system)
    except Llm.Error:  # does not fit
        return None
    model.get_stats_json(False) if as_search else model.get_total_time()
    return time.perf_counter() - start


every = list(layouts())
fine = list(itertools.islice((one for one in random.Random(1).sample(every, len(every)) if seconds(one, False)), wanted))
rounds = [[(seconds(one, True), seconds(one, False)) for one in fine] for _ in range(REPETITIONS)]
rates = [len(fine) / sum(min(times[kind] for times in of_one) for of_one in zip(*rounds)) for kind in (0, 1)]
print(f"{len(fine)} layouts of {len(every)}, layouts/s as in the search {rates[0]:.1f}, quiet {rates[1]:.1f}")
