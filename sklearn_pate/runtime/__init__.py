"""Execution of private work: isolation, copies, workers, memory and private data.

Teachers share a process. The state that a teacher leaves behind, such as the number of random
numbers drawn, may depend on its records and affect the next teacher. So each fit runs in
`isolated`.
"""
