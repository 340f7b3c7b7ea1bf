#!/usr/bin/env python3
"""Traces as PyTorch's profiler writes them, of jobs whose truth is known: Job gives every rank's calls their starts and the common end,
adds what is planted (a late rank, a slow link, a burst in one launch, clocks apart) and writes one file a rank."""

import gzip
import json
import pathlib
import random


class Job:
    def __init__(self, world, groups, seed=1, gpu="NVIDIA H100 80GB HBM3", year=2024):
        """groups: {name: (description, [ranks])}"""
        self.world, self.groups, self.gpu, self.year = world, groups, gpu, year
        self.random = random.Random(seed)
        self.events = [[] for _ in range(world)]
        self.at = [0.0] * world  # us, when the rank's GPU is next free
        self.number, self.sequence = [100] * world, {}
        self.truth = []
        self.clock = [0.0] * world  # us ahead
        self.rate = [0.0] * world

    def compute(self, us, late=None):
        """A kernel on every rank; late: {rank: us more}"""
        for rank in range(self.world):
            length = us * (1 + 0.01 * self.random.random()) + (late or {}).get(rank, 0)
            self._kernel(rank, "sm90_xmma_gemm_bf16", self.at[rank], length, 7, {})
            self.at[rank] += length

    def collective(self, group, what, elements, wire_us, dtype="BFloat16", messages=1, out=None):
        """All ranks start when they come, end together `wire_us` after the last."""
        words, ranks = self.groups[group]
        last = max(ranks, key=lambda r: self.at[r])
        end = self.at[last] + wire_us
        seq = self.sequence[group] = self.sequence.get(group, 0) + 1
        self.truth.append({"group": group, "what": what, "last": last, "wire_s": wire_us / 1e6,
                           "wait_s": (self.at[last] - min(self.at[r] for r in ranks)) / 1e6})
        kernel = {"allreduce": "AllReduce_Sum_bf16_RING_LL", "_allgather_base": "AllGather_RING_LL",
                  "_reduce_scatter_base": "ReduceScatter_Sum_bf16_RING_LL", "all_to_all": "SendRecv", "send": "SendRecv"}[what]
        for rank in ranks:
            args = {"Collective name": what, "In msg nelems": elements, "Out msg nelems": out or elements, "Group size": len(ranks),
                    "dtype": dtype, "Process Group Name": group, "Process Group Description": words,
                    "Process Group Ranks": "[" + ", ".join(map(str, ranks)) + "]"}
            if self.year >= 2026:
                args["Seq"] = seq
            for k in range(messages):
                self._host(rank, {**args, "In msg nelems": elements // messages, "Out msg nelems": (out or elements) // messages}, k)
            own = dict(args)
            if messages > 1:
                own.update({"In msg nelems": elements // messages, "Out msg nelems": (out or elements) // messages})
            stop = end + 0.8 * self.random.random()
            self._kernel(rank, f"ncclDevKernel_{kernel}(ncclDevKernelArgsStorage<4096ul>)", self.at[rank], stop - self.at[rank], 20, own)
            self.at[rank] = stop

    def _host(self, rank, args, k):
        """record_param_comms before the launch of the next kernel of communication."""
        start = self.at[rank] - 200 + 10 * k
        external = self.number[rank] * 10 + (9 - k if k else 0)
        self._add(rank, {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, "ts": start, "dur": 5,
                         "args": {"External id": external, **args}})

    def _kernel(self, rank, name, start, length, stream, args):
        number = self.number[rank]
        self.number[rank] += 1
        self._add(rank, {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 1, "tid": 1, "ts": start - 100, "dur": 4,
                         "args": {"correlation": number, "External id": number * 10}})
        self._add(rank, {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": start, "dur": length,
                         "args": {"External id": number * 10, "device": 0, "stream": stream, "correlation": number, **args}})

    def _add(self, rank, event):
        ts = event["ts"] + 10000
        event["ts"] = round(ts + self.clock[rank] + self.rate[rank] * ts, 3)
        event["dur"] = round(event["dur"], 3)
        self.events[rank].append(event)

    def write(self, folder, packed=False, only=None):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for rank in only if only is not None else range(self.world):
            config = [{"pg_name": n, "pg_desc": w, "backend_config": "cuda:nccl", "pg_size": len(r), "ranks": r}
                      for n, (w, r) in self.groups.items() if rank in r]
            text = json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": self.gpu}],
                               "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": self.world, "pg_config": config},
                               "baseTimeNanoseconds": 1767189312000000000, "traceEvents": self.events[rank]})
            if packed:
                (folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(text.encode()))
            else:
                (folder / f"rank{rank}.json").write_text(text)
