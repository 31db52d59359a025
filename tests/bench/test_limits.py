#!/usr/bin/env python3
"""bench/limits.py reads ncu output: last launches, shares of counters, dashes if absent."""
import os
import subprocess
import sys
import tempfile

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'bench', 'limits.py')
TEXT = '''==PROF== Connected
"ID","Kernel Name","Grid Size","Block Size","gpu__time_duration.sum","dram__throughput.avg.pct_of_peak_sustained_elapsed","l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum","l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum","smsp__inst_executed_op_shared_ld.sum","smsp__inst_executed_op_shared_st.sum","launch__registers_per_thread"
"","","","","usecond","%","","","inst","inst","register/thread"
"0","sparse_tile(arguments)","(8, 8, 1)","(256, 1, 1)","500","10","1","1","1","1","64"
"1","copy_all(float *)","(1, 1, 1)","(32, 1, 1)","1","2","3","4","5","6","7"
"2","sparse_tile(arguments)","(8, 8, 1)","(256, 1, 1)","1,250","61.5","300","100","1,000","600","80"
'''


def outcome(text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'raw.csv')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        done = subprocess.run([sys.executable, SCRIPT, '--read', path], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def main():
    code, text, said = outcome(TEXT)
    rows = text.splitlines()
    assert code == 0 and len(rows) == 3, (code, text, said)
    assert rows[2] == '| sparse_tile | (8, 8, 1) | 1.2500 | 61.5 | - | - | - | - | - | 0.25 | - | - | 80 | - |', rows[2]
    code, text, said = outcome('nothing of the kind')
    assert code == 1 and not text and 'is not what' in said, (code, text, said)
    print('1..1\nok 1 - limits')


if __name__ == '__main__':
    main()
