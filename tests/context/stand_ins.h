/* The surroundings of a context in tests: a fake driver, a fake NVRTC, and a cache folder of its
 * own. */
#ifndef STAND_INS_H
#define STAND_INS_H
#include "../launch/fake_driver.h"

extern fake_state *fake;
extern char stand_ins_folder[64]; /* the cache folder */
void stand_ins_start(void);
void stand_ins_end(void);
int stand_ins_compiles(void); /* number of compiles by the fake NVRTC */
/* those with this text in the architecture and the second line of params.cuh */
int stand_ins_compiled_with(const char *text);
/* Takes templates from the environment: a copy of them, one of which is edited. */
void stand_ins_edit_a_template(void);
/* Makes the next context open another build of NVRTC. */
void stand_ins_rebuild_nvrtc(void);
#endif
