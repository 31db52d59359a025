"""The device, the seed and the number of cases of a test's run, from the environment."""
import os
import sys
import time

import numpy as np

import stentor

DEVICE = os.environ.get('STENTOR_TEST_DEVICE', 'host')
SEED = int(os.environ.get('STENTOR_TEST_SEED', time.time_ns() % 2**32))
COUNT = int(os.environ.get('STENTOR_TEST_COUNT', 60))


def need_gpu(device='cuda'):
    """Exits with status 77 if there is no GPU; fails if there must be one, as with the emulator."""
    try:
        stentor.to_device(np.zeros(1), device)
    except stentor.StentorError as error:
        if os.environ.get('STENTOR_TESTS_MUST_RUN'):
            raise
        print(f'no GPU here: {error}')
        sys.exit(77)


if DEVICE != 'host':
    need_gpu(DEVICE)
