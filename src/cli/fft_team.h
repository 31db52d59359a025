/* stentor fft on several devices (--devices), or as one of the processes of mpirun, each of which
 * reads, transforms and writes its own rows. */
#ifndef STN_CLI_FFT_TEAM_H
#define STN_CLI_FFT_TEAM_H
#include "cli/fft_job.h"

stn_status fft_team(const fft_settings *settings, stn_error *error);
#endif
