"""Shared helpers of the tests of PyTorch's operators, which are skipped without PyTorch."""
import sys

import numpy as np

try:
    import torch
except ImportError:
    print('PyTorch is not installed')
    sys.exit(77)

DEVICES = ['cpu'] + (['cuda'] if torch.cuda.is_available() else [])


def tensor(*shape, seed=0, dtype=torch.float64, device='cpu'):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape), dtype=dtype, device=device)
