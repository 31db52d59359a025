"""Calls that a type checker must accept, with the types of results. Checked by mypy, never run."""
import numpy as np

import stentor
import stentor.fft
import stentor.signal

plan: stentor.Plan = stentor.Plan((8, 8), 'heat-2d', boundary=['wrap', 'constant=2:nearest'], steps=3, every=1)
text: str = plan.describe()
shape: tuple[int, ...] = plan.shape
count: int = plan.steps + plan.every
again: stentor.Plan = stentor.Plan('8x8', 'heat-2d', mode='reflect', device='gpu', dtype='f32', steps=2, every=1, initial=True)
for step, frame in plan.frames(np.eye(8), every=1, steps=2, initial=True):
    count += step
smooth = stentor.gaussian_filter(np.eye(8), 1.0, mode=['reflect', 'wrap'], radius=2)
wrapped = stentor.correlate(np.eye(8), np.eye(3), boundary='wrap', output=np.float32)
spectrum = stentor.fft.rfftn(np.eye(8), s=(4, 4), axes=(0, 1), norm='ortho', workers=2, out=np.empty((4, 3), complex))
device: stentor.DeviceArray = stentor.to_device(np.eye(8), 'cuda:0')
host: np.ndarray = device.numpy()
edges = stentor.sobel(np.eye(8), 0, mode=['reflect', 'wrap'])
masked = stentor.gaussian_filter1d(np.eye(8), 1.0, axis=0, nan='ignore', mode='odd')
cosines = stentor.fft.dctn(np.eye(8), type=2, norm='ortho', axes=(0, 1))
both = stentor.signal.fftconvolve(np.eye(8), np.eye(3), mode='same', axes=(0, 1))
