"""Execution of private work: isolation, copies, workers, memory and private data.

Teachers share a process. A teacher changes the state of the process, for example the state of
random generators. This state may depend on its records and affect the next teacher. So each teacher
is trained in `isolated`, which restores the state.
"""
