"""What keeps one teacher's fit from the next, and private text from the world.

Teachers share a process. Whatever one of them leaves behind in it, such as how many random numbers
were drawn, may depend on its records and reach the next one. So each fit runs in `isolated`.
"""

from .copies import (
    copied_data,
    copier,
    fresh_seed,
    own_clone,
    own_generators,
    own_rows,
    seed_number,
    seeded,
    set_seeds,
    unfitted,
    without_caches,
    without_index,
)
from .process import (
    Quiet,
    TellableError,
    applied_to_parts,
    attempt,
    is_ours,
    isolated,
    kind_of,
    limit_threads,
    next_fit_number,
    redacted,
    remedy_of,
    silent,
    uncounted,
    withheld,
)
