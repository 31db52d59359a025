// Stack switching in a few instructions on x86-64 and aarch64; swapcontext would make a system call
// for the signal mask each time.
#include "fiber.h"

#include <cstring>

namespace stn_emulator {

#if defined(__x86_64__)
// Callee-saved registers are saved on the stack that is left.
asm(R"(
.text
.globl stn_switch
.hidden stn_switch
.type stn_switch, @function
stn_switch:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
.size stn_switch, .-stn_switch
.section .note.GNU-stack,"",@progbits
.text
)");

void *new_stack(unsigned char *top, void (*entry)()) {
    void **sp = reinterpret_cast<void **>(top);
    *--sp = nullptr;  // entry sees a stack as after a call
    *--sp = reinterpret_cast<void *>(entry);
    for (int i = 0; i < 6; i++) *--sp = nullptr;
    return sp;
}
#elif defined(__aarch64__)
asm(R"(
.text
.globl stn_switch
.hidden stn_switch
.type stn_switch, %function
stn_switch:
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size stn_switch, .-stn_switch
)");

void *new_stack(unsigned char *top, void (*entry)()) {
    unsigned char *sp = top - 160;
    memset(sp, 0, 160);
    memcpy(sp + 88, &entry, sizeof entry);
    return sp;
}
#else
#error "the emulator knows how to switch stacks on x86-64 and aarch64"
#endif

}  // namespace stn_emulator
