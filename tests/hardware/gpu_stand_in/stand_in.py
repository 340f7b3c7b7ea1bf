"""The programs of this folder for its scripts; a script ends with status 77 where they were not built."""

import os
import pathlib
import subprocess
import sys


def built(arguments):
    """(the folder of the programs, the other arguments) of CUDA_HEADERS NCCL_HEADER FOLDER OTHERS..."""
    cuda, nccl, folder, *others = arguments
    for name, found in (("cuda_runtime_api.h of CUDA 12 or later", cuda), ("nccl.h", nccl)):
        if found.endswith("-NOTFOUND"):
            print(f"skipped: {name} was not found (the wheels nvidia-cuda-runtime and nvidia-nccl have these headers)")
            sys.exit(77)
    return pathlib.Path(folder), others


def environment(folder, gpus):
    """This process's, with the stand-in of these GPUs. Under a sanitizer the plugin's own path to NCCL and NVML is not looked at."""
    libraries = f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}".removesuffix(":")
    return {"STAND_IN_PATIENCE": "120", **os.environ, "GPU_STAND_IN": gpus, "LD_LIBRARY_PATH": libraries}


def drive(folder, devices, *arguments):
    """The lines of stand_in_drive; ends the script where it finds a fault."""
    ran = subprocess.run([folder / "stand_in_drive", folder / "libfabricost_probe_cuda.so", *arguments], capture_output=True, text=True,
                         env=environment(folder, f"devices={devices}"))
    lines = ran.stdout.splitlines()
    if ran.returncode != 0:
        wrong = [line for line in lines if line.startswith(("WRONG", "HANGS"))]
        what = f"exit status {ran.returncode} of {' '.join(arguments)} on {devices} devices"
        sys.exit("\n".join([what, *wrong[:20], ran.stderr[-4000:]]))
    print(lines[-1])
    return lines
