"""How fast is our decoder against the others, on the same files, in the same minutes?

Run: `make bench-peers`, or `python -m benchmarks.peers`. Each of the others is a small program in a
folder of its own, built at a pinned version; `catalogue` lists them with what each leaves undone.
"""
