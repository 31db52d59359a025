"""bench/studies/fno_torch.py reads the output of stentor-bench, forms ratios and counts misses.

With PyTorch, its layers are compared with their definition too.
"""
import os
import subprocess
import sys

script, bench = sys.argv[1], sys.argv[2]
sys.path.insert(0, os.path.dirname(script))
import fno_torch  # noqa: E402

PRINTED = """| layer | pass | ms | strategy | cuFFT + cuBLAS, ms | times | error | bar |
|---|---|--:|---|--:|--:|--:|---|
| 1d-128-m64-c64-b4096 | forward | 0.3000 | fno | 0.6000 | 2.00 | 1.8e-07 | 0.27 ms, missed |
| 2d-64-m12-c32-b20 | forward | 0.0500 | fno | 0.1000 | 2.00 | 2e-07 | 1.5 x |
| 2d-64-m12-c32-b20 | forward and backward | 0.1000 | fno | - | - | 2e-07 |  |
| 2d-85-m12-c32-b20 | forward | 0.1000 | fno | 0.1000 | 1.00 | 2e-07 | 1.5 x, missed |
| 2d-85-m12-c32-b20 | forward and backward | not measured: it is too large |
| 2d-241-m12-c32-b10 | forward | 0.1000 | fno | 0.1000 | 1.00 | 0.1 WRONG | 1.5 x |
"""

rows = fno_torch.read_table(PRINTED)
assert rows[0] == ("1d-128-m64-c64-b4096", "forward", 0.3, "fno", 0.6), rows[0]
assert rows[2] == ("2d-64-m12-c32-b20", "forward and backward", 0.1, "fno", None), rows[2]
assert rows[4] == ("2d-85-m12-c32-b20", "forward and backward", None, "not measured: it is too large", None), rows[4]
assert rows[5][2] is None, "a wrong result has no time"
assert len(rows) == 6
torch_ms = [1.2, 0.2, 0.15, 0.15, 1.0, 1.0]
assert fno_torch.table_row(rows[1], 0.2) == "| 2d-64-m12-c32-b20 | forward | 0.0500 | fno | 0.1000 | 2.00 | 0.2000 | 4.00 |"
assert fno_torch.table_row(rows[4], None).count("|") == 9
said = fno_torch.summary(rows, torch_ms)
assert said == [
    "forward, 2 layers: 1.41 times as fast as cuFFT + cuBLAS (geometric mean), least 1.00, 1 below 1.5",
    "forward, 2 layers: 2.45 times as fast as PyTorch (geometric mean), least 1.50, 1 below 2.0",
    "forward and backward, 1 layers: 1.50 times as fast as PyTorch (geometric mean), least 1.50, 1 below 1.8"], said

# All cases that the bench lists with --quick are here, where only batches are larger.
done = subprocess.run([bench, "--quick", "--device", "host", "--group", "fno,fno-grid"], stdout=subprocess.PIPE, text=True,
                      check=False)
listed = fno_torch.read_table(done.stdout)
assert listed, done.stdout
known = {case[:4] for case in fno_torch.PAPER + fno_torch.GRID}
for row in listed:
    assert fno_torch.case_of(row[0])[:4] in known, row
assert len(fno_torch.GRID) == 30 and len(fno_torch.alone()) == 5 + 60

checked = subprocess.run([sys.executable, script, "--check"], stdout=subprocess.PIPE, text=True, check=False)
print(checked.stdout.strip())
assert checked.returncode in (0, fno_torch.SKIPPED), checked.returncode
