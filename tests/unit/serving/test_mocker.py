"""The figures of Dynamo's simulator in mocker.csv are what it says: runs it offline on the requests and step times of every row.

    test_mocker.py TEST_SERVING

Needs `pip install --no-deps ai-dynamo ai-dynamo-runtime` with pydantic, msgspec, prometheus-client; without them it says so and is skipped.
"""
import csv
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from dynamo.replay.api import run_trace_replay
except ImportError as error:
    print(f"skipped: {error} (pip install --no-deps ai-dynamo ai-dynamo-runtime)")
    sys.exit(77)

BLOCK = 16
ROWS = list(csv.DictReader((pathlib.Path(__file__).parent / "mocker.csv").open(encoding="utf-8")))


def table_of(row, file):
    """The row's step times as the mocker reads them."""
    step, sequence, token, prompt = (1e3 * row[name] for name in ("step_s", "sequence_s", "token_s", "prompt_token_s"))
    prompts = np.array([1, 1e6])
    tokens = np.concatenate([[1], np.geomspace(16, row["cache"], 200)])
    contexts = np.concatenate([[1], np.geomspace(8, 64 * (row["isl"] + row["osl"]), 400)])
    np.savez(file, prefill_isl=prompts, prefill_ttft_ms=prompt * prompts, decode_active_kv_tokens=tokens, decode_context_length=contexts,
             decode_itl=step + sequence * tokens[:, None] / contexts + token * tokens[:, None])


def replayed(row, trace, folder):
    table = folder / "steps.npz"
    table_of(row, table)
    engine = {"num_gpu_blocks": int(row["cache"] // BLOCK), "block_size": BLOCK, "max_num_seqs": int(row["sequences"]),
              "max_num_batched_tokens": int(row["chunk"]), "enable_prefix_caching": False,
              "timing_model": {"type": "external", "provider": "dynamo_profile", "config": {"path": str(table)}}}
    report = run_trace_replay(str(trace), extra_engine_args={"engine": engine}, trace_block_size=512, capture_per_request=True)
    requests = sorted(report.per_request, key=lambda one: one["arrival_time_ms"])
    requests = requests[len(requests) // 10:]
    times = {"ttft": [one["ttft_ms"] for one in requests], "e2e": [one["e2e_latency_ms"] for one in requests],
             "tpot": [(one["last_token_ms"] - one["first_token_ms"]) / (one["output_length"] - 1)
                      for one in requests if one["output_length"] > 1]}
    return {f"{name}_{what}": 1e-3 * value for name, all_ in times.items()
            for what, value in [("mean", np.mean(all_)), *((f"p{p}", np.percentile(all_, p)) for p in (50, 90, 99))]}


def main():
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        subprocess.run([sys.argv[1], "[mocker]"], env={"FABRICOST_TRACES": path}, check=True, stdout=subprocess.DEVNULL)
        off = []
        for i, text in enumerate(ROWS):
            row = {name: float(value) for name, value in text.items()}
            off += [abs(now / row[name] - 1) for name, now in replayed(row, folder / f"{i}.jsonl", folder).items() if row[name] > 0]
    print(f"{len(ROWS)} services, {len(off)} figures, {100 * max(off):.2f} % apart at most")
    assert max(off) < 0.02, off


if __name__ == "__main__":
    main()
