"""Writes pictures as PNG files without a library, and maps numbers to colours."""
import pathlib
import struct
import zlib

import numpy as np


def save_png(path, picture):
    """Writes an array of uint8: grey levels, or a last axis of red, green and blue."""
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    lines = np.ascontiguousarray(picture).reshape(picture.shape[0], -1)
    rows = np.pad(lines, ((0, 0), (1, 0))).tobytes()  # each row begins with its filter type, 0
    head = struct.pack('>IIBBBBB', picture.shape[1], picture.shape[0], 8, 2 if picture.ndim == 3 else 0, 0, 0, 0)
    pathlib.Path(path).write_bytes(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(rows))
                                   + chunk(b'IEND', b''))


def side_by_side(*pictures):
    """Grey pictures next to each other; black is each one's minimum and white its maximum."""
    def levels(x):
        x = np.asarray(x, dtype=np.float64)
        return (255 * (x - x.min()) / max(float(np.ptp(x)), 1e-30)).astype(np.uint8)

    return np.concatenate([levels(each) for each in pictures], axis=1)


def shades(x, colours):
    """Colours for numbers from 0 to 1, interpolated between (red, green, blue) colours."""
    stops = np.linspace(0, 1, len(colours))
    channels = [np.interp(np.clip(x, 0, 1), stops, [each[i] for each in colours]) for i in range(3)]
    return np.stack(channels, axis=-1).astype(np.uint8)


# From negative to positive numbers.
BLUE_RED = [(24, 60, 130), (120, 160, 215), (255, 255, 255), (230, 140, 110), (140, 20, 30)]
EARTH = [(40, 30, 70), (60, 90, 130), (90, 150, 130), (200, 190, 110), (250, 240, 210)]
SEA = [(6, 10, 40), (10, 70, 130), (70, 170, 190), (240, 250, 250)]
