#!/usr/bin/env python3
"""Every GPU probe gives right results at sizes that are no multiple of anything, on a GPU made of threads, and notices a byte that was
turned behind its back.

    check_results.py CUDA_HEADERS NCCL_HEADER FOLDER right DEVICES... turned DEVICES..."""

import sys

import stand_in


def main():
    folder, words = stand_in.built(sys.argv[1:])
    task = ""
    for word in words:
        if word.isdigit():
            stand_in.drive(folder, word, task)
        else:
            task = word


if __name__ == "__main__":
    main()
