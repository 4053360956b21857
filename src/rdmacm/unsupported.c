/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The calls that are not supported: each fails in the way its manual page gives for failing.
 * Programs that use the connection manager as one choice of several go on with another.
 */
#include <errno.h>

#include "rdmacm/export.h"

ADV_EXPORT long adv_rdmacm_error(void);

/* For calls that return int, ssize_t or off_t. */
long adv_rdmacm_error(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

#define ERROR(name, node) ADV_EXPORT_DEFAULT(adv_rdmacm_error, name, node)

ERROR(raccept, "RDMACM_1.0");
ERROR(rbind, "RDMACM_1.0");
ERROR(rclose, "RDMACM_1.0");
ERROR(rconnect, "RDMACM_1.0");
ERROR(rfcntl, "RDMACM_1.0");
ERROR(rgetpeername, "RDMACM_1.0");
ERROR(rgetsockname, "RDMACM_1.0");
ERROR(rgetsockopt, "RDMACM_1.0");
ERROR(riomap, "RDMACM_1.0");
ERROR(riounmap, "RDMACM_1.0");
ERROR(riowrite, "RDMACM_1.0");
ERROR(rlisten, "RDMACM_1.0");
ERROR(rpoll, "RDMACM_1.0");
ERROR(rread, "RDMACM_1.0");
ERROR(rreadv, "RDMACM_1.0");
ERROR(rrecv, "RDMACM_1.0");
ERROR(rrecvfrom, "RDMACM_1.0");
ERROR(rrecvmsg, "RDMACM_1.0");
ERROR(rselect, "RDMACM_1.0");
ERROR(rsend, "RDMACM_1.0");
ERROR(rsendmsg, "RDMACM_1.0");
ERROR(rsendto, "RDMACM_1.0");
ERROR(rsetsockopt, "RDMACM_1.0");
ERROR(rshutdown, "RDMACM_1.0");
ERROR(rsocket, "RDMACM_1.0");
ERROR(rwrite, "RDMACM_1.0");
ERROR(rwritev, "RDMACM_1.0");
ERROR(repoll_create, "RDMACM_1.5");
ERROR(repoll_ctl, "RDMACM_1.5");
ERROR(repoll_wait, "RDMACM_1.5");
