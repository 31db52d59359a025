// Fibers: switching between stacks on one OS thread.
#pragma once

namespace stn_emulator {

// Saves the running stack's pointer in *save and continues on the stack that `load` was saved from.
extern "C" void stn_switch(void **save, void *load);
// Makes a stack that starts in entry() when it is switched to. `top` is 16-byte aligned.
void *new_stack(unsigned char *top, void (*entry)());

}  // namespace stn_emulator
