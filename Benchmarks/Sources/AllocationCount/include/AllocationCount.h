#ifndef ALLOCATION_COUNT_H
#define ALLOCATION_COUNT_H

/// How many blocks of memory this thread has asked for so far.
unsigned long allocation_count(void);

#endif
