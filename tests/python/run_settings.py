"""The device, the seed and the number of cases of a test's run, from the environment."""
import os
import sys
import time

import numpy as np

import stentor

DEVICE = os.environ.get('STENTOR_TEST_DEVICE', 'host')
SEED = int(os.environ.get('STENTOR_TEST_SEED', time.time_ns() % 2**32))
COUNT = int(os.environ.get('STENTOR_TEST_COUNT', 60))
if DEVICE != 'host':
    try:
        stentor.to_device(np.zeros(1), DEVICE)
    except stentor.StentorError as error:
        print(f'no GPU: {error}')
        sys.exit(77)
