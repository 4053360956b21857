/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The calls that are not supported. Each fails in the way that its manual page describes, so that a
 * program can use another way than the connection manager.
 */
#include <errno.h>

#include "base/export.h"

ADV_EXPORT long adv_rdmacm_error(void);

/* For calls that return int, ssize_t or off_t. */
long adv_rdmacm_error(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

#define ERROR(name, node) ADV_EXPORT_DEFAULT(adv_rdmacm_error, name, node)

ERROR(repoll_create, "RDMACM_1.5");
ERROR(repoll_ctl, "RDMACM_1.5");
ERROR(repoll_wait, "RDMACM_1.5");
