"""What a caller's type checker must take, and know the result of. Checked by mypy, never run."""
import numpy as np

import stentor
import stentor.fft

plan: stentor.Plan = stentor.Plan((8, 8), 'heat-2d', boundary=['wrap', 'constant=2:nearest'], steps=3, every=1)
text: str = plan.describe()
shape: tuple[int, ...] = plan.shape
smooth = stentor.gaussian_filter(np.eye(8), 1.0, mode=['reflect', 'wrap'], radius=2)
spectrum = stentor.fft.rfftn(np.eye(8), s=(4, 4), axes=(0, 1), norm='ortho')
device: stentor.DeviceArray = stentor.to_device(np.eye(8), 'cuda:0')
host: np.ndarray = device.numpy()
