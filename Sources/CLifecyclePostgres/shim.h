#ifndef CLIFECYCLE_POSTGRES_SHIM_H
#define CLIFECYCLE_POSTGRES_SHIM_H

// Swift calls all of it as it is.
#include <libpq-fe.h>

#endif
