"""What keeps one teacher's fit from the next, and private text from the world.

Teachers share a process. Whatever one of them leaves behind in it, such as how many random numbers
were drawn, may depend on its records and reach the next one. So each fit runs in `isolated`.
"""

from .copies import (
    copied_data,
    copier,
    own_clone,
    own_copy,
    own_generators,
    own_rows,
    unfitted,
    without_index,
)
from .generators import fresh_seed, seed_number, seeded, set_seeds, without_caches
from .process import applied_to_parts, isolated
from .redaction import TellableError, attempt, is_ours, kind_of, redacted, withheld
from .silence import Quiet, limit_threads, next_fit_number, silent, uncounted
