/* A command of `stentor`: one row in the table of main.c, one cmd_*.c. */
#ifndef STN_CLI_COMMAND_H
#define STN_CLI_COMMAND_H
#include "stentor.h"

typedef struct cli_command {
    const char *name;
    const char *summary; /* one line for `stentor --help` */
    /* argv[0] is the command's name. A failure is reported in *error; main prints it and exits with
     * the status's exit code. */
    stn_status (*run)(int argc, char **argv, stn_error *error);
} cli_command;

stn_status cmd_run(int argc, char **argv, stn_error *error);
stn_status cmd_fft(int argc, char **argv, stn_error *error);
stn_status cmd_fno(int argc, char **argv, stn_error *error);
stn_status cmd_compile(int argc, char **argv, stn_error *error);
stn_status cmd_explain(int argc, char **argv, stn_error *error);
stn_status cmd_tune(int argc, char **argv, stn_error *error);
stn_status cmd_wisdom(int argc, char **argv, stn_error *error);
stn_status cmd_cache(int argc, char **argv, stn_error *error);
stn_status cmd_pack(int argc, char **argv, stn_error *error);
stn_status cmd_bench(int argc, char **argv, stn_error *error);
stn_status cmd_doctor(int argc, char **argv, stn_error *error);
#endif
