"""Sizes in bytes: k M G T are powers of ten, Ki Mi Gi Ti of two.

>>> import fabricost as fc
>>> 256 * fc.MiB, 1 * fc.GB
(268435456, 1000000000)
"""
B: int = 1
kB: int = 10**3
MB: int = 10**6
GB: int = 10**9
TB: int = 10**12
KiB: int = 2**10
MiB: int = 2**20
GiB: int = 2**30
TiB: int = 2**40
