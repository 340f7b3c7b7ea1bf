"""The programs of this folder for its scripts; a script ends with status 77 where they were not built."""

import os
import pathlib
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
    return {**os.environ, "GPU_STAND_IN": gpus, "LD_LIBRARY_PATH": libraries}
