#include "CountedRegion.h"

__attribute__((noinline)) void counted_region(void (*work)(void *), void *context) {
    work(context);
    // Keeps the call from becoming a jump, after which callgrind would not see the end.
    __asm__ volatile("" ::: "memory");
}
