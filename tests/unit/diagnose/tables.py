"""Tables of nccl-tests with their list of ranks, for tests of diagnose."""
H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB"
MIB, GIB = 1 << 20, 1 << 30
SOUND = [(64 * MIB, 330.0), (256 * MIB, 405.9), (GIB, 466.2), (4 * GIB, 478.0)]  # all-reduce of a DGX H100


def table(gpu, rows, nodes=1, local=8, operation="all_reduce", first=0):
    """Rank list and table of nccl-tests, a row per (bytes, bus bandwidth in GB/s)."""
    n = nodes * local
    lines = [f"# Collective test starting: {operation}_perf"]
    lines += [f"#  Rank {r:2d} Group  0 Pid {1000 + r} on node{first + r // local} device {r % local} [0x{16 + r % local:02x}] {gpu}"
              for r in range(n)]
    lines += ["#       size         count      type   redop    root     time   algbw   busbw #wrong",
              "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)"]
    factor = {"all_reduce": 2, "all_gather": 1}[operation] * (n - 1) / n
    lines += [f"{size:12d} {size // 4:12d}  float  sum  -1 {size / (bus / factor * 1e3):10.1f} {bus / factor:7.2f} {bus:7.2f}  0"
              for size, bus in rows]
    return "\n".join(lines) + f"\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {rows[-1][1]}\n"
