"""Random programs: kernels as data, run by the compiler and by numpy, compared.

``random_program(rng)`` makes one of any kind, ``random_matrix_program(rng)`` one that
multiplies matrices. ``check_program(program)`` compiles it and compares every phase
with exact arithmetic on whole arrays; ``launch_program(program)`` goes through the
front door, on any device. ``with_real_numbers``, ``with_special_numbers`` and
``with_tiny_numbers`` change what the inputs hold, ``with_functions`` puts exponentials
and the like into the program: rounded results are within an error bound;
``on_devices`` cuts the work for several devices, ``in_waves_of`` makes waves wider. A
program prints as a short text;
``python -m wave_testing.programs --kind matrix --seed N`` makes, prints and checks it
again.
"""

from __future__ import annotations

from wave_testing.programs.check import (
    Discarded as Discarded,
    Outcome as Outcome,
    ProgramFailure as ProgramFailure,
    check_program as check_program,
)
from wave_testing.programs.functions import with_functions as with_functions
from wave_testing.programs.generate import random_program as random_program
from wave_testing.programs.launch import launch_program as launch_program
from wave_testing.programs.matrix import random_matrix_program as random_matrix_program
from wave_testing.programs.model import Program as Program
from wave_testing.programs.variants import (
    in_waves_of as in_waves_of,
    on_devices as on_devices,
    with_real_numbers as with_real_numbers,
    with_special_numbers as with_special_numbers,
    with_tiny_numbers as with_tiny_numbers,
)
