/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Device numbers of /dev/infiniband/uverbsN, as the Linux kernel gives them (uverbs_main.c). */
#ifndef ADV_RUNTIME_PRELOAD_UVERBS_NODE_H
#define ADV_RUNTIME_PRELOAD_UVERBS_NODE_H

#include <stdlib.h>
#include <string.h>

#define ADV_UVERBS_NODE_MAJOR	    231
#define ADV_UVERBS_NODE_FIRST_MINOR 192

/* Returns the minor number of the node `name`: "uverbsN". */
static inline unsigned adv_uverbs_node_minor(const char *name)
{
	return ADV_UVERBS_NODE_FIRST_MINOR + (unsigned)strtoul(name + strlen("uverbs"), NULL, 10);
}

#endif
