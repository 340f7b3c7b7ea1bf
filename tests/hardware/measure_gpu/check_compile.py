#!/usr/bin/env python3
"""Every kernel of the GPU probes compiles, without a warning, for the oldest, the newest and the middle one of the architectures that the CUDA compiler knows.

    check_compile.py SOURCE_DIR BUILD_DIR NVCC CHECK

Exit status 77 with the reason when there is no CUDA compiler."""

import pathlib
import subprocess
import sys
import tempfile


def main():
    source, nvcc = pathlib.Path(sys.argv[1]), sys.argv[3]
    if not nvcc:
        print("skipped: no CUDA compiler was found (nvcc on PATH or in /usr/local/cuda/bin)")
        sys.exit(77)
    known = subprocess.run([nvcc, "--list-gpu-code"], capture_output=True, text=True, check=True).stdout.split()
    codes = sorted({int(name.removeprefix("sm_")) for name in known if name.startswith("sm_")})
    codes = [code for code in codes if code >= 70]  # the oldest that has the memory model the probes use
    assert codes and codes[0] in (70, 75), known
    codes = sorted({codes[0], 90 if 90 in codes else codes[0], codes[-1]})  # what the kernels tell apart, and the newest
    targets = ([f"-gencode=arch=compute_{code},code=sm_{code}" for code in codes] +
               [f"-gencode=arch=compute_{codes[-1]},code=compute_{codes[-1]}"])
    strict = ["-std=c++17", "-O3", "--Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror,-fPIC", "-Wno-deprecated-gpu-targets",
              f"-I{source}/src/probes", f"-I{source}/include", "--threads", "0"]
    kernels = sorted((source / "src" / "probes" / "measure" / "gpu").rglob("*.cu"))
    assert kernels, "no kernels found"
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        broken = pathlib.Path(folder) / "broken.cu"
        broken.write_text("__global__ void kernel(int* to) { int unused; *to = 1; }\n")  # the check itself must be able to fail
        assert subprocess.run([nvcc, *targets[:1], *strict, "-c", broken, "-o", f"{folder}/broken.o"], capture_output=True).returncode != 0
        for kernel in kernels:
            ran = subprocess.run([nvcc, *targets, *strict, "-c", kernel, "-o", f"{folder}/{kernel.stem}.o"], capture_output=True, text=True)
            print(f"{kernel.name}: {'compiles' if ran.returncode == 0 else 'FAILS'} for sm_{', sm_'.join(map(str, codes))} "
                  "and PTX of the last")
            if ran.returncode != 0 or ran.stderr:
                print(ran.stdout, ran.stderr, sep="")
                faults += 1
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
