"""Compare our decoder's speed with other decoders, on the same files, in alternating runs.

Run: `make bench-peers`, or `python -m benchmarks.peers`. Each peer is a small program in a folder
of its own, built at a pinned version; `catalog` lists them, and the work that each omits.
"""
