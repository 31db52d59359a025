// Switching between stacks on one OS thread.
#pragma once

namespace stn_emulator {

// Saves the running stack's pointer in *save and goes on with the stack that `load` was saved from.
extern "C" void stn_switch(void **save, void *load);
// A stack that starts in entry() when switched to. `top` is 16-byte aligned.
void *new_stack(unsigned char *top, void (*entry)());

}  // namespace stn_emulator
