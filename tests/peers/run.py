"""Runs another library's tests with Stentor's functions; see README.md.

Exits with 77 if the library's tests or pytest are not installed."""

import pathlib
import sys

MODULES = {'ndimage': ('scipy', ['scipy.ndimage.tests.test_filters']),
           'scipy_fft': ('scipy', ['scipy.fft.tests.' + name for name in ('test_basic', 'test_helper', 'test_multithreading', 'test_real_transforms')]),
           'signal': ('scipy', ['scipy.signal.tests.test_signaltools']),
           'fftpack': ('scipy', ['scipy.fftpack.tests.test_real_transforms']),
           'neuralop': ('neuralop', [f'neuralop.{name}' for name in (
               'layers.tests.test_spectral_convolution', 'layers.tests.test_fno_block', 'models.tests.test_fno')]),
           'neuralop_models': ('neuralop', [f'neuralop.{name}' for name in (
               'layers.tests.test_coda_layer', 'models.tests.test_uno', 'models.tests.test_fnogno', 'models.tests.test_gino', 'models.tests.test_codano')]),
           'numpy_fft': ('numpy', ['numpy.fft.tests.test_helper', 'numpy.fft.tests.test_pocketfft'])}


def main(name):
    library, modules = MODULES[name]
    try:
        import pytest
        if library != 'neuralop':
            import hypothesis  # noqa: F401  (scipy's tests need it)
        import adapter
        if library == 'neuralop':
            adapter.replace_layers()
        for module in modules:
            __import__(module)
    except ImportError as error:
        print(f'the tests of {name} are not run: {error}')
        return 77
    first, *lines = pathlib.Path(__file__).with_name(f'expected_{name}.txt').read_text().splitlines()
    version, least = first.lstrip('# ').split()[1:4:2]
    plugin = adapter.Adapter([line.partition(' # ')[0].strip() for line in lines
                              if line.strip() and not line.startswith('#')])
    status = pytest.main(['-q', '--no-header', '--no-summary', '-p', 'no:cacheprovider', '-p', 'no:warnings', '--pyargs', *modules], plugins=[plugin])
    total = plugin.passed + plugin.named + sum(' fails: ' in each for each in plugin.failures)
    installed = sys.modules[library].__version__
    print(f'{name} of {library} {installed}: {plugin.passed} of {total} tests that call Stentor pass, {plugin.named} are expected to fail')
    print('\n'.join(plugin.failures))
    if not installed.startswith(version + '.'):
        print(f'the list is for {version}: one unnamed failure in twenty tests is allowed')
        return 0 if plugin.passed and 20 * (plugin.passed + plugin.named) >= 19 * total else 1
    return 1 if plugin.failures or plugin.passed < int(least) or status not in (0, 1) else 0


if __name__ == '__main__':
    if len(sys.argv) != 2 or sys.argv[1] not in MODULES:
        sys.exit(f'usage: run.py {"|".join(MODULES)}')
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    sys.exit(main(sys.argv[1]))
