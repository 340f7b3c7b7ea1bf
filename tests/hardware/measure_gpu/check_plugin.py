#!/usr/bin/env python3
"""The plugin of the GPU probes loads anywhere, says why it cannot serve where there is no GPU, and gives right results where there is one.

    check_plugin.py SOURCE_DIR BUILD_DIR NVCC CHECK

Exit status 77 with the reason when it was not built."""

import pathlib
import subprocess
import sys


def main():
    build, check = pathlib.Path(sys.argv[2]), sys.argv[4]
    plugin = build / "libfabricost_probe_cuda.so"
    if not plugin.exists():
        print(f"skipped: {plugin.name} was not built (no CUDA compiler was found, or FABRICOST_BUILD_PROBES is OFF)")
        sys.exit(77)

    # nothing but the C and C++ runtime: it has to load where no driver and no NCCL is
    linked = subprocess.run(["ldd", "-r", plugin], capture_output=True, text=True, check=True)
    said = linked.stdout + linked.stderr
    assert "undefined symbol" not in said and "not found" not in said, said
    for library in ("libcuda", "libcudart", "libnccl", "libnvidia-ml"):
        assert library not in said, f"{plugin.name} is linked with {library}:\n{said}"

    stale = subprocess.run([check, plugin, "--interface", "999"], capture_output=True, text=True)
    assert stale.returncode == 3 and "999" in stale.stdout, (stale.returncode, stale.stdout, stale.stderr)

    # the same program, on what GPUs there are
    ran = subprocess.run([check, plugin], capture_output=True, text=True)
    print(ran.stdout, ran.stderr, sep="")
    if ran.returncode == 3:
        assert "CUDA" in ran.stdout and "GPU" in ran.stdout, f"the reason names neither: {ran.stdout}"
        print("the plugin loads and says why it cannot serve; its kernels were not run: there is no GPU")
        return
    sys.exit(ran.returncode)


if __name__ == "__main__":
    main()
