#ifndef COUNTED_REGION_H
#define COUNTED_REGION_H

/// Does the work; `callgrind --toggle-collect=counted_region` counts what is executed in here and nothing else.
void counted_region(void (*work)(void *), void *context);

#endif
