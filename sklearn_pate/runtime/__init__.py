"""Code that runs private work: isolation, copies, workers, memory and private data.

Teachers share a process. The state that one of them leaves behind, such as the number of random
numbers drawn, may depend on its records and reach the next one. So each fit runs in `isolated`.
"""
